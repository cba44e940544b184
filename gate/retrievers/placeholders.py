"""A request as the team wrote it, with ``{query}``, ``{n}`` and ``{vector}`` in it. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_NAME = re.compile(r"\{(query|n|vector)\}")


def filled(template: Any, values: Mapping[str, Any]) -> Any:
    """A copy in which a text that is nothing but ``{name}`` becomes the value itself, a number or a list where it is one; within other text
    it is put in as text. Keys stay as they are, and so does what a value itself holds in braces."""
    if isinstance(template, dict):
        return {key: filled(value, values) for key, value in template.items()}
    if isinstance(template, list):
        return [filled(value, values) for value in template]
    if not isinstance(template, str):
        return template
    whole = _NAME.fullmatch(template)
    return values[whole[1]] if whole else _NAME.sub(lambda found: str(values[found[1]]), template)


def names_in(template: Any) -> set[str]:
    """Which of them it has."""
    if isinstance(template, dict):
        return set().union(*map(names_in, template.values()))
    if isinstance(template, list):
        return set().union(*map(names_in, template))
    return set(_NAME.findall(template)) if isinstance(template, str) else set()
