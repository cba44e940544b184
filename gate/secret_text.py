"""Text of a configuration with ``${NAME}`` in it: secrets, taken from the environment by name when they are used."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

from gate.errors import RetrieverFailed
from gate.fields import Section
from gate.world import own_variable

_NAME = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


class SecretText(NamedTuple):
    """``text`` as it is written, with the names and never the values: it may be shown."""

    text: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """The variables it needs."""
        return tuple(dict.fromkeys(_NAME.findall(self.text)))

    def filled(self, variables: Mapping[str, str], key: str, escape: Callable[[str], str] = str) -> str:
        """With the values. Raises :class:`RetrieverFailed` when one is missing or empty: a secret that a pull request from a fork does
        not get is nothing that the configuration has wrong. ``key``: the setting, for the message; ``escape``: of each value."""
        if lacking := [name for name in self.names if not variables.get(name)]:
            raise RetrieverFailed([f"`{key}` needs the variable {name}, which is not set or empty" for name in lacking],
                                  "give it to the gate's step with `env:` (runs from forks get no secrets), or export it in your shell")
        return _NAME.sub(lambda found: escape(variables[found[1]]), self.text)


def read_secret_text(section: Section, key: str, text: str) -> SecretText:
    """Remembers a fault for ``key`` when a name is one of the gate's own, or ``${`` is not closed."""
    found = SecretText(text)
    for name in found.names:
        if own_variable(name):
            section.problem(key, f"`{key}` asks for {name}, which belongs to the gate or the runner and is not passed on; give the "
                                 "secret a name of its own")
    if "${" in _NAME.sub("", text):
        section.problem(key, f"`{key}` holds `${{` that is no `${{NAME}}`")
    return found
