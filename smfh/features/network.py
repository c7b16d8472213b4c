"""Features of pictures from a network: EfficientNet-lite0, trained on the photographs of ImageNet.

The file is loaded when the first picture is measured, so that pages without new pictures do not wait for it.
"""

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smfh.folders import app_folder
from smfh.types import InputError

FILE = app_folder() / "assets" / "efficientnet_lite0.onnx"
SIDE = 224  # pixels; every picture is resized to a square of this size
FEATURES = 1280
STEPS_PER_UNIT = 42.5  # features are between 0 and 6, and are stored in steps of 6/255


def network_features(pixels: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return the network's features f, 0 to 6, of one picture (height × width × 3, RGB) as bytes round(42.5 f)."""
    from PIL import Image

    square = Image.fromarray(pixels).resize((SIDE, SIDE), Image.Resampling.BICUBIC)
    x = (np.asarray(square, dtype=np.float32).transpose(2, 0, 1)[None] - 127) / 128
    (features,) = load_network().run(None, {"pictures": x})
    rounded: NDArray[np.uint8] = np.round(STEPS_PER_UNIT * features[0]).astype(np.uint8)
    return rounded


@cache
def load_network() -> Any:
    """Return the onnxruntime session of the network.

    The session uses one thread, because several processes may use the processor at once.
    """
    import onnxruntime

    if not FILE.is_file():
        raise InputError(f"The picture network assets/{FILE.name} is missing. Install the program again.")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(FILE, options, providers=["CPUExecutionProvider"])
