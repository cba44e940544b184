"""Configurations in tests: read as if they were a file of a repository, and what is wrong with them."""

import pytest

from gate.errors import InvalidInput
from gate.settings import parse_settings

SNAPSHOT = 'snapshot: {path: s, digest: "sha256:' + "0" * 64 + '"}\n'


def read(text: str):
    return parse_settings(text.encode(), "repo/retrieval-gate.yml", "c.yml")


def problems(text: str) -> tuple[str, ...]:
    with pytest.raises(InvalidInput) as caught:
        read(text)
    return caught.value.problems
