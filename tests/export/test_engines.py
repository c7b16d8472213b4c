"""Codes in other engines find what this program finds."""

import io
import os
import pwd
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hostile_texts import TEXTS
from pyarrow import parquet

from smfh.export.engines import CodeTable, faiss_files, parquet_file, pgvector_file
from smfh.hamming import distances, pack, rank
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
@pytest.mark.extra
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


def test_parquet_has_a_row_per_item_with_its_neighbours():
    table = few_codes(20)
    read = parquet.read_table(io.BytesIO(parquet_file(table)))
    assert read.column_names == ["id", "code", "caption", "labels", "x", "y", "neighbors"]
    assert read.schema.metadata[b"bits"] == b"20"
    rows = read.to_pylist()
    assert [row["id"] for row in rows] == table.rows.tolist()
    assert [row["caption"] for row in rows] == list(table.captions)
    assert [row["labels"] for row in rows] == list(table.labels)
    assert b"".join(row["code"] for row in rows) == table.code_bytes.tobytes()
    assert len({(row["x"], row["y"]) for row in rows}) == len(rows)
    far = distances(table.codes, table.codes)
    for item, row in enumerate(rows):
        others = sorted((k for k in range(len(rows)) if k != item), key=lambda k: (far[item, k], k))[:15]
        assert row["neighbors"]["distances"] == far[item, others].tolist()
        assert item not in row["neighbors"]["ids"]
        assert len(row["neighbors"]["ids"]) == 15


def test_hostile_text_stays_in_its_cell_of_the_sql_file():
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


def test_the_sql_file_has_type_index_and_notes():
    text = pgvector_file(few_codes(12), "mine").decode()
    assert "code bit(12) NOT NULL" in text
    assert 'CREATE INDEX ON "mine" USING ivfflat (code bit_hamming_ops) WITH (lists = 1);' in text
    assert "There is no HNSW index" in text
    assert text.index("SET client_encoding = 'UTF8';") < text.index("CREATE TABLE")
    assert text.count("\n\\.\n") == 1
    for name in ("Mine", "a b", "x; DROP TABLE y", "", "9a"):
        with pytest.raises(InputError, match="A table name"):
            pgvector_file(few_codes(12), name)


@pytest.fixture(scope="module")
def psql():
    """Return a function that calls psql on a temporary PostgreSQL, which refuses to be run by root."""
    if not (pg_config := shutil.which("pg_config")):
        pytest.skip("there is no PostgreSQL: install it with pgvector (Debian: postgresql-*-pgvector)")
    found = subprocess.run([pg_config, "--sharedir", "--bindir"], capture_output=True, text=True, check=True)
    share, programs = map(Path, found.stdout.split())
    if not (programs / "initdb").is_file():
        pytest.skip("there is no PostgreSQL server: install it (Debian: postgresql)")
    if not (share / "extension" / "vector.control").is_file():
        pytest.skip("PostgreSQL has no pgvector: install it (Debian: postgresql-*-pgvector)")
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


@pytest.mark.slow
@pytest.mark.parametrize("bits", [12, 64, 100])
def test_postgresql_returns_the_same_first_ten(psql, bits):
    table, queries, codes = few_codes(bits), asked(bits), f"codes_{bits}"
    with tempfile.NamedTemporaryFile(suffix=".sql") as file:
        Path(file.name).chmod(0o644)
        Path(file.name).write_bytes(pgvector_file(table, codes))
        psql("-f", file.name)
    order, far = rank(queries, table.codes, 10)
    for k, row in enumerate(np.random.default_rng(1).random((20, bits)) < 0.5):
        string = "".join(map(str, row.astype(int)))
        exact = f"SELECT id FROM {codes} ORDER BY code <~> B'{string}', place LIMIT 10"
        assert [int(row) for row in psql("-c", exact).split()] == table.rows[order[k]].tolist()
        indexed = f"SET enable_seqscan = off; SELECT code <~> B'{string}' FROM {codes} ORDER BY 1 LIMIT 10"
        assert [float(d) for d in psql("-c", indexed).split()] == far[k].tolist()
    captions = psql("-c", f"SELECT count(*) FROM {codes} WHERE caption IS NULL")
    assert int(captions) == len(table.rows) // 2
    for cell in ("caption", "labels[1]"):
        said = psql("-c", f"SELECT encode(convert_to({cell}, 'UTF8'), 'hex') FROM {codes} WHERE place = 0")
        assert bytes.fromhex(said).decode() == HOSTILE
