"""The idea: what hashing is, told with real codes, for who has never heard of it."""

from collections.abc import Sequence

import streamlit as st

from smfh.hamming import unpack
from smfh.lessons.evidence import TEXT
from smfh.lessons.film import Reel
from smfh.ui.gallery import caption_of, in_bits
from smfh.ui.items import code_strip, pictures_of
from smfh.ui.learn.film import reel

PICTURE, STRIP = 64, 420  # pixels


def draw_idea() -> None:
    """Four sentences and one picture."""
    st.markdown(
        "**Words and pictures have nothing in common that a computer could compare.** So each gets a "
        "short *code*: a row of bits, each on or off. The codes are learnt from pairs, such as an emoji "
        "and its name, so that what belongs together gets nearly the same code, whichever side it comes "
        "from.\n\n**To search is then to count.** Take the code of the words; for every picture count the "
        "bits that differ (the *Hamming distance*); show those with the fewest. A processor compares "
        "billions of bits a second, and a code takes a few bytes where a picture takes thousands."
    )
    shot = reel()
    st.markdown(
        "Here are real codes, learnt from the built-in emoji. Each strip is two codes: above that of the "
        "words, below that of the picture; dark is on, pale is off, and **orange is where they differ**."
    )
    _draw_codes(shot)
    st.markdown(
        "**How are the codes found?** By five small steps, again and again. The next part does them by "
        "hand on nine emoji; the third shows all of it as a film; the lessons ask what can go wrong."
    )


def _draw_codes(shot: Reel) -> None:
    """A query's words beside items nearer and farther, bit by bit."""
    evidence = shot.frames
    run, data, bits = evidence.runs[-1], evidence.data, evidence.runs[-1].hasher.bits
    asked = evidence.queries[next(iter(shot.walls))]  # that the film makes most of
    query = unpack(run.hasher.encode("text", data.modalities["text"][[asked]]), bits)[0]
    rows, distances = evidence.nearest(run, TEXT, asked, len(evidence.split.train))
    codes = dict(
        zip(evidence.split.train.tolist(), unpack(run.hasher.database_codes["image"], bits), strict=True)
    )
    st.text(f"The words of “{caption_of(data, asked)}” ask, which the training has never seen:")
    for away in chosen_distances(distances):
        row = rows[distances.index(away)]
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.image(pictures_of(data, [row], None)[0], width=PICTURE, alt=caption_of(data, row))
            what = f"{in_bits(away)} of {bits} differ"
            st.image(code_strip(query, codes[row]), width=STRIP, alt=what)
            st.text(f"{caption_of(data, row)}: {what}")


def chosen_distances(distances: Sequence[int]) -> list[int]:
    """The three smallest that occur, the middle one, and the largest."""
    different = sorted(set(distances))
    return sorted({*different[:3], different[len(different) // 2], different[-1]})
