"""The methods, one a file, and METHODS, where each is entered once."""

from smfh.hashing.base import FittedHasher, HashMethod, Learning, Learnt, Nearest, Progress, Trace
from smfh.hashing.batch import BATCH
from smfh.hashing.cmfh import CMFH
from smfh.hashing.configuration import Preset
from smfh.hashing.cvh import CVH
from smfh.hashing.dch import DCH
from smfh.hashing.function import HashFunction, shared_codes
from smfh.hashing.pdh import PDH
from smfh.hashing.program import SMFHProgram
from smfh.hashing.registry import COMPARED, METHODS, make_method, preset
from smfh.hashing.scratch import SCRATCH
from smfh.hashing.smfh import SMFH
from smfh.hashing.smfh_plus import SMFHPlus
from smfh.hashing.smh import SMH
from smfh.hashing.storage import load_hasher, save_hasher
from smfh.hashing.views import View, learnt_directions, view_modalities
