"""A badge for a README: what main finds, and whether the gate let it pass. As a picture, and as the JSON that badge services read."""

from __future__ import annotations

from html import escape
from typing import Any

from gate.figures import fmt_value, metric_label
from gate.reports.escape import clean

SVG, JSON = "badge.svg", "badge.json"
# Colours by name for services, and as they are drawn; white text on them has a contrast of 4.5 to 1 or more.
_COLORS = {"good": ("brightgreen", "#2b7a0b"), "open": ("yellow", "#8a6100"), "bad": ("red", "#b3261e"), "none": ("lightgrey", "#5c6370")}
_MOODS = {"pass": "good", "accepted": "good", "no-baseline": "good", "inconclusive": "open", "fail": "bad"}
_CHAR, _PAD = 6.6, 8


def badge(metric: str, value: float | None, verdict: str) -> tuple[dict[str, Any], str]:
    """(JSON of the endpoint schema 1 of shields.io, SVG). ``value`` None or a verdict that is none: nothing is claimed."""
    mood = _MOODS.get(verdict, "none") if value is not None else "none"
    message = fmt_value(value) if mood != "none" else "unknown"
    message += " failing" if mood == "bad" else " open" if mood == "open" else ""
    label = clean(metric_label(metric), 40) or "retrieval"
    name, color = _COLORS[mood]
    return {"schemaVersion": 1, "label": label, "message": message, "color": name}, _svg(label, message, color)


def _svg(label: str, message: str, color: str) -> str:
    left, right = (round(len(text) * _CHAR) + 2 * _PAD for text in (label, message))
    label, message = escape(label), escape(message)
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="20" role="img" aria-label="{label}: {message}">'
            f'<title>{label}: {message}</title><clipPath id="round"><rect width="{left + right}" height="20" rx="3"/></clipPath>'
            f'<g clip-path="url(#round)"><rect width="{left}" height="20" fill="#3d444d"/>'
            f'<rect x="{left}" width="{right}" height="20" fill="{color}"/></g>'
            '<g fill="#fff" text-anchor="middle" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">'
            f'<text x="{left / 2:g}" y="14">{label}</text><text x="{left + right / 2:g}" y="14">{message}</text></g></svg>\n')
