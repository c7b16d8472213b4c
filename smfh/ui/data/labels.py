"""Edit the labels of uploaded data: tag items; rename, merge and delete classes; save the result."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import streamlit as st

from smfh.datasets import load_set
from smfh.datasets.user_data import UserDataset
from smfh.datasets.user_labels import label_table, labels_of_rows, rename_classes
from smfh.types import InputError, IntArray, MultimodalDataset
from smfh.ui import server
from smfh.ui.charts import offer_file
from smfh.ui.data.upload import UPLOADED, call_with_progress
from smfh.ui.plain import draw_problems
from smfh.ui.session import current_upload, drop_upload_runs, visitor

EDIT, EDITED = "browse_edit", "browse_edited"  # session keys: the toggle, and the labels that it changes
SELECTED, LABEL, CLASSES, NAME = "browse_select_", "browse_label", "browse_old_classes", "browse_new_name"
MAX_LABEL_CHARACTERS = 80


@dataclass(eq=False)
class EditedLabels:
    """The labels of an upload's items as they are being edited."""

    source: UserDataset  # of which they are
    labels: list[tuple[str, ...]]  # of each row
    before: Sequence[tuple[str, ...]]

    @property
    def changed(self) -> int:
        """Number of items whose labels were changed."""
        return sum(new != old for new, old in zip(self.labels, self.before, strict=True))

    @property
    def classes(self) -> list[str]:
        return sorted({name for own in self.labels for name in own})


def edited_labels(data: MultimodalDataset) -> EditedLabels | None:
    """Draw the switch "Edit labels"; return the edited labels, or None if it is off or the data is no upload."""
    upload = current_upload()
    if upload is None or upload.loaded[0] is not data:
        return None
    if not st.toggle("Edit labels", key=EDIT, help="Tag items, and rename, merge or delete classes."):
        return None
    edited: EditedLabels | None = st.session_state.get(EDITED)
    if edited is None or edited.source is not upload.source:
        labels = labels_of_rows(data)
        edited = st.session_state[EDITED] = EditedLabels(upload.source, list(labels), labels)
    return edited


def draw_editor(edited: EditedLabels, data: MultimodalDataset, matching: IntArray) -> None:
    """Draw the controls that change labels of selected or all matching items, or whole classes."""
    selected = [row for row in range(len(data)) if st.session_state.get(f"{SELECTED}{row}")]
    with st.container(border=True, key="label_editor"):
        tags, classes = st.columns(2, gap="large")
        with tags:
            rows = selected or matching.tolist()
            what = f"{len(rows):,} selected" if selected else f"all {len(rows):,} matching"
            look: dict[str, Any] = {"index": None, "accept_new_options": True, "key": LABEL}
            hint = "Choose or type a label"
            st.selectbox(f"Label for {what} items", edited.classes, placeholder=hint, **look)
            with st.container(horizontal=True):
                for word in ("Set", "Add", "Remove"):
                    st.button(word, key=f"label_{word}", on_click=tag, args=(word, rows), help=HELP[word])
        with classes:
            old = st.multiselect("Classes to change", edited.classes, key=CLASSES)
            look = {"max_chars": MAX_LABEL_CHARACTERS, "placeholder": "To merge classes, type an existing name"}
            name = st.text_input("New name", key=NAME, **look)
            with st.container(horizontal=True):
                label, key = "Merge" if len(old) > 1 else "Rename", "label_rename"
                off = not old or not name.strip()
                st.button(label, key=key, on_click=change_classes, args=(False,), disabled=off)
                look = {"key": "label_delete", "disabled": not old}
                st.button("Delete classes", on_click=change_classes, args=(True,), **look)
        with st.container(horizontal=True, vertical_alignment="center"):
            changed, empty = edited.changed, sum(not own for own in edited.labels)
            words = f"{changed:,} {'item' if changed == 1 else 'items'} changed."
            words += f" {empty:,} without a label are never queries." if empty else ""
            st.caption(words, width="content")
            off = not changed or not edited.classes
            is_clicked = st.button("Apply changes", type="primary", key="label_apply", disabled=off)
            undo: dict[str, Any] = {"on_click": st.session_state.pop, "args": (EDITED,), "disabled": not changed}
            st.button("Discard changes", key="label_discard", **undo)
            make = partial(label_table, data, edited.labels)
            offer_file("Save labels as a table", make, "labels.csv", "text/csv", "label_table")
        st.caption("Applying deletes the runs and studies on the old labels. Train again afterwards.")
        if is_clicked:
            apply_labels(edited)


HELP = {
    "Set": "Replace all labels of the items with this label.",
    "Add": "Give the items this label in addition to their other labels.",
    "Remove": "Remove this label from the items.",
}
CHANGES: dict[str, Callable[[tuple[str, ...], str], tuple[str, ...]]] = {
    "Set": lambda own, label: (label,),
    "Add": lambda own, label: (*own, label) if label not in own else own,
    "Remove": lambda own, label: tuple(name for name in own if name != label),
}


def tag(how: str, rows: Sequence[int]) -> None:
    """When a button is pressed, add, remove or set a label of these rows, and clear the selection."""
    edited: EditedLabels = st.session_state[EDITED]
    label = str(st.session_state.get(LABEL) or "").replace("|", " ").strip()[:MAX_LABEL_CHARACTERS]
    if not label:
        st.toast("Choose or type a label first.")
        return
    for row in rows:
        edited.labels[row] = CHANGES[how](edited.labels[row], label)
        if f"{SELECTED}{row}" in st.session_state:
            st.session_state[f"{SELECTED}{row}"] = False


def change_classes(is_deleted: bool) -> None:
    """When a button is pressed, rename, merge or delete the chosen classes."""
    edited: EditedLabels = st.session_state[EDITED]
    name = "" if is_deleted else str(st.session_state[NAME]).replace("|", " ").strip()
    edited.labels[:] = rename_classes(edited.labels, dict.fromkeys(st.session_state[CLASSES], name))
    st.session_state[CLASSES], st.session_state[NAME] = [], ""


def apply_labels(edited: EditedLabels) -> None:
    """Replace the upload's labels by the edited ones, and delete the runs on the old labels."""
    source = edited.source.read_as(hand_labels=tuple(edited.labels))
    try:
        loaded = call_with_progress(load_set, source, "Applying the labels")
    except InputError as error:
        draw_problems("The labels cannot be used.", error.problems)
        return
    server.add_upload(visitor(), source, loaded)
    if UPLOADED in st.session_state:
        st.session_state[UPLOADED] = (st.session_state[UPLOADED][0], source)
    drop_upload_runs()
    st.session_state.pop(EDITED, None)
    st.rerun()
