"""Codes in other engines find what this program finds."""

import io
import os
import pwd
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hostile_texts import TEXTS
from pyarrow import parquet

from smfh.evaluation import encode_search
from smfh.export.engines import CodeTable, code_table, faiss_files, neighbours, parquet_file, pgvector_file
from smfh.hamming import distances, pack, rank
from smfh.hashing import make_method
from smfh.types import InputError

HOSTILE = "tab\tnewline\n back\\slash \\. 'quote' \"double\" {brace}, \r\N{DOG FACE}"


def few_codes(bits, items=300, kinds=20):
    """Many equal codes, rows that are not in order, and captions that are hard to write down."""
    rng = np.random.default_rng(bits)
    codes = (rng.random((kinds, bits)) < 0.5)[rng.integers(kinds, size=items)]
    labels = [[HOSTILE, "b"], ["b"], []] * (items // 3)
    return CodeTable(bits, pack(codes), rng.permutation(1000)[:items], [HOSTILE, None] * (items // 2), labels)


def asked(bits, number=20):
    return pack(np.random.default_rng(1).random((number, bits)) < 0.5)


@pytest.mark.parametrize("bits", [12, 64, 100])
def test_faiss_finds_the_same_distances_in_both_files(bits, tmp_path):
    faiss = pytest.importorskip("faiss", reason="faiss is not installed: python -m pip install faiss-cpu")
    table, queries = few_codes(bits), asked(bits)
    octets = np.packbits(np.random.default_rng(1).random((20, bits)) < 0.5, axis=1, bitorder="little")
    _, expected = rank(queries, table.codes, 30)
    for number, content in enumerate(faiss_files(table)):
        (file := tmp_path / f"{number}.faiss").write_bytes(content)
        index = faiss.read_index_binary(str(file))
        found, rows = index.search(octets, 30)
        np.testing.assert_array_equal(found, expected)
        place = {row: k for k, row in enumerate(table.rows.tolist())}
        there = np.vectorize(place.get)(rows)
        np.testing.assert_array_equal(np.take_along_axis(distances(queries, table.codes), there, 1), expected)


def test_parquet_has_a_row_an_item_and_its_neighbours():
    table = few_codes(20)
    read = parquet.read_table(io.BytesIO(parquet_file(table)))
    assert read.column_names == ["id", "code", "caption", "labels", "x", "y", "neighbors"]
    assert read.schema.metadata[b"bits"] == b"20"
    rows = read.to_pylist()
    assert [row["id"] for row in rows] == table.rows.tolist()
    assert [row["caption"] for row in rows] == list(table.captions)
    assert [row["labels"] for row in rows] == list(table.labels)
    assert b"".join(row["code"] for row in rows) == table.octets.tobytes()
    assert len({(row["x"], row["y"]) for row in rows}) == len(rows)
    far = distances(table.codes, table.codes)
    for item, row in enumerate(rows):
        others = sorted((k for k in range(len(rows)) if k != item), key=lambda k: (far[item, k], k))[:15]
        assert row["neighbors"]["distances"] == far[item, others].tolist()
        assert item not in row["neighbors"]["ids"]
        assert len(row["neighbors"]["ids"]) == 15


def test_an_item_that_has_more_equals_than_neighbours_is_not_its_own():
    found = list(neighbours(np.zeros((6, 1), dtype=np.uint64), 2))
    assert [ids for ids, _ in found] == [[1, 2], [0, 2], [0, 1], [0, 1], [0, 1], [0, 1]]
    assert {tuple(far) for _, far in found} == {(0.0, 0.0)}


def test_a_table_is_made_of_a_model(planted):
    data, split, hasher = planted
    table = code_table(hasher, data, split, "text")
    np.testing.assert_array_equal(table.rows, split.train)
    assert table.labels[0] == [data.class_names[k] for k in np.flatnonzero(data.labels[split.train[0]])]
    with pytest.raises(InputError, match="modality"):
        code_table(hasher, data, split, "smell")


@pytest.fixture(scope="module")
def planted():
    from smfh.datasets import Planted

    data, split = Planted().load()
    return data, split, make_method("cvh", bits=12).fit(data.take(split.train))


def test_no_hostile_text_leaves_its_cell_of_the_file_for_postgresql():
    codes = np.zeros((len(TEXTS), 8), dtype=bool)
    table = CodeTable(8, pack(codes), np.arange(len(TEXTS)), TEXTS, [[text, "b"] for text in TEXTS])
    after = pgvector_file(table).decode().partition(" FROM stdin;\n")[2].partition("\\.\n")
    rows = after[0].removesuffix("\n").split("\n")
    assert len(rows) == len(TEXTS)
    assert after[2].startswith("CREATE INDEX")
    for row, text in zip(rows, TEXTS, strict=True):
        cells = row.split("\t")
        assert len(cells) == 5
        assert cells[3].replace("\\t", "\t").replace("\\\\", "\\") == text


def test_the_file_for_postgresql_names_type_index_and_why_there_is_no_graph():
    text = pgvector_file(few_codes(12), "mine").decode()
    assert "code bit(12) NOT NULL" in text
    assert 'CREATE INDEX ON "mine" USING ivfflat (code bit_hamming_ops) WITH (lists = 1);' in text
    assert "There is no HNSW index" in text
    assert text.index("SET client_encoding = 'UTF8';") < text.index("CREATE TABLE")
    assert text.count("\n\\.\n") == 1
    for name in ("Mine", "a b", "x; DROP TABLE y", "", "9a"):
        with pytest.raises(InputError, match="A table's name"):
            pgvector_file(few_codes(12), name)


@pytest.fixture(scope="module")
def folders():
    """Where PostgreSQL has what belongs to it, and its programs."""
    if not (pg_config := shutil.which("pg_config")):
        pytest.skip("there is no PostgreSQL: install it with pgvector (Debian: postgresql-*-pgvector)")
    told = subprocess.run([pg_config, "--sharedir", "--bindir"], capture_output=True, text=True, check=True)
    share, programs = map(Path, told.stdout.split())
    if not (programs / "initdb").is_file():
        pytest.skip("there is no PostgreSQL server: install it (Debian: postgresql)")
    return share, programs


@pytest.fixture(scope="module")
def bare_psql(folders):
    """A call of psql on a PostgreSQL of its own, which refuses to be run by root."""
    _, programs = folders
    user = "nobody" if os.geteuid() == 0 else pwd.getpwuid(os.geteuid()).pw_name
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "db"
        shutil.chown(name, user)

        def call(program, *arguments):
            command = [str(programs / program), *arguments]
            done = subprocess.run(command, user=user, cwd=name, capture_output=True, text=True)
            assert done.returncode == 0, done.stdout + done.stderr
            return done.stdout

        call("initdb", "-D", str(folder), "-U", "smfh", "--auth=trust", "-E", "UTF8", "--no-sync")
        log, options = str(Path(name) / "log"), f"-k {name} -c listen_addresses="
        call("pg_ctl", "-D", str(folder), "-l", log, "-o", options, "-w", "start")
        connect = ("-h", name, "-U", "smfh", "-d", "postgres", "-v", "ON_ERROR_STOP=1", "-qAt")
        yield lambda *arguments: call("psql", *connect, *arguments)
        call("pg_ctl", "-D", str(folder), "-m", "immediate", "stop")


@pytest.fixture
def psql(folders, bare_psql):
    """The same with pgvector."""
    if not (folders[0] / "extension" / "vector.control").is_file():
        pytest.skip("PostgreSQL has no pgvector: install it (Debian: postgresql-*-pgvector)")
    return bare_psql


@pytest.mark.slow
@pytest.mark.parametrize("name", ["user", "order", "mine"])
def test_a_table_may_have_a_name_that_is_a_word_of_sql(bare_psql, name, monkeypatch):
    """And a session of another encoding reads the file as what it is. Of pgvector nothing is needed here."""
    monkeypatch.setenv("PGCLIENTENCODING", "LATIN1")
    text = pgvector_file(few_codes(12), name).decode()
    plain = re.sub("^CREATE (EXTENSION|INDEX) .*;$", "", text, flags=re.MULTILINE)
    with tempfile.NamedTemporaryFile(suffix=".sql") as file:
        Path(file.name).chmod(0o644)
        Path(file.name).write_bytes(plain.encode())
        bare_psql("-f", file.name)
    said = f"SELECT encode(convert_to(caption, 'UTF8'), 'hex') FROM \"{name}\" WHERE place = 0"
    assert bytes.fromhex(bare_psql("-c", said)).decode() == HOSTILE


@pytest.mark.slow
@pytest.mark.parametrize("bits", [12, 64, 100])
def test_postgresql_gives_the_same_first_ten(psql, bits):
    table, queries = few_codes(bits), asked(bits)
    with tempfile.NamedTemporaryFile(suffix=".sql") as file:
        Path(file.name).chmod(0o644)
        Path(file.name).write_bytes(pgvector_file(table, f"codes_{bits}"))
        psql("-f", file.name)
    order, far = rank(queries, table.codes, 10)
    strings = [
        "".join(map(str, row.astype(int))) for row in np.random.default_rng(1).random((20, bits)) < 0.5
    ]
    for k, string in enumerate(strings):
        exact = f"SELECT id FROM codes_{bits} ORDER BY code <~> B'{string}', place LIMIT 10"
        assert [int(row) for row in psql("-c", exact).split()] == table.rows[order[k]].tolist()
        indexed = (
            f"SET enable_seqscan = off; SELECT code <~> B'{string}' FROM codes_{bits} ORDER BY 1 LIMIT 10"
        )
        assert [float(d) for d in psql("-c", indexed).split()] == far[k].tolist()
    captions = psql("-c", f"SELECT count(*) FROM codes_{bits} WHERE caption IS NULL")
    assert int(captions) == len(table.rows) // 2
    said = psql("-c", f"SELECT encode(convert_to(caption, 'UTF8'), 'hex') FROM codes_{bits} WHERE place = 0")
    assert bytes.fromhex(said).decode() == HOSTILE
    labels = psql(
        "-c", f"SELECT encode(convert_to(labels[1], 'UTF8'), 'hex') FROM codes_{bits} WHERE place = 0"
    )
    assert bytes.fromhex(labels).decode() == HOSTILE


def test_faiss_on_codes_of_a_model(planted, tmp_path):
    faiss = pytest.importorskip("faiss", reason="faiss is not installed: python -m pip install faiss-cpu")
    data, split, hasher = planted
    queries, database, _ = encode_search(hasher, data, split, "text", "image", "training")
    flat = tmp_path / "codes.faiss"
    flat.write_bytes(faiss_files(code_table(hasher, data, split, "image"))[0])
    octets = np.ascontiguousarray(queries.view(np.uint8)[:, :2])
    found, _ = faiss.read_index_binary(str(flat)).search(octets, 10)
    np.testing.assert_array_equal(found, rank(queries, database, 10)[1])
