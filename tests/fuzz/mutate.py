"""Valid inputs, a little broken: trees of JSON values with a few nodes replaced, moved or lost, and bytes with a few of them changed.

Random bytes hardly ever get past the first check of a reader; what is almost right reaches the others.
"""

from __future__ import annotations

import copy
import json
import os
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st

from gate.errors import GateError
from gate.github import commands

# `GATE_FUZZ_EXAMPLES=5000 pytest tests/fuzz` looks longer.
EXAMPLES = int(os.environ.get("GATE_FUZZ_EXAMPLES", "60"))
fuzz = settings(max_examples=EXAMPLES, deadline=None)

NASTY = ("", " ", "\0", "\n", "x" * 3000, "\u202edeb", "\u200b", "../../etc/passwd", "/", "sha256:", "q1", "d1", "|", "`", "@team", "#1",
         "<!--", "::set-output name=verdict::pass", "##[error]", "{{ 7*7 }}", "1e999", "ndcg@10", "ndcg@", "ndcg@" + "9" * 30, "1" * 4000,
         "!!python/object/apply:os.system [id]", "\x1b[31m", "dev", "blind")
ODD = (None, True, False, 0, 1, -1, 2**31, 2**63, -10**30, 10**400, 0.5, -0.0, 1e308, 1e-320, [], {}, [[]], [None], {"": None},
       {"a": {"b": []}}, [[[[[[[[[[]]]]]]]]]])
values = st.sampled_from((*NASTY, *ODD)) | st.text(max_size=8) | st.integers() | st.floats(allow_nan=False, allow_infinity=False)


def raw(value: Any) -> bytes:
    """JSON, in which the largest numbers are too large: `1e999` is valid and reads as infinity."""
    return json.dumps(value).replace("1e+308", "1e999").encode()


def _places(value: Any) -> list[tuple[Any, Any]]:
    found = []
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inner:
        found.append((value, key))
        found += _places(item)
    return found


@st.composite
def mutated(draw: Any, value: Any) -> Any:
    """``value`` with one to four nodes replaced by odd values or by one another, renamed, given twice, or left out."""
    tree = [copy.deepcopy(value)]
    for _ in range(draw(st.integers(1, 4))):
        container, key = draw(st.sampled_from(_places(tree)))
        how = draw(st.sampled_from(("replace", "replace", "swap", "drop", "twice", "rename")))
        if how == "replace":
            container[key] = copy.deepcopy(draw(values))
        elif how == "swap":
            other, place = draw(st.sampled_from(_places(tree)))
            container[key] = copy.deepcopy(other[place])
        elif how == "drop" and container is not tree:
            del container[key]
        elif how == "twice" and isinstance(container, list) and container is not tree:
            container.append(copy.deepcopy(container[key]))
        elif how == "rename" and isinstance(container, dict):
            container[draw(st.sampled_from(NASTY) | st.text(max_size=5))] = container.pop(key)
    return tree[0]


@st.composite
def damaged(draw: Any, data: bytes) -> bytes:
    """``data`` cut, with bytes flipped, put in, repeated or taken out."""
    out = bytearray(data)
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(out)))
        how = draw(st.sampled_from(("flip", "flip", "cut", "insert", "repeat", "remove", "number")))
        size = draw(st.integers(1, 40))
        if how == "flip" and at < len(out):
            out[at] ^= 1 << draw(st.integers(0, 7))
        elif how == "cut":
            del out[at:]
        elif how == "insert":
            out[at:at] = draw(st.binary(max_size=10) | st.sampled_from(NASTY).map(lambda text: text.encode()[:200]))
        elif how == "repeat":
            out[at:at] = out[at:at + size] * draw(st.integers(1, 20))
        elif how == "remove":
            del out[at:at + size]
        elif how == "number":
            out[at:at + 4] = draw(st.sampled_from((b"\xff\xff\xff\xff", b"\0\0\0\0", b"\xff\xff\xff\x7f", b"NaN,", b"9e99")))
    return bytes(out)


def typed(action: Any, *arguments: Any) -> Any:
    """What ``action`` gives; None when it refused with an error of the gate, which can be shown and is no pass."""
    try:
        return action(*arguments)
    except GateError as error:
        assert error.exit_code in (2, 3) and error.problems and all(error.problems)
        shown = commands.annotation("error", error.text(), title="Retrieval Gate")
        assert "\n" not in shown and shown.encode("utf-8", "replace")
        return None
