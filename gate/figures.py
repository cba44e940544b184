"""Numbers and settings as people read them; verdicts, checks and every renderer take them from here. Pure.

Rounding is for the eye and must not contradict the decision: a change is never shown as 0.000, and a value is never shown on the
other side of the limit it was compared with.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from gate.scoring.metrics import Metric

MINUS = "−"
NONE = "—"
_MOST_DECIMALS = 6
_NOISE = 1e-12

_LABELS = {"ndcg": "nDCG", "ndcg-exp": "nDCG-exp", "rr": "RR", "ap": "AP"}


def within(sentence: str) -> str:
    """A sentence as it goes on behind a colon or another beginning: with a small letter, but ``OCR …`` stays."""
    return sentence if sentence[1:2].isupper() else sentence[:1].lower() + sentence[1:]


def plural(n: int, one: str, many: str = "") -> str:
    """``1 query``, ``2 queries``, ``1,024 queries``."""
    if not many:
        many = one[:-1] + "ies" if one.endswith("y") and one[-2] not in "aeiou" else one + "s"
    return f"{n:,} {one if n == 1 else many}"


def listed(names: Sequence[str], most: int = 5) -> str:
    """``a, b, … (9 in all)``."""
    return ", ".join(names[:most]) + (f", … ({len(names)} in all)" if len(names) > most else "")


def lost_again(count: int) -> str:
    """``3 queries that main had gained are lost again``."""
    return f"{plural(count, 'query')} that main had gained {'is' if count == 1 else 'are'} lost again"


def metric_label(metric: Metric | str) -> str:
    """``ndcg@10`` → ``nDCG@10``: as papers write it."""
    family, at, k = str(metric).partition("@")
    return _LABELS.get(family, family) + at + k


def _decimals(value: float, limits: Sequence[float]) -> int | None:
    """Fewest decimals from three on that keep ``value`` off zero and on its side of every limit; None when six do not."""
    for decimals in range(3, _MOST_DECIMALS + 1):
        shown = round(value, decimals)
        if shown == 0 and abs(value) > _NOISE:
            continue
        if all(abs(value - limit) <= _NOISE or (shown < limit) == (value < limit) and shown != limit for limit in limits):
            return decimals
    return None


def _number(value: float, limits: Sequence[float]) -> str:
    if abs(value) <= _NOISE:
        value = 0.0
    decimals = _decimals(value, limits)
    return f"{value:.2g}" if decimals is None else f"{value:.{decimals}f}"


def fmt_value(value: float | None, *limits: float) -> str:
    """A mean or a limit: three decimals, more where three would put it on the wrong side of a limit."""
    return NONE if value is None or not math.isfinite(value) else _number(value, limits).replace("-", MINUS)


def fmt_delta(value: float | None, *limits: float) -> str:
    """The same with its sign; exactly nothing is ``0.000``."""
    if value is None or not math.isfinite(value):
        return NONE
    text = _number(value, (0.0, *limits))
    return text.replace("-", MINUS) if text.startswith("-") or abs(value) <= _NOISE else f"+{text}"


def fmt_size(value: float, *limits: float) -> str:
    """The size of a change, without a sign."""
    return _number(abs(value), (0.0, *limits))


def fmt_pair(baseline: float, candidate: float, *limits: float) -> tuple[str, str]:
    """Two means of one metric: when they differ, what is shown differs as well (down to a millionth)."""
    before, after = fmt_value(baseline, *limits), fmt_value(candidate, *limits)
    for decimals in range(4, _MOST_DECIMALS + 1):
        if before != after or abs(baseline - candidate) <= _NOISE:
            break
        before, after = f"{baseline:.{decimals}f}", f"{candidate:.{decimals}f}"
    return before, after


def fmt_p(value: float | None) -> str:
    """A p or q value."""
    if value is None:
        return NONE
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def fmt_percent(share: float) -> str:
    """``95 %``, ``99.9 %``."""
    return f"{share * 100:.4g} %"


def fmt_part(share: float, *limits: float) -> str:
    """``49%``; with as many decimals as keep a share apart from a limit that it does not reach."""
    for decimals in range(_MOST_DECIMALS):
        if all(share == limit or round(share, decimals + 2) != round(limit, decimals + 2) for limit in limits):
            break
    return f"{share:.{decimals}%}"


def fmt_interval(lo: float, hi: float, *limits: float) -> str:
    """``−0.060 to −0.026``."""
    return f"{fmt_delta(lo, *limits)} to {fmt_delta(hi, *limits)}"


def short_digest(digest: str) -> str:
    """The first twelve digits of a digest or commit, without ``sha256:``."""
    return digest.removeprefix("sha256:")[:12]


def setting(value: Any) -> str:
    """A setting as one line of text."""
    if isinstance(value, Mapping):
        return ", ".join(f"{k}: {setting(v)}" for k, v in value.items()) or "none"
    if isinstance(value, (list, tuple)):
        return ", ".join(map(str, value)) or "none"
    return "none" if value is None or value == "" else str(value)
