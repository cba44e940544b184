"""Every reader on almost valid input: an answer, or an error that names what is wrong. Never a traceback, never a hang."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from gate import jsonio
from gate.baseline.choose import Manifest as Label
from gate.baseline.latest import read_latest
from gate.baseline.manifest import history_bytes_of, latest_bytes_of, manifest_bytes, pack_artifact, unpack_artifact
from gate.baseline.record import Provenance, Record, pack, unpack
from gate.baseline.timeline import history_bytes, read_history
from gate.errors import InvalidInput
from gate.github.event import choose_mode, read_context
from gate.github.trigger import find_pull, foreign, trigger_of
from gate.golden.read import read_golden
from gate.history import baseline_point
from gate.retrievers.command import CommandRetriever
from gate.retrievers.limits import Limits
from gate.retrievers.python import PythonRetriever
from gate.retrievers.team.faults import Raised
from gate.runs import Ranking, read_run, run_lines
from gate.settings import parse_settings, policy_facts
from gate.snapshot.manifest import FileFacts, Manifest, parse
from tests.fake_github.events import EXAMPLES as WEBHOOKS
from tests.fuzz.mutate import damaged, fuzz, mutated, raw, typed

GOLDEN = [
    {"id": "q1", "query": "how?", "relevant": ["d1", "d2"], "tags": ["a", "b"], "split": "blind", "source": "log", "cluster": "c"},
    {"id": "q2", "query": "what?", "relevant": {"d1": 2, "d3": -1}, "note": "x"},
    {"id": "q3", "query": "who?", "relevant": [], "answerable": False},
    {"id": "q4", "query": "where?", "spans": [{"doc": "d4", "start": 1, "end": 9, "grade": 2}, {"doc": "d4", "start": 20, "end": 30}]}]
HEADER = {"version": "1.0.0", "owner": "search", "corpus_digest": "sha256:0", "equivalences": "groups.jsonl", "versions": "versions.jsonl",
          "float_grades": True, "notes": "n"}
GROUPS = [{"id": "g", "docs": ["d1", "d2"]}, {"docs": ["d3", "d5"]}]
VERSIONS = [{"id": "v", "current": "d1", "older": ["d6", "d7"]}]
RUN = [{"id": "q1", "ranked": ["d1", "d2"], "scores": [2.0, 1.0], "candidates": ["d1", "d9"], "ms": 3.5, "cost": 0.1},
       {"id": "q2", "ranked": [{"doc": "d3", "chunk": "d3#1", "start": 0, "end": 5, "score": 1.5}, {"doc": "d1", "score": 1.0}]},
       {"id": "q3", "error": "boom"}]
TREC = b"q1 Q0 d1 1 2.5 x\nq1 Q0 d2 2 1.5 x\nq2 Q0 d3 1 1e3 x\n"
RECORD = Record("default", {"q1": Ranking(["d1", "d2"], [2.0, 1.0]), "q2": Ranking([], error="boom")}, "sha256:g", "1.0",
                {"q1": "x", "q2": "y"}, "sha256:s", "sha256:c", "sha256:p", {"primary": "ndcg@10", "protected": [["a", 0.1, "point"]]},
                {"kind": "bm25"}, {"gate": "1"}, {"ndcg@10": 0.5}, 20, 0, "acme/search", 1, "a" * 40, "7", "2026-01-01T00:00:00Z",
                "sha256:f", Provenance("approved", 7, "maria", "worth it", 1, 2))
CONFIG = {
    "gate": "wiki", "golden": "golden.jsonl", "depth": 50, "comment": "always", "show_queries": True,
    "snapshot": {"path": "snapshot", "digest": "sha256:" + "0" * 64},
    "retriever": {"kind": "python", "function": "search.retriever:retrieve", "path": ".",
                  "limits": {"query_seconds": 1.5, "run_seconds": 60, "start_seconds": 5, "memory_mb": 512}},
    "policy": {"primary": "ndcg@10", "tolerance": 0.02, "metrics": ["recall@5", "hit@5"], "floors": {"recall@5": 0.4}, "unit": "doc",
               "protected": {"a": {"tolerance": 0.1, "rule": "credible"}, "b": 0.2}, "must_hit": ["q1"], "must_hit_tags": ["a"],
               "max_drop": {"rr@10": 0.1}, "max_errors": 0, "inconclusive": "warn", "confidence": 0.95, "bootstrap": "exact",
               "resamples": 100, "seed": 1, "overlap": 0.5, "score_floor": 0.1},
    "baseline": {"label": "baseline-update", "artifact": "base", "workflow": "gate.yml"},
    "tiers": {"nightly": {"splits": ["dev"], "repeat": 2, "policy": {"tolerance": 0.01}}}}
DIGESTS = {"units.jsonl": FileFacts("0" * 64, 10), "index/data.npy": FileFacts("1" * 64, 20)}
SNAPSHOT = Manifest("bm25", "sha256:" + "0" * 64, 2, 1, {"k1": 1.5}, {"kind": "none"}, DIGESTS, None, "gate", "2026-01-01")
HEAD = "1" * 40


def lines(records) -> bytes:
    return b"".join(raw(record) + b"\n" for record in records)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("fuzz")


def test_what_the_fuzz_starts_from_is_valid(folder):
    """Otherwise every example would end at the first check."""
    for name, data in (("golden.jsonl", lines(GOLDEN)), ("groups.jsonl", lines(GROUPS)), ("versions.jsonl", lines(VERSIONS)),
                       ("golden.yml", yaml.safe_dump(HEADER).encode()), ("r.jsonl", lines(RUN)), ("r.trec", TREC)):
        (folder / name).write_bytes(data)
    assert len(read_golden(folder / "golden.jsonl").queries) == 4
    assert len(read_run(folder / "r.jsonl").rankings) == 3 and len(read_run(folder / "r.trec").rankings) == 2
    assert unpack(pack(RECORD), "x") == RECORD and parse(jsonio.pretty(SNAPSHOT.to_json()).encode(), "x") == SNAPSHOT
    assert parse_settings(yaml.safe_dump(CONFIG).encode(), "c.yml", "c.yml").gate == "wiki"


@fuzz
@given(mutated(GOLDEN) | st.just(GOLDEN), mutated(HEADER) | st.just(HEADER), mutated(GROUPS), mutated(VERSIONS))
def test_golden_set_with_header_groups_and_versions(folder, golden, header, groups, versions):
    for name, records in (("golden.jsonl", golden), ("groups.jsonl", groups), ("versions.jsonl", versions)):
        (folder / name).write_bytes(lines(records if isinstance(records, list) else [records]))
    (folder / "golden.yml").write_bytes(yaml.safe_dump(header).encode())
    found = typed(read_golden, folder / "golden.jsonl")
    assert found is None or (found.digest and found.labels)


@fuzz
@given(st.sampled_from((("golden.jsonl", lines(GOLDEN)), ("groups.jsonl", lines(GROUPS)), ("versions.jsonl", lines(VERSIONS)),
                        ("golden.yml", yaml.safe_dump(HEADER).encode()), ("golden.jsonl", gzip.compress(lines(GOLDEN))))).flatmap(
    lambda file: damaged(file[1]).map(lambda data: (file[0], data))))
def test_damaged_bytes_of_a_golden_set(folder, file):
    for name, data in (("golden.jsonl", lines(GOLDEN)), ("groups.jsonl", lines(GROUPS)), ("versions.jsonl", lines(VERSIONS)),
                       ("golden.yml", yaml.safe_dump(HEADER).encode()), file):
        (folder / name).write_bytes(data)
    typed(read_golden, folder / "golden.jsonl")


@fuzz
@given(mutated(RUN).map(lambda run: lines(run if isinstance(run, list) else [run])) | damaged(lines(RUN)) |
       damaged(gzip.compress(lines(RUN))))
def test_run_of_json_lines(folder, data):
    (folder / "r.jsonl").write_bytes(data)
    found = typed(read_run, folder / "r.jsonl")
    if found is not None:
        (folder / "again.jsonl").write_bytes(run_lines(found.rankings))
        assert read_run(folder / "again.jsonl").rankings == found.rankings


@fuzz
@given(damaged(TREC) | damaged(gzip.compress(TREC)))
def test_trec_run(folder, data):
    (folder / "r.trec").write_bytes(data)
    typed(read_run, folder / "r.trec")


@fuzz
@given(mutated(json.loads(gzip.decompress(pack(RECORD)))), st.booleans())
def test_record_with_a_digest_that_fits(value, packed):
    if isinstance(value, dict):
        value.pop("digest", None)
        value["digest"] = jsonio.digest(value)
    data = raw(value)
    found = typed(unpack, gzip.compress(data) if packed else data, "record")
    # What is accepted can be carried on.
    assert found is None or unpack(pack(found), "again") == found


@fuzz
@given(damaged(pack(RECORD)) | damaged(gzip.decompress(pack(RECORD))))
def test_damaged_record(data):
    assert typed(unpack, data, "record") in (None, RECORD)


def sealed(value):
    """A manifest whose digest fits its lies, where it can."""
    try:
        files = {path: FileFacts(facts["sha256"], facts["bytes"]) for path, facts in value["files"].items()}
        keys = ("kind", "corpus_digest", "units", "documents", "index", "chunker")
        made = Manifest(**{key: value[key] for key in keys}, files=files, embedding=value.get("embedding"), schema=value["schema"])
        return value | {"tree_digest": made.tree_digest}
    except Exception:
        return value


@fuzz
@given(mutated(SNAPSHOT.to_json()).map(sealed).map(raw) |
       damaged(jsonio.pretty(SNAPSHOT.to_json()).encode()))
def test_snapshot_manifest(data):
    found = typed(parse, data, "manifest.json")
    assert found is None or all(not path.startswith("/") and ".." not in path.split("/") for path in found.files)


@fuzz
@given(mutated(CONFIG).map(lambda value: yaml.safe_dump(value, allow_unicode=True).encode("utf-8", "replace")) |
       damaged(yaml.safe_dump(CONFIG).encode()))
def test_configuration(data):
    found = typed(parse_settings, data, "c.yml", "c.yml")
    assert found is None or jsonio.digest(policy_facts(found))


EVENTS = {name: json.loads((WEBHOOKS / f"{name}.json").read_text()) for name in
          ("pull_request.synchronize", "push", "merge_group.checks_requested", "workflow_run.completed.with_pull_requests")}
ENVIRON = {"GITHUB_EVENT_PATH": "e", "GITHUB_REPOSITORY": "acme/search", "GITHUB_SHA": HEAD, "GITHUB_REF": "refs/heads/main",
           "GITHUB_RUN_ID": "7"}


@fuzz
@given(st.sampled_from(sorted(EVENTS)).flatmap(lambda name: st.tuples(
    st.just(name.partition(".")[0]), mutated(EVENTS[name]).map(raw) |
    damaged(json.dumps(EVENTS[name]).encode()))), mutated(ENVIRON))
def test_event_payload(event, environ):
    environ = {key: str(value).replace("\0", "") for key, value in environ.items()} if isinstance(environ, dict) else ENVIRON
    found = typed(read_context, environ | {"GITHUB_EVENT_NAME": event[0], "GITHUB_EVENT_PATH": "e"}, lambda path: event[1])
    if found is not None:
        typed(choose_mode, found)
        assert found.event != "pull_request" or found.pull_request is not None


LABEL = Label(1, "default", 1, HEAD, RECORD.digest, "sha256:s", "approved", "7", "gate")
CARRIED = replace(LABEL, state="carried")
HISTORY = history_bytes([baseline_point(RECORD, RECORD.digest)._replace(metrics={"ndcg@10": 0.5}, tags={"a": 0.25})], RECORD.gate)
ARTIFACT = pack_artifact(CARRIED, pack(RECORD), pack(RECORD), HISTORY)


def artifact(**files: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return out.getvalue()


@fuzz
@given(damaged(ARTIFACT))
def test_damaged_artifact(data):
    found = typed(unpack_artifact, data, "artifact")
    if found is not None:
        typed(read_latest, lambda: latest_bytes_of(data), found[0], found[1])
        typed(read_history, lambda: history_bytes_of(data), RECORD.gate)


@fuzz
@given(mutated(json.loads(HISTORY)))
def test_history_of_an_artifact(value):
    data = artifact(**{"manifest.json": manifest_bytes(CARRIED), "record.json.gz": pack(RECORD), "history.json": raw(value)})
    points = typed(read_history, lambda: history_bytes_of(data), RECORD.gate)
    assert points is None or read_history(lambda: history_bytes(points, RECORD.gate), RECORD.gate) == points


@fuzz
@given(mutated(vars(CARRIED)))
def test_manifest_of_an_artifact(value):
    data = artifact(**{"manifest.json": raw(value), "record.json.gz": pack(RECORD)})
    found = typed(unpack_artifact, data, "artifact")
    if found is not None:
        typed(read_latest, lambda: latest_bytes_of(data), found[0], found[1])


def test_a_tar_in_place_of_a_zip_is_refused():
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        archive.addfile(tarfile.TarInfo("record.json.gz"))
    with pytest.raises(InvalidInput, match="not a zip"):
        unpack_artifact(out.getvalue(), "artifact")


ANSWER = {"mark": "0", "ranked": ["d1", {"doc": "d2", "score": 1.0, "chunk": "c", "start": 0, "end": 4}], "returned": 2,
          "candidates": ["d1", "d3"], "cost": 0.5, "ms": 3}
PROGRAM = CommandRetriever(("search",), Path(), Limits())
RAISED = {"error": "ValueError: boom", "where": "search.py:3", "lines": ["search.py:3 in f: x", "ValueError: boom"], "kind": "variable",
          "name": "HOME", "own": True}
RETRIEVER = PythonRetriever("search:retrieve", Path(), Limits())


@fuzz
@given(mutated(ANSWER), mutated(RAISED))
def test_answer_of_a_retriever(answer, raised):
    ranking = RETRIEVER.ranking(answer if isinstance(answer, dict) else {}, 20)
    assert ranking.error or all(isinstance(doc, str) and doc for doc in ranking.docs)
    said = PROGRAM.ranking(answer if isinstance(answer, dict) else {}, 20)
    assert said.error or all(isinstance(doc, str) and doc for doc in (*said.docs, *(said.candidates or ())) if doc)
    found = Raised.read(raised)
    assert "\n" not in found.sentence and all(line.startswith("|") for line in found.lines)


RUN_OF_API = {"id": 7, "run_attempt": 1, "event": "pull_request", "status": "completed", "conclusion": "failure",
              "path": ".github/workflows/g.yml", "repository": {"id": 1}, "head_branch": "main", "head_sha": HEAD,
              "head_repository": {"id": 2, "owner": {"login": "eve"}}}
PULL = {"number": 3, "state": "open", "user": {"login": "eve"}, "base": {"repo": {"id": 1}}, "head": {"repo": {"id": 2}, "sha": HEAD}}


@fuzz
@given(mutated(RUN_OF_API), mutated([PULL, PULL]))
def test_the_run_and_the_pull_requests_that_a_comment_is_for(run, pulls):
    if isinstance(run, dict):
        trigger = trigger_of(run)
        assert isinstance(foreign(trigger, 7, 1), str)
        if isinstance(pulls, list):
            find_pull(trigger, [pull for pull in pulls if isinstance(pull, dict)], 1)
