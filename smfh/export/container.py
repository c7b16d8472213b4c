"""Words, numbers and arrays in one text that a page can read: what travels inside an HTML file."""

import base64
import gzip
import json
from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

KINDS = {"f4": "f32", "f8": "f64", "u4": "u32", "u1": "u8"}  # NumPy's names, and the page's
STEP = 8  # arrays begin where a number of so many octets may


def pack_content(header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> str:
    """In letters, compressed: the length of the header, the header with the arrays' places, the arrays."""
    places, behind, end = {}, list[bytes](), 0
    for name, array in arrays.items():
        places[name] = [KINDS[array.dtype.str[1:]], end, array.size]
        content = array.astype(array.dtype.newbyteorder("<")).tobytes()
        behind += [content, bytes(-len(content) % STEP)]
        end += len(content) + len(behind[-1])
    text = json.dumps({**header, "arrays": places}, ensure_ascii=False).encode()
    text += b" " * (-(4 + len(text)) % STEP)
    whole = b"".join([len(text).to_bytes(4, "little"), text, *behind])
    return base64.b64encode(gzip.compress(whole, mtime=0)).decode()
