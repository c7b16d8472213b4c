"""Time and memory of photographs from a folder, the first and the second time, and of an upload to first results.

python tests/load/photographs.py --folder 3000      photographs of 4,000 × 3,000 pixels; needs 5 GB of disk
python tests/load/photographs.py --upload 500       pictures of 800 × 600 pixels in class folders of a .zip
"""

import argparse
import io
import os
import resource
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

import numpy as np
from PIL import Image

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))
CLASSES = ("astronaut", "coffee", "chelsea", "rocket", "hubble_deep_field", "retina")  # photographs of scikit-image
DIFFERENT = 60  # photographs that are made; the others are copies with other bytes after their end


def photograph(number: int, width: int, height: int) -> bytes:
    """A JPEG with the size of a photograph: a part of one, enlarged, with noise."""
    from skimage import data

    source, rng = getattr(data, CLASSES[number % len(CLASSES)])(), np.random.default_rng(number)
    side = int(rng.integers(150, min(source.shape[:2])))
    top, left = (int(rng.integers(0, n - side + 1)) for n in source.shape[:2])
    part = Image.fromarray(source[top : top + side, left : left + side]).resize((width, height))
    noisy = np.asarray(part, dtype=np.int16) + rng.integers(-9, 10, (height, width, 1))
    Image.fromarray(noisy.clip(0, 255).astype(np.uint8)).save(file := io.BytesIO(), "JPEG", quality=88)
    return file.getvalue()


def photographs(count: int, width: int, height: int):
    """Yield names in class folders, and contents that all differ."""
    drawn = [photograph(number, width, height) for number in range(min(DIFFERENT, count))]
    for number in range(count):
        yield f"{CLASSES[number % len(CLASSES)]}/{number}.jpg", drawn[number % len(drawn)] + number.to_bytes(4)


def open_data(content: Path | bytes, name: str) -> None:
    """Print the seconds of each step from files to results, and the peak memory; run in a process of its own."""
    from smfh.datasets.user_data import UserDataset
    from smfh.hashing import SMFHPlus
    from smfh.retrieval.evaluation import evaluate
    from smfh.retrieval.search import query_from_words, search

    began = last = time.monotonic()

    def report(step: str) -> None:
        nonlocal last
        print(f"  {step:28}{time.monotonic() - last:8.1f} s", flush=True)
        last = time.monotonic()

    source = UserDataset(content, name)
    preview, _ = source.inspect()
    report(f"preview, {preview.items:,} items")
    data, split = source.load()
    report("features")
    hasher = SMFHPlus(bits=64).fit(data.take(split.train))
    report("training, SMFH+, 64 bits")
    score = evaluate(hasher, data, split, "text", "image", "unseen").average_precision["found"]
    results = search(hasher, data, split, query_from_words(data, "text", "coffee"), "image", limit=8)
    report("scores and a typed query")
    found = sum(data.captions[row] == "coffee" for row in results.rows)
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    print(f"  together {time.monotonic() - began:.1f} s, {megabytes:,} MB")
    print(f"  mAP, text → image, unseen: {score.mean:.2f} ({score.chance:.2f} by chance); 'coffee' finds {found} of 8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=int, default=0, metavar="N")
    parser.add_argument("--upload", type=int, default=0, metavar="N")
    parser.add_argument("--open", type=Path)
    given = parser.parse_args()
    if given.open:
        open_data(given.open if given.open.is_dir() else given.open.read_bytes(), given.open.name)
        return
    with tempfile.TemporaryDirectory() as made:
        folder, archive = Path(made, "photographs"), Path(made, "pictures.zip")
        if given.folder:
            for name, content in photographs(given.folder, 4000, 3000):
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                (folder / name).write_bytes(content)
        with zipfile.ZipFile(archive, "w") as packed:
            for name, content in photographs(given.upload, 800, 600):
                packed.writestr(name, content)
        where = os.environ | {"SMFH_CACHE": str(Path(made, "cache"))}
        times = [("folder, first time", folder), ("folder, second time", folder)] if given.folder else []
        for title, path in [*times, *([("upload", archive)] if given.upload else [])]:
            print(f"{title}:", flush=True)
            subprocess.run([sys.executable, __file__, "--open", str(path)], env=where, check=True)


if __name__ == "__main__":
    main()
