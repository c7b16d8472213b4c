"""The hashing methods, one per file, and their registry METHODS."""

from smfh.hashing.base import FittedHasher, HashMethod, Model, Nearest, StepReport, Trace, Training
from smfh.hashing.batch import BATCH
from smfh.hashing.class_codes import ClassCodes
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
from smfh.hashing.views import View, directional_model, view_modalities
