"""Functions that read untrusted files; they check sizes first, and raise `InputError` on a bad file."""

from smfh.files.archive import (
    Archive,
    ArchiveLimits,
    Array,
    join_bytes,
    open_archive,
    pack_npz,
    read_npy,
    read_npz,
    split_bytes,
    write_npz,
)
from smfh.files.content import Content, convert_errors, read_json, read_json_file, read_text, shortened
from smfh.files.listing import ARCHIVES, Listing, Uploads, open_listing
from smfh.files.mat import MatContents, Variable, read_mat
from smfh.files.table import TABLE_SUFFIXES, Table, TableContents, is_number, read_table
