"""Corrections for looking at many things at once. Both return adjusted p values in the order given."""

from __future__ import annotations

from collections.abc import Sequence


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm (1979), step down: bounds the chance of even one false alarm in a declared family."""
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    adjusted = [0.0] * len(p_values)
    running = 0.0
    for position, i in enumerate(order):
        running = max(running, min(1.0, (len(p_values) - position) * p_values[i]))
        adjusted[i] = running
    return adjusted


def benjamini_hochberg(p_values: Sequence[float]) -> list[float]:
    """Benjamini and Hochberg (1995), step up: bounds the share of false alarms among the alarms; for diagnosis."""
    order = sorted(range(len(p_values)), key=lambda i: p_values[i], reverse=True)
    adjusted = [0.0] * len(p_values)
    running = 1.0
    for position, i in enumerate(order):
        running = min(running, p_values[i] * len(p_values) / (len(p_values) - position))
        adjusted[i] = running
    return adjusted
