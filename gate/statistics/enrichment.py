"""Whether a property is more frequent in one group than chance explains. Pure."""

from __future__ import annotations

from math import exp, lgamma


def _log_choose(n: int, k: int) -> float:
    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)


def enrichment_p(hits: int, group: int, having: int, total: int) -> float:
    """Fisher's exact test, one-sided: the chance of ``hits`` or more with the property among ``group`` drawn from ``total``, of which
    ``having`` have it (the upper tail of the hypergeometric distribution)."""
    if not 0 <= hits <= min(group, having) or max(group, having) > total:
        raise ValueError(f"{hits} of {group}, {having} of {total} is no table")
    low, high = max(hits, group + having - total, 0), min(group, having)
    whole = _log_choose(total, group)
    return min(1.0, sum(exp(_log_choose(having, i) + _log_choose(total - having, group - i) - whole) for i in range(low, high + 1)))
