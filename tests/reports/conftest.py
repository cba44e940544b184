"""Golden files: ``UPDATE_GOLDEN=1 pytest tests/reports`` writes them anew; look at the diff before you keep it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent / "golden"


@pytest.fixture
def golden_file():
    """Compare text with the stored file of that name."""

    def check(name: str, text: str) -> None:
        path = FOLDER / name
        if os.environ.get("UPDATE_GOLDEN") == "1":
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
        assert text == path.read_text(encoding="utf-8")

    return check
