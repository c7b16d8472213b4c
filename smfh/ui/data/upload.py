"""Upload files or open a folder: preview, problems, and the button that makes it the visitor's data set."""

import os
from collections.abc import Callable, Sequence
from math import inf
from pathlib import Path
from typing import Any, TypeVar

import streamlit as st

from smfh.datasets import load_set
from smfh.datasets.user_data import FORMATS, Preview, UserDataset, example_archive
from smfh.datasets.user_labels import LABEL_SOURCES, MAX_TOPICS
from smfh.datasets.user_pictures import store_path
from smfh.datasets.user_rows import SEPARATORS, Columns
from smfh.features.embedding import MODELS
from smfh.files.limits import MAX_ARRAY_BYTES
from smfh.folders import DATA_FOLDER, ENCODER
from smfh.runs import check_upload_size, current_limits
from smfh.types import InputError
from smfh.ui import address, server
from smfh.ui.charts import offer_file
from smfh.ui.data.cards import PAIRS, REQUESTED, choose, open_tab
from smfh.ui.items import cut, draw_item
from smfh.ui.log import logging_refusal, logging_upload
from smfh.ui.plain import draw_problems
from smfh.ui.session import UPLOAD, UPLOAD_GONE, current_upload, visitor
from smfh.ui.settings import DATA, SETTINGS, Settings
from smfh.ui.sidebar import CONTROL
from smfh.ui.visitor import is_only_local

MAX_UPLOAD_MEGABYTES = st.get_option("server.maxUploadSize")
UPLOADED, PREVIEWED, UPLOADERS = "own_uploaded", "own_previewed", "own_uploaders"
FOLDER = "own_folder"  # session key: a folder on this computer
CHOSEN_ENCODER, MODEL_FOLDER = "own_encoder", "own_model_folder"
ENCODER_HELP = "CLIP and SigLIP 2 need the package fastembed. Their models are downloaded when first used."
MENU = "own_menu_"  # prefix of the keys of the menus for the columns of a table
LABEL_MENUS = f"{MENU}labels_"  # and of those whose values are guessed again for another column of labels
SEPARATOR, LABEL_SOURCE, TOPICS = f"{LABEL_MENUS}separator", f"{LABEL_MENUS}source", f"{LABEL_MENUS}topics"
MAX_CLASSES = 20
MAX_NAME_CHARACTERS, MAX_PROBLEM_CHARACTERS = 40, 400
PREVIEW_PIXELS = 150

INSTRUCTIONS = """
**Pictures**, as a .zip or as files: one folder per class; or with a table (.csv, .tsv, .jsonl, .parquet) of
file, caption and labels; or COCO captions and instances (.json); or `captions.txt` of Flickr; or .parquet
with the pictures inside. Columns are recognised by names such as `file`, `caption` and `labels`, or you
choose them; labels are separated by `|`, `;` or `,`. Without captions, class names are the texts; without
labels, topics of the captions or groups of similar pictures are the classes. Labels can be corrected here.

**Features**: .npz, .npy, .mat, .csv, .tsv or .parquet with a matrix for each modality (a row for each item)
and `labels`, in one file or one for each modality. Columns are `image_0`, `image_1`, `text_0`, … or lists.
Splits such as `I_tr`, `I_te`, `T_tr`, `T_te`, `L_tr`, `L_te` are recognised.
"""
LIMITS = (
    f"At most {MAX_UPLOAD_MEGABYTES} MB, 20,000 pictures of 25 megapixels (JPEG: 50), 2,000 classes; at least 4 items."
)
PRIVACY = (
    "Your files stay in memory, are never written to disk, and no other visitor can see them. They survive a "
    "reload, and are deleted one hour after your last visit, or when you delete them."
)

T = TypeVar("T")


def draw_upload(settings: Settings) -> None:
    """Draw the upload tab: the file, its preview, and the data in use."""
    left, right = st.columns(2, gap="large")
    upload = current_upload()
    with left:
        chosen = choose_files()
        st.caption(PRIVACY)
        if upload is not None:
            draw_uploaded(upload, settings)
        elif settings.source.name == UPLOAD:
            st.info(UPLOAD_GONE)
    with right:
        if chosen is None:
            st.session_state.pop(UPLOADED, None)
            st.session_state.pop(PREVIEWED, None)
            draw_instructions()
            return
        key, make = chosen
        if st.session_state.get(UPLOADED, ("",))[0] != key:  # else the same, so it is read once
            st.session_state[UPLOADED] = (key, make())
            address.forget(MENU)
        source = draw_label_menu(draw_menus(st.session_state[UPLOADED][1]))
        st.session_state[UPLOADED] = (key, source)
        preview = preview_of(source)
        st.markdown("**Preview**")  # names come from the file and are drawn as plain text
        items = [f"{preview.items:,} items"] if preview.items else []
        parts = [f"{cut(name, MAX_NAME_CHARACTERS)}: {content}" for name, content in preview.modalities]
        st.text(" · ".join([cut(source.file_name, MAX_NAME_CHARACTERS), *items, *parts]))
        if preview.classes:
            names = [f"{cut(name, MAX_NAME_CHARACTERS)} ({count:,})" for name, count in preview.classes]
            more = f" … and {len(names) - MAX_CLASSES:,} more" if len(names) > MAX_CLASSES else ""
            what = preview.label_kind if preview.label_kind in ("topics", "groups") else "classes"
            st.text(f"{len(names):,} {what}: {', '.join(names[:MAX_CLASSES])}{more}")
        for note in preview.notes:
            st.text(f"Note: {note}")
        if preview.problems:
            draw_file_problems([*preview.problems, *preview.skipped], preview.columns is not None)
        elif upload is None or upload.source is not source:
            draw_use(source, preview, DATA in settings.hidden)
    grid = st.grid(min_column_width=PREVIEW_PIXELS, border=True, key="own_first")
    for item in preview.first:
        with grid.cell():
            draw_item([item.thumbnail] if item.thumbnail else [], item.captions, item.labels)
    with st.expander("Accepted files"):
        draw_instructions()


def choose_files() -> tuple[object, Callable[[], UserDataset]] | None:
    """Draw the file uploader and, on a server that only this computer can reach, a field for a folder.

    Return a key that identifies the chosen files, and a function that makes the data set from them.
    """
    uploaders = st.session_state.get(UPLOADERS, 0)
    is_folder = st.toggle("Upload a whole folder", key=f"own_whole_{uploaders}")
    files = st.file_uploader(
        "Upload a folder" if is_folder else "Upload files",
        [suffix[1:] for suffix in FORMATS],
        "directory" if is_folder else True,
        key=f"own_upload_{uploaders}_{is_folder}",
    )
    folder = ""
    if is_only_local():
        st.session_state.setdefault(FOLDER, os.environ.get(DATA_FOLDER, ""))
        folder = st.text_input("Or open a folder on this computer", key=FOLDER, placeholder="/home/me/photos")
    how: dict[str, Any] = {"encoder": choose_encoder()}
    how["max_bytes"] = min(MAX_ARRAY_BYTES, current_limits().data_bytes)

    def make() -> UserDataset:
        if not files:
            return UserDataset(Path(folder).expanduser(), Path(folder).name, **how)
        contents = tuple((file.name, file.getvalue()) for file in files)
        if len(contents) == 1:
            return UserDataset(contents[0][1], contents[0][0], **how)
        return UserDataset(contents, f"{len(contents):,} files", **how)

    if files:
        return (how["encoder"], *(file.file_id for file in files)), make
    return ((how["encoder"], folder), make) if folder.strip() else None


def choose_encoder() -> str:
    """Draw a menu of encoders and, on a server that only this computer can reach, a field for a model's folder."""
    preset, _, preset_folder = os.environ.get(ENCODER, "").partition("=")
    st.session_state.setdefault(CHOSEN_ENCODER, preset if preset in MODELS else "")
    titles = {"": "built-in"} | {name: pair.title for name, pair in MODELS.items()}
    look: dict[str, Any] = {"key": CHOSEN_ENCODER, "format_func": titles.__getitem__, "help": ENCODER_HELP}
    name: str = st.selectbox("Features of pictures and captions", list(titles), **look)
    folder = preset_folder if name == preset else ""
    if name and is_only_local():
        st.session_state.setdefault(MODEL_FOLDER, folder)
        folder = st.text_input("Model folder (leave empty to download the model)", key=MODEL_FOLDER).strip()
    return f"{name}={folder}" if folder else name


def draw_instructions() -> None:
    """Draw a description of the accepted files, and a button to download a template."""
    st.markdown(INSTRUCTIONS)
    st.caption(LIMITS)
    label, name = "Template: 12 drawings with a table", "smfh_template.zip"
    offer_file(label, example_archive(), name, "application/zip", "own_template")


def preview_of(source: UserDataset) -> Preview:
    """Return the preview of the data, computed once and stored in this session only."""
    known: tuple[UserDataset, Preview] | None = st.session_state.get(PREVIEWED)
    if known is None or known[0] is not source:
        content = source.content
        files = content if isinstance(content, tuple) else [("", content)]
        size = sum(len(file) for _, file in files if isinstance(file, bytes))
        with logging_upload("data", visitor(), size) as problems:
            preview, pictures = call_with_progress(UserDataset.inspect, source, "Reading the file")
            problems += preview.problems
        source.remember(pictures)
        known = st.session_state[PREVIEWED] = (source, preview)
    return known[1]


def call_with_progress(work: Callable[..., T], source: UserDataset, label: str) -> T:
    """Call `work` with the data set in a worker process, draw its progress, and return its result.

    A click on Cancel, or leaving the page, ends the call. A folder on this computer has no time limit.
    """
    bar, place, button = st.progress(0.0, f"{label} …"), st.empty(), st.empty()
    key = f"own_cancel_{label}_{id(source):x}"  # a page may read a file again with other options
    button.button("Cancel", icon=":material/close:", key=key, on_click=cancel)
    try:
        return server.read_in_worker(
            visitor(),
            work,
            source,
            max_seconds=inf if isinstance(source.content, Path) else server.READ_SECONDS,
            max_bytes=0 if isinstance(source.content, Path) else server.READ_BYTES,
            check=place.empty,  # raises once the visitor has left or clicked
            on_progress=lambda share, step: bar.progress(min(share, 1.0), f"{step} …"),
        )
    finally:
        bar.empty()
        button.empty()


def cancel() -> None:
    """Stop reading the chosen files and clear the choice; called when a button is pressed."""
    for key in (UPLOADED, PREVIEWED):
        st.session_state.pop(key, None)
    if FOLDER in st.session_state:
        st.session_state[FOLDER] = ""
    st.session_state[UPLOADERS] = st.session_state.get(UPLOADERS, 0) + 1  # creates an empty file uploader


def draw_menus(source: UserDataset) -> UserDataset:
    """Draw menus for the columns of a picture table; return the data set with the chosen columns."""
    preview = preview_of(source)
    if (guess := preview.columns) is None:
        return source
    preset = {"picture": guess.picture, "captions": list(guess.captions), "labels": guess.labels}
    for name, value in preset.items():
        st.session_state.setdefault(MENU + name, value)
    headings, show_heading = ["", *filter(None, preview.headings)], lambda heading: heading or "(none)"
    left, right = st.columns(2)
    with left:
        picture = st.selectbox("Pictures", headings, key=f"{MENU}picture", format_func=show_heading)
        captions = st.multiselect("Captions", headings[1:], key=f"{MENU}captions")
    with right:
        guess_again: dict[str, Any] = {"on_change": address.forget, "args": (LABEL_MENUS,)}
        labels = st.selectbox("Labels", headings, key=f"{MENU}labels", format_func=show_heading, **guess_again)
    columns = Columns(picture, tuple(captions), labels)
    if columns != guess:
        source = source.read_as(columns=columns, separator="", label_source="")
        preview = preview_of(source)
    if preview.separator and columns.labels:
        st.session_state.setdefault(SEPARATOR, preview.separator)
        with right:
            separator = st.segmented_control("Label separator", SEPARATORS, required=True, key=SEPARATOR)
        if separator and separator != preview.separator:
            source = source.read_as(columns=columns, separator=separator)
    return source


def draw_label_menu(source: UserDataset) -> UserDataset:
    """Draw menus for captions, the source of labels and the number of topics; return the changed data set."""
    preview = preview_of(source)
    if preview.has_several_captions:
        several = st.toggle("Use each caption as a separate text", key=f"{MENU}several")
        source = source if several == source.several_texts else source.read_as(several_texts=several)
        preview = preview_of(source)
    if preview.unlabelled and source.hand_labels is None:
        label = f"Keep items without a label ({preview.unlabelled:,}), to label them by hand"
        if st.toggle(label, key=f"{MENU}unlabelled") != source.keep_unlabelled:
            source = source.read_as(keep_unlabelled=not source.keep_unlabelled)
            preview = preview_of(source)
    has_topics = "topics" in preview.label_sources or preview.label_kind == "groups"
    if source.hand_labels is not None or not has_topics:
        return source
    left, right = st.columns(2)
    kind = preview.label_kind
    if len(preview.label_sources) > 1:
        guess = kind if kind in LABEL_SOURCES else preview.label_sources[0]
        if st.session_state.get(LABEL_SOURCE) not in preview.label_sources:
            st.session_state[LABEL_SOURCE] = guess
        look: dict[str, Any] = {"key": LABEL_SOURCE, "format_func": LABEL_SOURCES.__getitem__}
        with left:
            kind = st.selectbox("Use as labels", preview.label_sources, **look)
        if kind != guess:
            source = source.read_as(label_source=kind)
            preview = preview_of(source)
    if kind in ("topics", "groups") and preview.classes:
        limit = max(2, min(MAX_TOPICS, preview.items // 2))
        count = st.session_state.get(TOPICS, len(preview.classes))
        st.session_state[TOPICS] = min(max(count, 2), limit)
        with right:
            count = st.number_input(f"Number of {kind}", 2, limit, key=TOPICS)
        if count not in (len(preview.classes), source.topics):
            source = source.read_as(topics=count)
    return source


def draw_file_problems(problems: Sequence[str], has_menus: bool) -> None:
    """Draw an error that lists all problems, and says what to do."""
    count = "one problem" if len(problems) == 1 else f"{len(problems)} problems"
    remedy = "Choose other columns above, or change the file and" if has_menus else "Change the file and"
    short = [cut(problem, MAX_PROBLEM_CHARACTERS) for problem in problems]
    draw_problems(f"Fix {count} to continue. {remedy} upload it again.", short, mark="✗ ")


def draw_use(source: UserDataset, preview: Preview, is_fixed: bool) -> None:
    """Draw a list of skipped items, and the button "Use this data", which computes the features."""
    label = "Use this data"
    if preview.skipped:
        count = preview.skipped_items
        label = f"Skip {'this one' if count == 1 else f'these {count:,}'} and continue"
        reasons = [cut(line, MAX_PROBLEM_CHARACTERS) for line in preview.skipped]
        what = "One item" if count == 1 else f"{count:,} items"
        draw_problems(f"{what} cannot be used:", reasons, st.warning, "✗ ")
    if (folder := source.local_folder) and (store := store_path(folder, source.encoder)).exists():
        st.text(
            "Features of these pictures are stored on this computer so that the folder opens faster next time:\n"
            f"{store}"
        )
        st.button("Delete stored features", icon=":material/delete:", on_click=store.unlink, args=(True,))
    if is_fixed:
        st.info("The link you opened sets the data set. Open the app without the link to use your data.")
    elif st.button(label, type="primary", icon=":material/check:", key="own_use"):
        try:
            loaded = call_with_progress(load_set, source, "Computing features")
            with logging_refusal("data", visitor()):
                check_upload_size(loaded[0], current_limits())
        except InputError as error:
            draw_file_problems(error.problems, preview.columns is not None)
            return
        server.add_upload(visitor(), source, loaded)
        st.session_state[REQUESTED] = UPLOAD
        st.rerun()


def draw_uploaded(upload: server.Upload, settings: Settings) -> None:
    """Draw a summary of the visitor's upload, and buttons to train on, browse or delete it."""
    data, split = upload.loaded
    with st.container(border=True, key="own_data"):
        st.markdown("**Your data**")
        st.text(
            f"{cut(upload.source.file_name, MAX_NAME_CHARACTERS)} · {len(data):,} items: "
            f"{len(split.train):,} training items, {len(split.queries):,} held-out queries · "
            f"{len(data.class_names):,} classes"
        )
        with st.container(horizontal=True):
            if settings.source.name == UPLOAD:
                look: dict[str, Any] = {"type": "primary", "icon": ":material/play_arrow:"}
                if st.button("Train on this data", key="own_train", **look):
                    st.switch_page("streamlit_app.py")
                st.button("Browse this data", on_click=open_tab, args=(PAIRS,), key="own_browse")
            elif DATA not in settings.hidden:
                st.button("Use this data", on_click=choose, args=(UPLOAD,), key="own_again")
            st.button("Delete this data", icon=":material/delete:", on_click=forget, key="own_forget")


def forget() -> None:
    """Delete the file, its data, and every run and result made from it.

    No other data set is selected, so that an old query does not get results from other data.
    """
    server.forget(visitor())
    current_upload()
    if address.current(SETTINGS, CONTROL)[0].source.name == UPLOAD:
        choose(UPLOAD)
    uploaders = st.session_state.get(UPLOADERS, 0) + 1
    for controls in ("own_", "browse_"):
        address.forget(controls)
    st.session_state[UPLOADERS] = uploaders  # a new number creates an empty file uploader
