"""What an embedding function gave → the answer that goes over the pipe. Loaded by worker.py in the function's process: standard library
only.

A question carries ``texts``; its answer ``vectors``, base64 of little-endian float32, and ``dimensions``.
"""

from __future__ import annotations

import base64
import math
import struct
from typing import Any


class Unusable(Exception):
    """What the function returned is no list of vectors."""


def _row(value: Any, position: int) -> list[float]:
    value = value.tolist() if hasattr(value, "tolist") else value
    if not isinstance(value, (list, tuple)) or not value:
        raise Unusable(f"the vector of text {position} is {repr(value)[:60]} ({type(value).__name__}), not a list of numbers")
    for number in value:
        if isinstance(number, (bool, str, bytes)) or not hasattr(number, "__float__") or not math.isfinite(float(number)):
            raise Unusable(f"the vector of text {position} holds {repr(number)[:60]} ({type(number).__name__}), which is no finite number")
    return [float(number) for number in value]


def converted(result: Any, count: int) -> dict[str, Any]:
    """As it goes over the pipe."""
    result = result.tolist() if hasattr(result, "tolist") else result
    if not isinstance(result, (list, tuple)):
        raise Unusable(f"the function returned {repr(result)[:60]} ({type(result).__name__}), not a list of vectors")
    if len(result) != count:
        raise Unusable(f"the function got {count} texts and returned {len(result)} vectors")
    rows = [_row(value, position) for position, value in enumerate(result, 1)]
    if len(widths := sorted({len(row) for row in rows})) != 1:
        raise Unusable(f"the vectors have {' and '.join(map(str, widths))} dimensions; all must have the same")
    try:
        data = b"".join(struct.pack(f"<{len(row)}f", *row) for row in rows)
    except OverflowError:
        raise Unusable("a vector holds numbers that float32 cannot") from None
    return {"vectors": base64.b64encode(data).decode(), "dimensions": widths[0]}
