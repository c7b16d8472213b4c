"""Every reader of the project, with files to change."""

import io
import json
import sqlite3
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import grammars
import numpy as np
import pyarrow as pa
import pytest
import scipy.io
from changes import Rng, change, change_json, change_value, one_of
from layouts import LAYOUTS, Items
from PIL import Image
from pyarrow import parquet
from scipy import sparse

from smfh.datasets import Emoji, Planted, emoji, nus_wide, pascal, read_split, shared_mat, user_pictures, wiki
from smfh.datasets.emoji import read_emoji, write_emoji
from smfh.datasets.user_data import UserDataset, example_archive
from smfh.datasets.user_rows import Columns
from smfh.engine import Folder, read_manifest, stream_files, stream_source, write_shards
from smfh.engine.shards import foreign_parts, part_problems
from smfh.experiments.tuning import (
    BASE_MEASURES,
    Confirmation,
    FoldScores,
    MeasuredPair,
    Range,
    Studies,
    StudyPlan,
    confirmations,
)
from smfh.experiments.tuning.plan import read_plan
from smfh.experiments.tuning.study import read_folds
from smfh.features.image import Measurements, VisualWords, fit_visual_words, measure
from smfh.features.pictures import decode_image, thumbnail
from smfh.files import Array, Content, Uploads, open_archive, pack_npz, read_mat, read_npz, read_table
from smfh.hashing import SMFHPlus, load_hasher
from smfh.hashing.storage import hasher_arrays
from smfh.metrics import AP_DEFINITIONS
from smfh.metrics.significance import Difference
from smfh.retrieval.classifiers import ClassifierLevel
from smfh.runs import RunStore, Timing
from smfh.runs.run import run_key
from smfh.runs.run_file import read_level, write_level
from smfh.runs.training import train
from smfh.types import InputError

Make = Callable[[Rng], bytes]  # with None it changes nothing


@dataclass(frozen=True)
class Reader:
    """A share of the inputs, how to make one, and how to read it in an empty folder."""

    share: int
    make: Make
    read: Callable[[bytes, Path], object]


def saved(save: Callable[[io.BytesIO], object]) -> bytes:
    file = io.BytesIO()
    save(file)
    return file.getvalue()


def put(folder: Path, name: str, content: bytes) -> Path:
    """Write the file and create its folder."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def valid_archive(arrays: Mapping[str, Array], headers: tuple[str, ...] = ()) -> Make:
    """Archives with one changed array and correct checksums, so that the reader sees the change.

    The arrays named `headers` are JSON, in which values are changed more often than bytes.
    """
    members = {name: saved(lambda file, a=a: np.save(file, a)) for name, a in arrays.items()}

    def make(rng: Rng) -> bytes:
        if rng is None:
            return saved(lambda file: pack_npz(file, arrays))
        name = headers[0] if headers and rng.random() < 0.7 else list(members)[rng.integers(len(members))]
        changed = change(members[name], rng)
        if name in headers and rng.random() < 0.8:
            header = np.frombuffer(change_json(arrays[name].tobytes(), rng), dtype=np.uint8)
            changed = saved(lambda file: np.save(file, header))
        return zipped({f"{key}.npy": content for key, content in (members | {name: changed}).items()})

    return make


def zipped(members: Mapping[str, bytes]) -> bytes:
    with zipfile.ZipFile(file := io.BytesIO(), "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return file.getvalue()


# uploads -----------------------------------------------------------------------------------------------


def upload_arrays() -> dict[str, Array]:
    rng, words = np.random.default_rng(0), np.array(["cat|pet", "dog", "猫", "ä"] * 2)
    features = {"image": rng.random((8, 3)), "text": rng.integers(0, 3, (8, 2))}
    return features | {"labels": words, "captions": words}


def picture(kind: str, size: tuple[int, int] = (40, 30), mode: str = "RGB") -> bytes:
    colours = np.random.default_rng(0).integers(256, size=(*size[::-1], len(mode)), dtype=np.uint8)
    return saved(lambda file: Image.fromarray(colours.squeeze()).save(file, kind))


def pictures_archive(rng: Rng) -> bytes:
    """The example archive with one changed file and correct checksums."""
    if rng is None:
        return example_archive()
    with zipfile.ZipFile(io.BytesIO(example_archive())) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    name = list(members)[rng.integers(len(members))] if rng.random() < 0.5 else "items.csv"
    return zipped(members | {name: change(members[name], rng)})


def read_members(content: bytes, folder: Path) -> None:
    with open_archive(content) as archive:
        for member in archive.members:
            archive.read(member)


def read_cells(content: bytes, folder: Path) -> None:
    table = read_table(content)
    table.read([], {"x": [heading for heading in table.header if heading not in ("caption", "labels")]})


def read_upload(name: str) -> Callable[[bytes, Path], object]:
    """Preview, which never fails, and load, which fails only if the preview lists problems."""

    return lambda content, folder: read_source(UserDataset(content, name))


def read_source(source: UserDataset) -> None:
    preview = source.preview()
    try:
        source.load()
    except InputError:
        assert preview.problems
        raise


NUMBERS = {name: array for name, array in upload_arrays().items() if array.dtype.kind in "fi"}
TABLE = b"image:1,image:2,text:1,caption,labels\n" + b'1,2.5,3,"a, cat",a|b\n-4,5e-3,6,dog,b\n' * 3
NPZ = saved(lambda file: np.savez(file, **upload_arrays()))
CELLS = np.array([["a"], ["b|c"]] * 4, dtype=object)
MAT = saved(lambda file: scipy.io.savemat(file, NUMBERS | {"labels": CELLS, "tags": sparse.eye_array(8, 3)}))
PICTURES = [picture(kind) for kind in ("PNG", "JPEG", "GIF", "WEBP", "BMP")]
PICTURES += [picture("PNG", mode="RGBA"), picture("PNG", mode="L")]
UPLOADS = {
    ".npz": Reader(70, one_of([NPZ]), lambda content, _: read_npz(content)),
    ".zip": Reader(50, one_of([example_archive()]), read_members),
    ".csv": Reader(60, one_of([TABLE]), read_cells),
    ".mat": Reader(80, one_of([MAT]), lambda content, _: read_mat(content)),
    "picture": Reader(80, one_of(PICTURES), lambda content, _: thumbnail(decode_image(content))),
    "upload .npz": Reader(40, one_of([NPZ]), read_upload("mine.npz")),
    "upload .npz, valid": Reader(80, valid_archive(upload_arrays()), read_upload("mine.npz")),
    "upload .zip": Reader(10, one_of([example_archive()]), read_upload("mine.zip")),
    "upload .zip, valid": Reader(10, pictures_archive, read_upload("mine.zip")),
    "upload .csv": Reader(80, one_of([TABLE]), read_upload("mine.csv")),
    "upload .mat": Reader(40, one_of([MAT]), read_upload("mine.mat")),
}

# layouts -----------------------------------------------------------------------------------------------


@cache
def layout_files(name: str) -> dict[str, bytes]:
    """The files of a layout with six items, by their names."""
    with tempfile.TemporaryDirectory() as folder:
        LAYOUTS[name](Path(folder), Items(6))
        paths = sorted(path for path in Path(folder).rglob("*") if path.is_file())
        return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def changed_layout(name: str) -> Make:
    """An archive with one changed file, most often not a picture, and correct checksums."""

    def make(rng: Rng) -> bytes:
        files = layout_files(name)
        if rng is None:
            return zipped(files)
        others = [file for file in files if not file.endswith(".png")]
        names = others if others and rng.random() < 0.9 else list(files)
        file = names[rng.integers(len(names))]
        kind = file.rpartition(".")[2]
        is_json = kind in ("json", "jsonl") and rng.random() < 0.7
        lines = files[file].split(b"\n") if kind == "jsonl" else [files[file]]
        line = rng.integers(len(lines) - (kind == "jsonl"))
        lines[line] = change_json(lines[line], rng) if is_json else change(lines[line], rng)
        renamed = file if rng.random() < 0.9 else change(file.encode(), rng).decode(errors="replace") or "x"
        return zipped({key: content for key, content in files.items() if key != file} | {renamed: b"\n".join(lines)})

    return make


@cache
def fixed_features() -> tuple[Measurements, VisualWords]:
    measured = measure([picture("PNG")])
    return measured, fit_visual_words(measured)


VARIANTS: tuple[dict[str, Any], ...] = (
    *({"several_texts": True}, {"keep_unlabelled": True}, {"label_source": "topics", "topics": 2}),
    *({"label_source": "none"}, {"label_source": "files"}),
    *({"columns": Columns("file_name", ("text",), "label")}, {"columns": Columns("image", ("label", "caption"), "")}),
)


def read_layout(content: bytes, folder: Path) -> None:
    """As an archive, several files or a folder, most often with other options.

    Features are those of one picture, since computing them would take most of the time.
    """
    number = zlib.crc32(content)
    kind, variant = number % 3, number // 3 % (len(VARIANTS) + 1)
    options = VARIANTS[variant] if variant < len(VARIANTS) else {}
    files: dict[str, bytes] = {}
    with suppress(zipfile.BadZipFile), zipfile.ZipFile(io.BytesIO(content)) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    uploaded: Content | Uploads = content
    if files and kind == 1:
        uploaded = tuple(files.items())
    elif files and kind == 2:
        with suppress(OSError, ValueError):  # a changed name may not be allowed on this disk
            for name, own in files.items():
                put(folder / "mine", name.replace("..", "").lstrip("/"), own)
            uploaded = folder / "mine"
    measured, words = fixed_features()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SMFH_CACHE", str(folder / "cache"))
        patch.setattr(user_pictures, "measure", lambda pictures: measured)
        patch.setattr(user_pictures, "fit_visual_words", lambda *rows, **options: words)
        read_source(UserDataset(uploaded, "mine.zip" if uploaded is content else "mine", **options))


LINE = b'{"file_name": "0.png", "text": [' + b"[]," * 1_000_000 + b"[]]}\n"


def bomb_layout(rng: Rng) -> bytes:
    """JSON lines of which one has a million values."""
    name = "train/metadata.jsonl"
    files = layout_files("metadata_jsonl")
    return zipped(files | {name: files[name] if rng is None else change(LINE[:200], rng) + LINE + files[name]})


LAYOUT_READERS = {f"layout {name}": Reader(40, changed_layout(name), read_layout) for name in LAYOUTS}
LAYOUT_READERS |= {"layout with a bomb": Reader(2, bomb_layout, read_layout)}

MADE = {  # by the rules of their formats; see grammars.py
    "made .mat": Reader(60, grammars.make_mat, lambda content, _: read_mat(content)),
    "made upload .mat": Reader(40, lambda rng: MAT if rng is None else grammars.make_mat(rng), read_upload("mine.mat")),
    "made .csv": Reader(60, grammars.make_csv, read_upload("mine.csv")),
    "made .jsonl": Reader(60, grammars.make_json_lines, read_upload("mine.jsonl")),
    "made .parquet": Reader(60, grammars.make_parquet, read_upload("mine.parquet")),
    "layout, made .zip": Reader(40, grammars.make_zip(PICTURES), read_layout),
    "layout, made COCO": Reader(40, grammars.make_coco_archive(PICTURES), read_layout),
}

# saved files, which another program may have changed ---------------------------------------------------


@cache
def kept_run() -> tuple[str, Mapping[str, Array], Mapping[str, Array]]:
    """A run's id, the arrays of its file, and those of its model."""
    source, method = Planted(items=40), SMFHPlus(bits=8, iterations=2, rounds=1, anchors=10)
    loaded = source.load()
    run = train(run_key(*loaded, method), source, *loaded)[0]
    with tempfile.TemporaryDirectory() as folder:
        store = RunStore(Path(folder))
        record = store.save(run, Timing(run.hasher.seconds, {}, 1.0))
        return record.id, read_npz(Path(folder, f"{record.id}.npz")), hasher_arrays(run.hasher)


def changed_model(rng: Rng) -> bytes:
    arrays = kept_run()[2]
    if rng is not None and rng.random() < 0.2:
        return change(saved(lambda file: pack_npz(file, arrays)), rng)
    return valid_archive(arrays, ("header",))(rng)


def changed_run(rng: Rng) -> bytes:
    return valid_archive(kept_run()[1], ("run",))(rng)


def read_model(content: bytes, folder: Path) -> None:
    """A model that is read can be used."""
    hasher = load_hasher(content, "model.npz")
    for function in hasher.functions.values():
        if function.dimensions < 10_000:
            function.encode(np.ones((2, function.dimensions), dtype=np.float32))


def read_run(content: bytes, folder: Path) -> None:
    """Listed, looked at and used, as the Runs page does; a damaged file is told as such."""
    name = kept_run()[0]
    put(folder, f"{name}.npz", content)
    put(folder, f"{name}.title", content[:200])
    store = RunStore(folder)
    listing = store.listing()
    assert len(listing.runs) + len(listing.damaged) == 1
    if not listing.runs:
        raise InputError(listing.damaged[0].problem)
    (record,) = listing.runs
    data, split = Planted(items=40).load()
    for search in [*record.searches, ("text", "image", "training")]:
        store.scores(record, data, split, *search)
    store.hasher(record)


def kept_ceiling() -> bytes:
    scores = {("text", "image", "training"): dict.fromkeys(AP_DEFINITIONS, 0.5)}
    with tempfile.TemporaryDirectory() as folder:
        write_level(Path(folder, "one.json"), ClassifierLevel(scores, scores, ("a classifier",)))
        return Path(folder, "one.json").read_bytes()


def read_kept_ceiling(content: bytes, folder: Path) -> None:
    if read_level(put(folder, "ceiling.json", content)) is None:
        raise InputError("It is not used.")


def plan() -> StudyPlan:
    ranges = (Range("graph_weight", 0.1, 10.0, "log"), Range("bits", 8, 16, whole=True))
    return StudyPlan("mine", (Planted(items=40),), SMFHPlus(bits=8), ranges, "search", 3)


PART = asdict(FoldScores("Planted", 0, 8, 0.1, {"text → image": dict.fromkeys(BASE_MEASURES, 0.5)}))
DIFFERENCE = Difference("a", "b", 0.1, 0.0, 0.2, None, 10, 1, 0.95, 1)
CONFIRMED = asdict(Confirmation(1, (MeasuredPair("Planted", "text → image", "found", (0.5,), (0.6,), DIFFERENCE),)))


ATTRIBUTE_VALUES = (plan().to_json().encode(), json.dumps([PART]).encode(), json.dumps(CONFIRMED).encode())


@cache
def studies_file() -> bytes:
    """A database with one study."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "studies.db")
        studies = Studies(f"sqlite:///{path}")
        studies.create(plan())
        studies.storage.engine.dispose()
        return path.read_bytes()


ATTRIBUTES = (
    "UPDATE study_user_attributes SET value_json = ? WHERE key = 'plan'",
    "INSERT INTO trial_user_attributes (trial_id, key, value_json) VALUES (1, 'parts', ?)",
    "INSERT INTO study_user_attributes (study_id, key, value_json) VALUES (1, 'confirmed 1', ?)",
)


def with_attributes(said: Sequence[bytes]) -> bytes:
    """The database with this plan, these scores of a trial and this confirmation, all JSON."""
    is_text = (True, False, True)  # what Optuna keeps as JSON in JSON
    values = [one.decode(errors="replace") for one in said]
    with tempfile.TemporaryDirectory() as folder:
        path = put(Path(folder), "studies.db", studies_file())
        with sqlite3.connect(path) as database:
            for order, value, text in zip(ATTRIBUTES, values, is_text, strict=True):
                database.execute(order, (json.dumps(value) if text else value,))
        database.close()
        return path.read_bytes()


def changed_attributes(rng: Rng) -> bytes:
    """One of the three changed: SQLite itself finds the file sound."""
    said = list(ATTRIBUTE_VALUES)
    if rng is not None:
        which = rng.integers(len(said))
        said[which] = change_json(said[which], rng)
    return with_attributes(said)


def read_studies(content: bytes, folder: Path) -> None:
    """Listed, opened and looked at, as the Tune page does."""
    studies = Studies(f"sqlite:///{put(folder, 'studies.db', content)}")
    try:
        for record in studies.records():
            if record.plan is None:
                raise InputError(record.problem)
            study = studies.open(record.name)
            assert isinstance(study.trials, list | tuple)
            for one in confirmations(study).values():
                assert isinstance(one.lines, tuple)
    finally:
        studies.storage.engine.dispose()
        for beside in folder.glob("studies.db*"):
            beside.unlink()


SAVED = {
    "model": Reader(80, changed_model, read_model),
    "run": Reader(60, changed_run, read_run),
    "ceiling": Reader(30, one_of([kept_ceiling()], change_json), read_kept_ceiling),
    "plan of a study": Reader(
        70,
        one_of([plan().to_json().encode()], change_json),
        lambda content, _: read_plan("mine", content.decode(errors="replace")),
    ),
    "scores of a trial": Reader(
        30,
        lambda rng: json.dumps([PART] if rng is None else change_value([PART], rng)).encode(),
        lambda content, _: [part.measure("balanced") for part in read_folds(json.loads(content))],
    ),
    "studies": Reader(4, lambda rng: change(studies_file(), rng), read_studies),
    "studies, valid": Reader(6, changed_attributes, read_studies),
}

# files of data sets ------------------------------------------------------------------------------------


def small_emoji() -> dict[str, Array]:
    """Five items of the built-in set."""
    items, sheet = read_emoji()
    rows = np.arange(5)
    few = replace(
        sheet,
        thumbnails=sheet.thumbnails[:5],
        measured=sheet.measured.take(rows),
        learnt_from=rows[:4],
        counts=sheet.counts[:5],
    )
    with tempfile.TemporaryDirectory() as folder:
        write_emoji(Path(folder, "emoji.npz"), items[:5], few)
        return dict(read_npz(Path(folder, "emoji.npz")))


@cache
def changed_emoji() -> Make:
    return valid_archive(small_emoji(), ("catalogue",))


def load_emoji(content: bytes, folder: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(emoji, "FILE", put(folder, "emoji.npz", content))
        Emoji(languages=("de",)).load()


def read_wiki(content: bytes, folder: Path) -> None:
    """Each of the small files has this content."""
    path = put(folder, "categories.list", content)
    wiki.read_caption(path)
    with suppress(InputError):
        wiki.read_classes(folder)
    wiki.read_pairs(path, 2)


def read_nus_wide(content: bytes, folder: Path) -> None:
    path = put(folder, "Labels_sky.txt", content)
    list(nus_wide.read_counts(path, 3))


def read_shared_mat(content: bytes, folder: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SMFH_DATA", str(folder))
        put(folder, "mirflickr/MIRFLICKR.mat", content)
        shared_mat.MirFlickr().load()


def read_split_file(suffix: str) -> Callable[[bytes, Path], object]:
    return lambda content, folder: read_split(
        put(folder, f"split{suffix}", content), lambda: Planted(items=10).load()[0]
    )


def small_shards() -> dict[str, bytes]:
    """The files of shards of forty items, by their names."""
    with tempfile.TemporaryDirectory() as folder:
        write_shards(stream_source(Planted(items=40), "default", 0, None), Folder(folder))
        files = [path for path in Path(folder).rglob("*") if path.is_file()]
        return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


SHARDS = cache(small_shards)


def read_shards(content: bytes, folder: Path) -> None:
    """With this manifest: read, checked, and every part whose files are as they were."""
    for name, own in (SHARDS() | {"manifest.json": content}).items():
        put(folder, name, own)
    shards = Folder(str(folder))
    manifest = read_manifest(shards)
    for part in (*manifest.parts, manifest.queries):
        if problems := [*part_problems(shards, part), *foreign_parts(shards, manifest)]:
            raise InputError(problems)


def read_stream(name: str) -> Callable[[bytes, Path], object]:
    """Write shards of a file."""

    def read(content: bytes, folder: Path) -> None:
        write_shards(stream_files(put(folder, name, content), 0), Folder(str(folder / "shards")))

    return read


def parquet_file() -> bytes:
    lists = {name: array.tolist() for name, array in NUMBERS.items()}
    table = pa.table(lists | {"labels": [["a"], ["b"], ["a", "b"], ["c"]] * 2})
    return saved(lambda file: parquet.write_table(table, file))


STREAMED = NUMBERS | {"labels": np.eye(8, 2, dtype=bool)}
ROWS = {"train": np.arange(1, 6), "test": np.arange(6, 10)}
SHARED = {f"{letter}_{part}": np.random.default_rng(0).random((4, 3)) for letter in "IT" for part in ("tr", "te")}
SHARED |= {f"L_{part}": np.array([[1], [2], [1], [2]]) for part in ("tr", "te")}
PASCAL = {"a.jpg": {"category": "cat", "captions": ["a cat", "one more"]}}
DATA_SETS = {
    "emoji": Reader(10, lambda rng: changed_emoji()(rng), load_emoji),
    "wiki": Reader(30, one_of([b"text1-1.2\timage1\t1\nt2\ti2\t2\n", b"<text>a &lt; b</text>"]), read_wiki),
    "nus-wide": Reader(20, one_of([b"1 0 3\n0 0 2\n" * 3]), read_nus_wide),
    "pascal": Reader(
        30,
        one_of([json.dumps(PASCAL).encode()], change_json),
        lambda content, folder: pascal.read_pairs(put(folder, pascal.CAPTIONS_FILE, content).parent),
    ),
    "shared .mat": Reader(20, one_of([saved(lambda file: scipy.io.savemat(file, SHARED))]), read_shared_mat),
    "split .npz": Reader(20, valid_archive(ROWS), read_split_file(".npz")),
    "split .csv": Reader(20, one_of([b"row,part\n0,train\n1,train\n2,test\n"]), read_split_file(".csv")),
    "split .mat": Reader(20, one_of([saved(lambda file: scipy.io.savemat(file, ROWS))]), read_split_file(".mat")),
}
IN_SHARDS = {
    "manifest": Reader(20, lambda rng: change_json(SHARDS()["manifest.json"], rng), read_shards),
    "stream .npz": Reader(20, one_of([saved(lambda file: np.savez(file, **STREAMED))]), read_stream("a.npz")),
    "stream .npz, valid": Reader(20, valid_archive(STREAMED), read_stream("a.npz")),
    "stream .parquet": Reader(20, one_of([parquet_file()]), read_stream("a.parquet")),
}
READERS = UPLOADS | LAYOUT_READERS | MADE | SAVED | DATA_SETS | IN_SHARDS
