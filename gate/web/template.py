"""A JSON value with ``{query}`` and ``{n}`` in its texts, as a configuration holds it. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from gate import jsonio

_PLACEHOLDER = re.compile(r"\{\{(query|n)\}\}|\{(query|n)\}")


def put_in(template: Any, values: Mapping[str, str | int]) -> Any:
    """``template`` with every placeholder replaced: a text that is nothing but ``{n}`` becomes the number, among other words its digits.
    ``{{n}}`` stands for the text ``{n}``. Keys stay as they are, and what was put in is not looked at again."""
    if isinstance(template, dict):
        return {key: put_in(value, values) for key, value in template.items()}
    if isinstance(template, list):
        return [put_in(value, values) for value in template]
    if not isinstance(template, str):
        return template
    whole = _PLACEHOLDER.fullmatch(template)
    if whole and whole[2]:
        return values[whole[2]]
    return _PLACEHOLDER.sub(lambda found: f"{{{found[1]}}}" if found[1] else str(values[found[2]]), template)


def holds(template: Any, name: str) -> bool:
    """Whether the placeholder ``name`` is in it."""
    return any(found[2] == name for text in texts(template) for found in _PLACEHOLDER.finditer(text))


def texts(template: Any) -> Iterator[str]:
    """Every text in it, keys left out."""
    if isinstance(template, str):
        yield template
    elif isinstance(template, (dict, list)):
        for value in template.values() if isinstance(template, dict) else template:
            yield from texts(value)


def template_fault(template: Any) -> str:
    """Why it is no JSON; empty for what is. YAML knows dates, and numbers without an end."""
    if isinstance(template, (dict, list)):
        return next(filter(None, map(template_fault, template.values() if isinstance(template, dict) else template)), "")
    if template is None or isinstance(template, (str, bool)) or jsonio.finite(template):
        return ""
    return f"has {template!s}, which JSON does not know; quote it"[:200]
