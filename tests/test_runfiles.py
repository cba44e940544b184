"""Run files are read side by side and may stay on disk; nothing of what is reported may depend on it."""

import gzip
import json
import os
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gate import filed, pipeline, references
from gate.errors import GateError, InvalidInput
from gate.golden.read import golden_of
from gate.jsonio import dumps
from gate.policy import Policy
from gate.reports.files import write_reports
from gate.reports.json_report import report_json
from gate.runs import read_run, run_lines
from gate.scoring.beside import extras
from gate.scoring.metrics import parse_metric
from gate.scoring.score import Scorer, score_run
from gate.scoring.sheet import Sheet

METRICS = tuple(map(parse_metric, ("ndcg@3", "recall@2", "hit@1", "rr", "ap", "judged@2", "precision@4", "span-coverage@3")))
CUT = METRICS[:3]


@pytest.fixture(autouse=True)
def every_plain_file_stays_on_disk(monkeypatch):
    monkeypatch.setattr(filed, "SMALLEST", 0)


def side_by_side(golden, candidate, baseline, policy):
    """The road of the command line."""
    new, old = references.load_scored([candidate, baseline], golden, policy.all_metrics, policy.unit, policy.overlap,
                                      extras(policy.primary, golden))
    return pipeline.assess(golden, new.run, old, policy)


def held(golden, candidate, baseline, policy):
    """Every file by itself into memory, then scored from there: the road of the library."""
    runs, problems = [], []
    for path in (candidate, baseline):
        try:
            runs.append(read_run(path))
        except InvalidInput as error:
            problems += error.problems
    if problems:
        raise InvalidInput(problems)
    return pipeline.assess(golden, runs[0], references.Reference(runs[1]), policy)


def outcome(road, *given):
    try:
        report = road(*given)
        return dumps(report_json(report))
    except GateError as error:
        return type(error).__name__, error.problems


# -- what is generated ---------------------------------------------------------------------------------------------------------------

docs = st.sampled_from("abcdefg")
number = st.none() | st.floats(0, 9)
plain = st.builds(lambda ranked, scored, more: {"ranked": ranked} | ({"scores": [9.0 - i for i in range(len(ranked))]} if scored else {})
                  | {key: value for key, value in more.items() if value is not None},
                  st.lists(docs, max_size=7), st.booleans(),
                  st.fixed_dictionaries({"ms": number, "cost": number, "candidates": st.none() | st.lists(docs, max_size=3)}))
chunk = st.builds(lambda doc, start, size: {"doc": doc, "start": start, "end": start + size}, docs, st.integers(0, 20), st.integers(0, 20))
chunks = st.fixed_dictionaries({"ranked": st.lists(chunk, min_size=1, max_size=5)})
ranking = st.one_of(plain, plain, plain, chunks, chunks, st.just({"error": "timeout"}), st.just({"ranked": ["a"], "why": 1}))
FAULTS = ["{", "3", '{"id": "", "ranked": []}', '{"id": "q1", "ranked": ["a", ""]}', '{"id": "q0", "ranked": []}', "\u2003", ""]
QUERIES = [f"q{i}" for i in range(6)]
query = st.one_of(
    st.fixed_dictionaries({"relevant": st.lists(docs, min_size=1, max_size=3, unique=True)}),
    st.fixed_dictionaries({"relevant": st.dictionaries(docs, st.integers(0, 3), max_size=3)}),
    st.just({"relevant": [], "answerable": False}),
    st.builds(lambda span: {"relevant": [], "spans": [span]}, st.builds(lambda c: c | {"end": c["end"] + 1}, chunk)))


@st.composite
def runs(draw):
    """Bytes of two files that have most lines in common, in an order of their own."""
    chance = random.Random(draw(st.integers(0, 2**32)))  # hypothesis itself would mostly draw faults
    lines = {i: draw(ranking) for i in [*QUERIES, "extra"]}
    files = []
    for _ in range(2):
        own = [{"id": i} | (draw(ranking) if chance.random() < 0.3 else line) for i, line in lines.items() if chance.random() < 0.9]
        if chance.random() < 0.4:
            chance.shuffle(own)
        texts = [json.dumps(line) for line in own]
        if chance.random() < 0.2:
            texts.insert(chance.randint(0, len(texts)), chance.choice(FAULTS))
        end = chance.choice(["\n", "\n", "\r\n"])
        files.append((chance.choice(["", "", "\ufeff"]) + end.join(texts) + chance.choice(["", end])).encode())
    return files


@settings(max_examples=300, deadline=None)
@given(st.lists(query, min_size=1, max_size=len(QUERIES)), runs(), st.sampled_from(["doc", "chunk"]), st.booleans())
def test_every_road_gives_the_same_report_byte_for_byte(tmp_path_factory, queries, files, unit, cut):
    golden = golden_of({"id": i, "query": "what?", "tags": ["x"]} | fields for i, fields in zip(QUERIES, queries, strict=False))
    policy = Policy(primary=METRICS[0], metrics=CUT if cut else METRICS, unit=unit, max_errors=3)
    folder = tmp_path_factory.mktemp("roads")
    names = [("candidate.jsonl", "baseline.jsonl"), ("candidate.jsonl.gz", "baseline.jsonl.gz")]
    for name, packed, data in zip(*names, files, strict=True):
        (folder / name).write_bytes(data)
        (folder / packed).write_bytes(gzip.compress(data))
    found = [outcome(road, golden, *(folder / name for name in pair), policy) for road in (side_by_side, held) for pair in names]
    found = [json.dumps(value).replace(".jsonl.gz", ".jsonl") for value in found]
    assert found == found[:1] * 4


def lines(*rankings):
    return [{"id": i, "ranked": list(ranked)} for i, ranked in rankings]


@pytest.fixture
def golden():
    return golden_of({"id": i, "query": "what?", "relevant": ["a"]} for i in QUERIES)


def test_equal_lines_are_scored_once_even_after_a_line_that_only_one_file_has(write, golden, monkeypatch):
    scored = []
    score = Scorer.score
    monkeypatch.setattr(Scorer, "score", lambda self, query, *more: scored.append(query.id) or score(self, query, *more))
    both = lines(*((i, "xa") for i in QUERIES))
    candidate = write("c.jsonl", *both[:1], {"id": "strange", "ranked": []}, *both[2:])
    side_by_side(golden, candidate, write("b.jsonl", *both), Policy())
    assert scored == QUERIES


def test_equal_scores_of_different_rankings_are_not_taken_for_equal_rankings(write, golden):
    before, after = write("b.jsonl", *lines(*((i, "axy") for i in QUERIES))), write("c.jsonl", *lines(*((i, "ayx") for i in QUERIES)))
    report = side_by_side(golden, after, before, Policy())
    assert not report.comparison.identical and "though some rankings did" in report.checks[0].sentence


def test_rankings_that_differ_in_time_and_order_of_lines_only_are_identical(write, golden):
    both = lines(*((i, "axy") for i in QUERIES))
    slower = write("c.jsonl", *({"ms": 7.0} | line for line in both))
    turned = write("d.jsonl", *reversed(both))
    for candidate in (slower, turned):
        assert side_by_side(golden, candidate, write("b.jsonl", *both), Policy()).comparison.identical


def test_a_query_that_both_runs_lack_does_not_make_them_identical(write, golden):
    both = lines(*((i, "axy") for i in QUERIES[1:]))
    assert not side_by_side(golden, write("c.jsonl", *both), write("b.jsonl", *both), Policy()).comparison.identical


def test_the_faults_of_both_files_are_listed_together(write, golden):
    candidate, baseline = write("c.jsonl", "{", {"id": "q1", "ranked": "abc"}), write("b.jsonl", {"id": "q1", "ranked": [1]}, "{")
    with pytest.raises(InvalidInput) as refused:
        side_by_side(golden, candidate, baseline, Policy())
    assert [problem.split(": ")[0] for problem in refused.value.problems] == [
        f"{candidate}:1", f"{candidate}:2", f"{baseline}:1", f"{baseline}:2"]


def test_other_rules_than_those_of_the_reading_are_scored_from_the_file_again(write, golden):
    path = write("r.jsonl", *lines(*((i, "xa") for i in QUERIES)))
    (stored,) = references.load_scored([path], golden, METRICS[:1], "doc", 0.5)
    again = score_run(golden, stored.run, METRICS[1:3], "chunk")
    assert again == score_run(golden, read_run(path), METRICS[1:3], "chunk") and again.mean("recall@2") == 1.0
    assert not stored.run.sheet.holds(golden_of([{"id": "q0", "query": "what?", "relevant": ["x"]}]), METRICS[:1], "doc", 0.5)


def test_reports_and_the_written_run_come_from_rankings_that_stayed_on_disk(write, golden, tmp_path):
    candidate = write("c.jsonl", *lines(*((i, "xy") for i in QUERIES)))
    report = side_by_side(golden, candidate, write("b.jsonl", *lines(*((i, "ay") for i in QUERIES))), Policy())
    write_reports(report, tmp_path / "out", run_lines(report.candidate_run.rankings))
    assert [flip["replaced_by"] for flip in json.loads((tmp_path / "out" / "report.json").read_text())["flips"]["lost"]] == ["x"] * 6
    assert read_run(tmp_path / "out" / "run.jsonl.gz").rankings == dict(report.candidate_run.rankings)


# -- rankings that stay in their file --------------------------------------------------------------------------------------------------


def stored(path, golden):
    return references.load_scored([path], golden, METRICS[:1], "doc", 0.5)[0].run.rankings


def test_rankings_on_disk_are_the_mapping_that_they_are_in_memory(write, golden):
    path = write("r.jsonl", "\ufeff" + json.dumps({"id": 7, "ranked": ["a"], "ms": 1}), "", {"id": "q1", "error": "broken"})
    on_disk, in_memory = stored(path, golden), read_run(path).rankings
    assert isinstance(on_disk, filed.FiledRankings) and dict(on_disk) == in_memory and len(on_disk) == 2
    assert "7" in on_disk and "q2" not in on_disk and on_disk.get("q2") is None
    with pytest.raises(KeyError):
        on_disk["q2"]


@pytest.mark.parametrize("change", [
    lambda path: path.write_text(path.read_text().replace("a", "b")), lambda path: path.write_text(""), lambda path: path.unlink(),
    lambda path: (path.rename(path.with_suffix(".old")), path.write_text(path.with_suffix(".old").read_text()))])
def test_a_file_that_changes_while_it_is_compared_is_an_error_and_never_another_runs_numbers(write, golden, change):
    path = write("r.jsonl", *lines(("q1", "a"), ("q2", "a")))
    os.utime(path, ns=(1, 1))
    rankings = stored(path, golden)
    rankings.close()
    change(path)
    with pytest.raises(InvalidInput, match="has changed while it was compared"):
        rankings["q1"]


def test_a_file_that_changes_while_it_is_read_is_an_error(write, golden, monkeypatch):
    path = write("r.jsonl", *lines(("q1", "a"), ("q2", "a")))
    os.utime(path, ns=(1, 1))
    enter = Sheet.enter
    monkeypatch.setattr(Sheet, "enter", lambda self, *given: (os.utime(path, ns=(2, 2)), enter(self, *given))[1])
    with pytest.raises(InvalidInput, match="has changed while it was compared"):
        stored(path, golden)


def test_a_file_that_is_taken_away_is_still_read_to_its_end(write, golden):
    path = write("r.jsonl", *lines(("q1", "a"), ("q2", "a")))
    rankings = stored(path, golden)
    path.unlink()
    assert rankings["q2"].docs == ["a"]
