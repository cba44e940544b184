"""docs/security.md names tests as its evidence: each has to be there."""

import re

from tests.conftest import ROOT

PAGE = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")


def test_every_test_that_the_documentation_names_exists():
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", PAGE)
    assert len(named) > 40
    missing = [f"{path}::{name}" for path, name in named
               if not (ROOT / path).is_file() or not re.search(rf"^\s*def {name}\(", (ROOT / path).read_text(encoding="utf-8"), re.M)]
    assert missing == []


def test_every_link_in_it_leads_somewhere():
    headings = {re.sub(r"[^\w -]", "", line.lstrip("# ").lower()).replace(" ", "-") for line in PAGE.splitlines() if line.startswith("#")}
    for target in re.findall(r"\]\(([^)]+)\)", PAGE):
        assert target[1:] in headings if target.startswith("#") else (ROOT / "docs" / target).exists(), target
    assert set(re.findall(r"README, «([^»]+)»", PAGE)) <= set(re.findall(r"^#+ (.+)$", (ROOT / "README.md").read_text(), re.M))
