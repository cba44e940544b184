"""What the readers accept must not break what comes after them: comparison, decision, every report."""

from __future__ import annotations

import json

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gate.cli import main
from tests.fuzz.mutate import EXAMPLES, mutated
from tests.fuzz.test_readers import CONFIG, GOLDEN, GROUPS, HEADER, RUN, VERSIONS, lines

OTHER = [{"id": "q1", "ranked": ["d7", "d2"], "scores": [2.0, 1.0]}, {"id": "q2", "ranked": ["d1", "d3"]}, {"id": "q3", "ranked": []},
         {"id": "q4", "ranked": [{"doc": "d4", "start": 0, "end": 12}, {"doc": "d9", "start": 0, "end": 5}]}]
POLICY = {key: value for key, value in CONFIG.items() if key != "snapshot"} | {"policy": CONFIG["policy"] | {"max_errors": 1}}


FILES = {"golden": GOLDEN, "header": HEADER, "groups": GROUPS, "versions": VERSIONS, "old": RUN, "new": OTHER, "config": POLICY}
FORMATS = ("text", "markdown", "json")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("whole")


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data(), st.sets(st.sampled_from(sorted(FILES)), max_size=2), st.sampled_from(FORMATS))
def test_a_comparison_ends_with_a_documented_exit_code_and_no_traceback(folder, capsys, data, broken, form):
    files = {name: data.draw(mutated(good), name) if name in broken else good for name, good in FILES.items()}
    for name in ("golden", "groups", "versions", "old", "new"):
        (folder / f"{name}.jsonl").write_bytes(lines(files[name] if isinstance(files[name], list) else [files[name]]))
    for name, key in (("golden", "header"), ("gate", "config")):
        (folder / f"{name}.yml").write_text(yaml.safe_dump(files[key], allow_unicode=True), encoding="utf-8", errors="replace")
    given_files = {"--golden": "golden.jsonl", "--baseline": "old.jsonl", "--candidate": "new.jsonl", "--config": "gate.yml",
                   "--out": "out"}
    capsys.readouterr()
    code = main(["compare", *(word for option, name in given_files.items() for word in (option, str(folder / name))), "--format", form])
    out, err = capsys.readouterr()
    assert code in (0, 1, 2, 3, 4) and "Traceback" not in out + err, err[-3000:]
    assert form != "json" or not out or json.loads(out)["exit_code"] == code
    assert not [line for line in (out + err).splitlines() if line.lstrip().startswith("::") or "##[" in line]
