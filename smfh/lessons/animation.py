"""The replay as an animated picture: the map of codes and the results of a query after each iteration."""

import io
from functools import lru_cache

import numpy as np
from PIL import Image, ImageDraw, ImageFont, ImageOps

from smfh.features.pictures import decode_image
from smfh.lessons.replay import Replay
from smfh.plots.theme import class_colour
from smfh.types import FloatArray

SIZE, MAP_SIDE, MARGIN, PICTURE_SIDE = (800, 460), 400, 20, 72  # pixels
RESULTS, COLUMNS = 12, 4
FRAME_MILLISECONDS, LAST_MILLISECONDS = 500, 3000
TEXT_COLOUR, QUERY_COLOUR = "#222222", "#D77F0D"


def replay_animation(replay: Replay, caption: str) -> bytes:
    """Return an animated WebP file with one frame per iteration, for the text of this query."""
    points = np.concatenate([one.positions for one in replay.maps])
    low, span = points.min(axis=0), float(np.ptp(points, axis=0).max()) or 1.0
    frames = [_draw_frame(replay, at, caption, low, span) for at in range(len(replay.iterations))]
    file = io.BytesIO()
    times = [FRAME_MILLISECONDS] * (len(frames) - 1) + [LAST_MILLISECONDS]
    frames[0].save(file, "WEBP", save_all=True, append_images=frames[1:], duration=times, loop=0, quality=80)
    return file.getvalue()


def _draw_frame(replay: Replay, at: int, caption: str, low: FloatArray, span: float) -> Image.Image:
    evidence, codes = replay.items, replay.maps[at]
    frame = Image.new("RGB", SIZE, "white")
    draw, font = ImageDraw.Draw(frame), ImageFont.load_default(16)
    title = f"Iteration {replay.iterations[at]} of {replay.iterations[-1]}    mAP@100 {replay.scores[at]:.3f}"
    draw.text((MARGIN, 10), title, TEXT_COLOUR, font)
    classes = evidence.data.labels[codes.rows].argmax(axis=1).tolist()

    def place(position: FloatArray) -> tuple[float, float]:
        x, y = (position - low) / span * MAP_SIDE
        return MARGIN + float(x), SIZE[1] - MARGIN - float(y)

    for position, k in zip(codes.positions, classes, strict=True):
        x, y = place(position)
        draw.ellipse((x - 2, y - 2, x + 2, y + 2), class_colour(k))
    rows, distances = replay.nearest(at, caption, RESULTS)
    relevant = evidence.gallery("", rows, evidence.queries[caption]).relevant
    left, top = MAP_SIDE + 3 * MARGIN, 70
    draw.text((left, 42), f"Results for a text: {sum(relevant)} of {RESULTS} relevant", TEXT_COLOUR, font)
    for number, (found, distance, fits) in enumerate(zip(rows, distances, relevant, strict=True)):
        x, y = left + number % COLUMNS * (PICTURE_SIDE + 8), top + number // COLUMNS * (PICTURE_SIDE + 34)
        if evidence.data.thumbnails is not None:
            frame.paste(_small_picture(evidence.data.thumbnails[found]), (x, y))
        draw.text((x, y + PICTURE_SIDE + 2), f"{distance} bits", TEXT_COLOUR if fits else "#999999", font)
        if not fits:
            draw.line((x, y, x + PICTURE_SIDE, y + PICTURE_SIDE), QUERY_COLOUR, 2)
    return frame


@lru_cache(maxsize=1024)
def _small_picture(picture: bytes) -> Image.Image:
    """Return a picture centred on a white square."""
    image, square = Image.fromarray(decode_image(picture)), (PICTURE_SIDE, PICTURE_SIDE)
    return ImageOps.pad(image, square, color="white")
