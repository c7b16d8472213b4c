"""Readers that can be handed anything: a bad file ends in an `InputError`, never in a crash."""

from smfh.files.archive import Archive, ArchiveLimits, open_archive
from smfh.files.arrays import Array, read_npy, read_npz, write_npz
from smfh.files.content import Content, guarded, read_json, read_text, shortened
from smfh.files.mat import MatContents, Variable, read_mat
from smfh.files.table import Table, read_table
