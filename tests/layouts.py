"""Write the same items in every layout that a user may have: coloured shapes with captions and classes."""

import io
import json
from pathlib import Path

import h5py
import numpy as np
import pandas as pd
import pyarrow as pa
import scipy.io
from PIL import Image, ImageDraw
from pyarrow import parquet

SHAPES = {"circle": 60, "triangle": 3, "square": 4, "hexagon": 6}
COLOURS = {"red": "ein roter", "green": "зелёный", "blue": "青い", "orange": "πορτοκαλί"}
WIDTHS = {"image": 6, "text": 4}


class Items:
    """So many shapes: pictures, captions and classes."""

    def __init__(self, count, seed=0):
        rng = np.random.default_rng(seed)
        pairs = [(shape, colour) for shape in SHAPES for colour in COLOURS]
        chosen = [pairs[number % len(pairs)] for number in range(count)]
        self.shapes = [shape for shape, _ in chosen]
        self.colours = [colour for _, colour in chosen]
        self.captions = [f"a {colour} {shape}, {COLOURS[colour]}" for shape, colour in chosen]
        self.pictures = [draw(shape, colour, rng) for shape, colour in chosen]
        hot = np.array([[shape == one for one in SHAPES] for shape in self.shapes], dtype=np.float32)
        noise = {name: rng.normal(0, 0.1, (count, width)) for name, width in WIDTHS.items()}
        self.matrices = {name: np.float32(X + hot @ rng.random((4, X.shape[1]))) for name, X in noise.items()}
        self.hot = hot

    def __len__(self):
        return len(self.shapes)

    def names(self, folder=""):
        return [f"{folder}{number}.png" for number in range(len(self))]

    def in_class_folders(self, folder=""):
        return [f"{folder}{shape}/{name}" for shape, name in zip(self.shapes, self.names(), strict=True)]


def draw(shape, colour, rng):
    """A shape of any size at any place, which is a different file each time."""
    image = Image.fromarray(rng.integers(230, 256, (64, 64, 3), dtype=np.uint8))
    centre, radius = rng.integers(24, 40, 2).tolist(), int(rng.integers(12, 22))
    ImageDraw.Draw(image).regular_polygon((*centre, radius), SHAPES[shape], fill=colour)
    file = io.BytesIO()
    image.save(file, "PNG")
    return file.getvalue()


def put(folder, name, content):
    path = Path(folder, name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())


def put_pictures(folder, items, names=None):
    for name, picture in zip(names or items.names(), items.pictures, strict=True):
        put(folder, name, picture)


def class_folders(folder, items):
    put_pictures(folder, items, items.in_class_folders("shapes/"))


def split_class_folders(folder, items):
    """ImageNet's layout: train and val above the classes."""
    parts = ["val" if number % 4 == 3 else "train" for number in range(len(items))]
    rows = zip(parts, items.shapes, items.names(), strict=True)
    put_pictures(folder, items, [f"{part}/{shape}/{name}" for part, shape, name in rows])


def table_of(items):
    return pd.DataFrame({"file_name": items.names(), "text": items.captions, "label": items.shapes})


def metadata_csv(folder, items):
    put_pictures(folder, items)
    table_of(items).to_csv(folder / "metadata.csv", index=False)


def metadata_jsonl(folder, items):
    put_pictures(folder, items, items.names("train/"))
    put(folder, "train/metadata.jsonl", table_of(items).to_json(orient="records", lines=True))


def metadata_parquet(folder, items):
    put_pictures(folder, items)
    table_of(items).to_parquet(folder / "metadata.parquet")


def captions_and_folders(folder, items):
    """Hugging Face imagefolder without labels in its table: the folders are the classes."""
    names = items.in_class_folders()
    put_pictures(folder, items, names)
    pd.DataFrame({"file_name": names, "text": items.captions}).to_csv(folder / "metadata.csv", index=False)


def coco(folder, items):
    put_pictures(folder, items, items.names("val2017/"))
    images = [{"id": number, "file_name": name} for number, name in enumerate(items.names())]
    captions = [{"image_id": number, "caption": text} for number, text in enumerate(items.captions)]
    numbers = {shape: number for number, shape in enumerate(SHAPES)}
    boxes = [{"image_id": n, "category_id": numbers[shape]} for n, shape in enumerate(items.shapes)]
    categories = [{"id": number, "name": shape} for shape, number in numbers.items()]
    for kind, rest in {
        "captions": {"annotations": captions},
        "instances": {"annotations": boxes, "categories": categories},
    }.items():
        put(folder, f"annotations/{kind}_val2017.json", json.dumps({"images": images} | rest))


def flickr8k(folder, items):
    """`image,caption`, several lines for each picture, with commas in captions; folders are the classes."""
    put_pictures(folder, items, items.in_class_folders("Images/"))
    rows = [f"{name},{text}\n" * 2 for name, text in zip(items.names(), items.captions, strict=True)]
    put(folder, "captions.txt", "".join(["image,caption\n", *rows]))


def flickr30k(folder, items):
    """`picture.jpg#0 TAB caption`, without a header."""
    put_pictures(folder, items, items.in_class_folders("images/"))
    pairs = list(zip(items.names(), items.captions, strict=True))
    put(folder, "results_20130124.token", "".join(f"{n}#{k}\t{text}\n" for n, text in pairs for k in (0, 1)))


def parquet_pictures(folder, items):
    """As the library `datasets` writes it: pictures as structs, labels as codes, names in the metadata."""
    known = list(SHAPES)
    features = {"label": {"names": known, "_type": "ClassLabel"}, "image": {"_type": "Image"}}
    table = pa.table(
        {
            "image": [{"bytes": picture, "path": None} for picture in items.pictures],
            "caption": items.captions,
            "label": [known.index(shape) for shape in items.shapes],
        }
    ).replace_schema_metadata({"huggingface": json.dumps({"info": {"features": features}})})
    half = len(items) * 3 // 4
    (folder / "data").mkdir()
    parquet.write_table(table.slice(0, half), folder / "data/train-00000-of-00001.parquet")
    parquet.write_table(table.slice(half), folder / "data/test-00000-of-00001.parquet")


def columns_of(items, mark):
    """image_0, image_1, …, text_3, label."""
    X = {f"{m}{mark}{k}": Y[:, k] for m, Y in items.matrices.items() for k in range(Y.shape[1])}
    return pd.DataFrame(X | {"label": items.shapes})


def columns_csv(folder, items):
    columns_of(items, "_").to_csv(folder / "embeddings.csv", index=False)


def colon_csv(folder, items):
    columns_of(items, ":").to_csv(folder / "embeddings.csv", index=False)


def columns_tsv(folder, items):
    columns_of(items, ".").to_csv(folder / "embeddings.tsv", index=False, sep="\t")


def lists_csv(folder, items):
    lists = {name: [json.dumps(row) for row in X.tolist()] for name, X in items.matrices.items()}
    pd.DataFrame(lists | {"label": items.shapes}).to_csv(folder / "embeddings.csv", index=False)


def lists_parquet(folder, items):
    lists = {name: X.tolist() for name, X in items.matrices.items()}
    parquet.write_table(pa.table(lists | {"label": items.shapes}), folder / "embeddings.parquet")


def tables_by_modality(folder, items):
    """A table for each modality, without headings, and one of labels."""
    for name, X in items.matrices.items():
        pd.DataFrame(X).to_csv(folder / f"{name}.csv", index=False, header=False)
    pd.DataFrame({"label": items.shapes}).to_csv(folder / "labels.csv", index=False)


def npy_by_modality(folder, items):
    for name, X in (items.matrices | {"labels": np.array(items.shapes)}).items():
        np.save(folder / f"{name}.npy", X)


def npz(folder, items):
    np.savez(folder / "mine.npz", **items.matrices, labels=np.array(items.shapes))


def mat(folder, items):
    arrays = items.matrices | {"labels": items.hot, "class_names": np.array(list(SHAPES), dtype=object)}
    scipy.io.savemat(folder / "mine.mat", arrays)


def mat_73(folder, items):
    """MATLAB 7.3: HDF5 with transposed matrices, and cells of text as references."""
    with h5py.File(folder / "mine.mat", "w", userblock_size=512) as file:
        for name, X in (items.matrices | {"labels": items.hot}).items():
            file.create_dataset(name, data=X.T, compression="gzip").attrs["MATLAB_class"] = b"single"
        references = []
        for number, shape in enumerate(SHAPES):
            codes = np.frombuffer(shape.encode("utf-16-le"), dtype="<u2")[:, None]
            cell = file.create_dataset(f"#refs#/{number}", data=codes)
            cell.attrs["MATLAB_class"] = b"char"
            references.append(cell.ref)
        cells = file.create_dataset("class_names", data=np.array([references], dtype=h5py.ref_dtype))
        cells.attrs["MATLAB_class"] = b"cell"


PICTURES = {
    make.__name__: make
    for make in (
        *(class_folders, split_class_folders, metadata_csv, metadata_jsonl, metadata_parquet),
        *(captions_and_folders, coco, flickr8k, flickr30k, parquet_pictures),
    )
}
MATRICES = {
    make.__name__: make
    for make in (
        *(columns_csv, colon_csv, columns_tsv, lists_csv, lists_parquet, tables_by_modality),
        *(npy_by_modality, npz, mat, mat_73),
    )
}
LAYOUTS = PICTURES | MATRICES
