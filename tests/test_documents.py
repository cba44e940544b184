"""README, action.yml, Dockerfile and code say the same."""

import re
import shlex
import tomllib
from pathlib import Path

import pytest
import yaml

from gate import __version__
from gate.delivery import outputs
from gate.embedding.base import KINDS as EMBEDDINGS
from gate.github.comments import STATUSES, CommentResult
from gate.inputs import drop_secrets, read_inputs
from gate.policy import Policy
from gate.reports.json_report import report_json
from gate.reports.report import VERDICTS, Report
from gate.retrievers import KINDS, module_of
from gate.settings import parse_settings
from gate.snapshot.sources import KINDS as SOURCE_KINDS
from gate.snapshot.sources import module_of as source_module
from tests.conftest import ROOT
from tests.reports import build

ACTION = yaml.safe_load((ROOT / "action.yml").read_text())
README = (ROOT / "README.md").read_text()
SOURCES = "\n".join(path.read_text() for path in sorted((ROOT / "gate").rglob("*.py")))
HEADINGS = set(re.findall(r"^#+ (.+)$", README, re.M))


@pytest.mark.parametrize("file", sorted({*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/**/*.md")}), ids=str)
def test_no_document_holds_both_sides_of_a_merge(file):
    assert not re.search(r"^(<{7}|={7}|>{7})( |$)", file.read_text(), re.M)


def test_every_picture_is_linked_somewhere_and_every_linked_one_is_there():
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]
    link = re.compile(r"\]\(((?:[\w./-]*/)?images/[^)]+)\)")
    linked = {(page.parent / path).resolve() for page in pages for path in link.findall(page.read_text())}
    assert linked == set((ROOT / "docs" / "images").resolve().iterdir())


def test_what_is_seen_on_a_picture_is_also_said():
    pages = [README, (ROOT / "docs" / "reports.md").read_text()]
    shown = [words for page in pages for words in re.findall(r"!\[([^]]*)\]\((?:docs/)?images/", page)]
    assert len(shown) > 3 and all(len(words.split()) > 10 for words in shown)


def test_every_input_of_the_action_is_read_in_both_spellings_and_documented():
    for name in ACTION["inputs"]:
        for spelling in (f"INPUT_{name.upper()}", f"INPUT_{name.upper().replace('-', '_')}"):
            assert "told" in vars(read_inputs({spelling: "told"})).values(), spelling
        assert f"`{name}`" in README


def test_an_empty_input_means_its_default():
    assert read_inputs({"INPUT_CONFIG": " ", "INPUT_REPORT-DIR": ""}) == read_inputs({})
    for name in ("config", "report-dir"):
        assert ACTION["inputs"][name]["default"] in vars(read_inputs({})).values()


def test_the_token_is_the_jobs_by_default_and_in_no_repr():
    assert ACTION["inputs"]["token"]["default"] == "${{ github.token }}"
    assert "secret" not in repr(read_inputs({"INPUT_TOKEN": "secret"}))


def test_no_secret_stays_in_the_environment():
    environ = {"INPUT_TOKEN": "x", "token": "x", "ACTIONS_RUNTIME_TOKEN": "x", "GITHUB_TOKEN": "x", "PATH": "/bin", "INPUT_A-B": "x"}
    drop_secrets(environ)
    assert environ == {"PATH": "/bin"}


def test_the_outputs_are_those_that_action_yml_declares_and_the_readme_lists():
    given = outputs(Report("default", "pass", 0, Policy()), CommentResult("not-asked"), "", "no")
    assert set(given) == set(ACTION["outputs"]) and all(isinstance(value, str) for value in given.values())
    assert all(f"`{name}`" in README for name in given)


def test_verdicts_and_comment_statuses_are_described_where_they_are_declared():
    assert all(verdict in ACTION["outputs"]["verdict"]["description"] for verdict in VERDICTS)
    assert all(status in ACTION["outputs"]["comment-status"]["description"] for status in STATUSES)


def test_the_action_is_a_docker_action_built_from_the_dockerfile():
    assert ACTION["runs"] == {"using": "docker", "image": "Dockerfile"}
    docker = (ROOT / "Dockerfile").read_text()
    assert re.search(r'^ENTRYPOINT \["/usr/local/bin/python", "-I",', docker, re.M)
    assert "requirements/runtime.txt" in docker and len((ROOT / "entrypoint.py").read_text().splitlines()) <= 30


def test_the_version_has_one_source():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert project["tool"]["setuptools"]["dynamic"]["version"] == {"attr": "gate.__version__"} and __version__


def test_every_setting_in_the_readme_is_accepted_and_no_other_is_known():
    table = README.split("## Settings")[1].split("\n## ")[0]
    documented = {name for row in re.findall(r"^\| (`[^|]+) \|", table, re.M) for name in re.findall(r"`([a-z_.]+)`", row)}
    values = {"gate": "x", "golden": "g.jsonl", "snapshot.path": "s", "snapshot.digest": "sha256:" + "0" * 64,
              "snapshot.corpus": "wiki", "snapshot.source": {"artifact": {"name": "s", "run_id": 1}}, "retriever.kind": "bm25",
              "retriever.limits": {"query_seconds": 1}, "retriever.concurrency": 1,
              "policy.primary": "rr", "policy.metrics": ["rr"], "policy.unit": "chunk", "policy.overlap": 0.8,
              "policy.inconclusive": "fail",
              "policy.floors": {"rr": 0.1}, "policy.protected": ["a"], "policy.must_hit": ["q"], "policy.must_hit_tags": ["a"],
              "policy.max_drop": {"rr": 0.1}, "policy.limits": {"p95_ms": 9},
              "policy.bootstrap": "resample", "policy.confidence": 0.9, "policy.tolerance": 0.1,
              "baseline.label": "x", "baseline.artifact": "x", "baseline.workflow": "x", "comment": "never", "show_queries": False,
              "baseline.branch": "b", "baseline.path": "b.json.gz",
              "services": {"db": {"image": "db@sha256:" + "0" * 64, "port": 5432}},
              "splits": ["dev"], "repeat": 1, "tiers": {"nightly": {"splits": ["blind"], "repeat": 1, "policy": {"primary": "rr"}}}}
    for store, *others in (("branch", "baseline.path", "snapshot.source"), ("file", "baseline.branch", "snapshot.path")):
        config: dict = {}
        for name in documented - set(others):
            *parents, last = name.split(".")
            place = config
            for parent in parents:
                place = place.setdefault(parent, {})
            place[last] = store if name == "baseline.store" else values.get(name, 100)
        assert parse_settings(yaml.safe_dump(config).encode(), "c.yml", "c.yml").policy.unit == "chunk"
    getters = "text|choice|number|integer|boolean|strings|mapping|raw|_limits_by_metric"
    known = set(re.findall(rf'(?:{getters})\((?:section, )?"([a-z_]+)"', SOURCES))
    assert {name.split(".")[-1] for name in documented} >= known & {name.split(".")[-1] for name in values}


RETRIEVERS = (ROOT / "docs/retrievers.md").read_text()


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_retriever_is_described_by_an_example_that_is_accepted_and_by_its_keys(kind, monkeypatch):
    assert f"`{kind}`" in README.split("## Retrievers")[1].split("\n## ")[0]
    part = RETRIEVERS.split(f"\n## {kind}\n")[1].split("\n## ")[0]
    example, = re.findall(r"```yaml\n(retriever:\n.*?)```", part, re.S)
    rest = 'golden: g.jsonl\nsnapshot: {path: s, digest: "sha256:' + "0" * 64 + '"}\n'
    assert parse_settings((rest + example).encode(), "c.yml", "c.yml").retriever.kind == kind
    source = Path(module_of(kind).__file__).read_text()
    read = set(re.findall(r'\.(?:text|choice|number|integer|boolean|strings|mapping|raw)\("([a-z_]+)"', source))
    assert all(f"`{key}`" in part for key in read), read


SNAPSHOTS = (ROOT / "docs/snapshots.md").read_text()


@pytest.mark.parametrize("kind", SOURCE_KINDS)
def test_every_source_of_snapshots_is_described_by_an_example_that_is_accepted_and_by_its_keys(kind):
    assert f"`{kind}`" in next(row for row in README.splitlines() if row.startswith("| `snapshot.source`"))
    part = re.split(r"\n##", SNAPSHOTS.split(f"\n### {kind}\n")[1])[0]
    example, = re.findall(r"```yaml\n(snapshot:\n.*?)```", part, re.S)
    found = parse_settings(("golden: g.jsonl\nretriever: {kind: bm25}\n" + example).encode(), "c.yml", "c.yml").snapshot
    assert found.source.kind == kind and found.path is None
    shared = {"read_sha256": "sha256", "read_size": "max_mb", "read_token": "token", "read_repository": "repository", "read_url": "url"}
    source = Path(source_module(kind).__file__).read_text()
    read = set(re.findall(r'(?:section\.(?:text|integer|mapping|raw)\(|read_name\(section, )"([a-z_]+)"', source))
    read |= {key for function, key in shared.items() if f"{function}(section" in source}
    assert read == set(re.findall(r"^\| `([a-z_0-9]+)` \|", part, re.M))


def test_every_option_that_builds_a_snapshot_is_described_and_the_examples_are_accepted():
    from gate.cli import build_parser

    part = SNAPSHOTS.split("\n## Building\n")[1].split("\n## ")[0]
    options = build_parser()._subparsers._group_actions[0].choices["snapshot"]._subparsers._group_actions[0].choices["build"]._actions
    flags = {flag for action in options for flag in action.option_strings if flag.startswith("--")} - {"--help"}
    assert [flag for flag in sorted(flags) if flag not in part] == []
    commands = re.findall(r"^retrieval-gate (snapshot (?:.*\\\n)*.*)$", part, re.M)
    assert len(commands) == 6
    for command in commands:
        build_parser().parse_args(shlex.split(command.replace("\\\n", " ")))
    for example in re.findall(r"```yaml\n(snapshot:\n.*?)```", part, re.S):
        assert parse_settings(("golden: g.jsonl\nretriever: {kind: bm25}\n" + example).encode(), "c.yml", "c.yml").snapshot.corpus


def test_every_example_of_a_service_is_accepted_and_every_key_of_one_is_described():
    page = (ROOT / "docs/services.md").read_text()
    examples = re.findall(r"```yaml\n(services:\n.*?)```", page, re.S)
    rest = 'golden: g.jsonl\nretriever: {kind: bm25}\nsnapshot: {path: s, digest: "sha256:' + "0" * 64 + '"}\n'
    for example in examples:
        assert len(parse_settings((rest + example.replace("sha256:…", "sha256:" + "0" * 64)).encode(), "c.yml", "c.yml").services) == 1
    sources = "".join((ROOT / f"gate/{name}/settings.py").read_text() for name in ("services", "docker"))
    read = set(re.findall(r'(?:text|number|integer|mapping|raw|read_words|read_place)\((?:section, )?"([a-z_]+)"', sources))
    assert len(examples) == 5 and "restore" in read and all(f"`{key}`" in page for key in read), read


def test_every_section_of_the_readme_that_an_error_names_exists():
    named = set(re.findall(r"«([^»{}]+)»", " ".join(re.findall(r"README, «[^»]+»", SOURCES.replace('"\n', "").replace("    ", "")))))
    assert named and named <= HEADINGS, named - HEADINGS


def test_every_question_in_the_readme_that_quotes_an_error_quotes_a_real_one():
    flat = re.sub(r"\{[^{}]*\}", "", re.sub(r'"\s*f?"', "", SOURCES))
    for error in re.findall(r"^\*\*“(.+?)”\*\*", README, re.M):
        if error == "Resource not accessible by integration":  # GitHub's own words
            continue
        for part in re.split(r"\bN\b|sha256:…", error):
            assert part.strip(" ,") in flat, (error, part)


@pytest.mark.parametrize("path", ["LICENSE", "README.md", "action.yml", "Dockerfile", "entrypoint.py", "tests/README.md"])
def test_the_given_top_level_is_there(path):
    assert (ROOT / path).is_file()


@pytest.mark.parametrize("kind", [kind for kind in EMBEDDINGS if kind != "snapshot"])
def test_every_kind_of_query_vectors_is_described_by_its_keys(kind):
    whole = RETRIEVERS.split("\n## Query vectors\n")[1].split("\n## ")[0]
    part = whole.split(f"\n### {kind}\n")[1].split("\n### ")[0]
    assert f"| `{kind}` |" in whole
    source = (ROOT / f"gate/embedding/{kind}.py").read_text()
    read = set(re.findall(r'\.(?:text|choice|number|integer|boolean|strings|mapping|raw)\(\s*"([a-z_]+)"', source))
    assert read and all(f"`{key}`" in part for key in read), read
    for example in re.findall(r"```yaml\n(retriever:\n.*?)```", whole, re.S):
        rest = 'golden: g.jsonl\nsnapshot: {path: s, digest: "sha256:' + "0" * 64 + '"}\n'
        assert parse_settings((rest + example).encode(), "c.yml", "c.yml").retriever.kind == "dense"


def test_every_key_of_report_json_has_its_line():
    page = (ROOT / "docs/reports.md").read_text()
    table = page.split("## report.json")[1].split("\n## ")[0]
    rows = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    assert set(report_json(build.failing())) == {key for row in rows for key in re.findall(r"`([a-z_]+)`", row)}


def test_every_kind_of_pattern_has_its_line():
    page = (ROOT / "docs/reports.md").read_text().split("## What the worse queries have in common")[1].split("\n## ")[0]
    source = "\n".join(path.read_text() for path in (ROOT / "gate/patterns").glob("*.py"))
    kinds = set(re.findall(r'(?:Pattern|Trait)\("([a-z-]+)"', source))
    assert len(kinds) > 13 and all(f"`{kind}`" in page for kind in kinds), [kind for kind in kinds if f"`{kind}`" not in page]
