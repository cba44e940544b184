"""report.json of a stranger: only numbers in range and inert names come out, whatever goes in."""

import json
from copy import deepcopy

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from gate import pipeline, references
from gate.errors import InvalidInput
from gate.golden.model import Version
from gate.policy import Policy
from gate.reports.claimed import Told, quiet, render_claimed
from gate.reports.claims import LONGEST_TEXT, MAX_BYTES, MAX_FLIPS, read_claims
from gate.reports.json_report import report_json
from gate.runs import Ranking, Run
from gate.scoring.metrics import parse_metric
from tests.conftest import golden_set, run_of
from tests.reports import build, hostile
from tests.reports.rendered import HOSTILE, assert_sound

URL = "https://github.com/acme/wiki/actions/runs/77/attempts/1"
IN_CI = [name for name in build.EVERY if "local" not in name]


def value_of(report):
    """report.json as a run on a pull request writes it; the action's run id is a number."""
    value = json.loads(json.dumps(report_json(report)))
    return value | {"metadata": value["metadata"] | {"head_sha": build.HEAD, "run_id": 77, "run_attempt": 1, "pull_request": 12}}


def read(value):
    return read_claims(written(value), "report.json")


def written(value):
    """As a file; half a surrogate pair, which is refused and has a test of its own, becomes a question mark."""
    return json.dumps(value, ensure_ascii=False).encode(errors="replace")


def told(report, **more):
    return Told(**{"gate": "wiki-search", "policy": report.policy, "pull_request": 12, "head_sha": build.HEAD, "run_id": 77, "attempt": 1,
                   "run_url": URL, "conclusion": "failure"} | more)


def render(value, budget=60_000):
    return render_claimed(read(value), TOLD, budget)


def head_of(text):
    """Title, sentence, warning and means: up to the first place where names may stand."""
    return text.split("**Checks that failed:**")[0].split("| query |")[0].split("<details>")[0]


def assert_only_ours(text):
    page = assert_sound(text)
    assert page.comments == [f" retrieval-gate:v1 gate=wiki-search head={build.HEAD} run=77 attempt=1 "]
    assert set(page.links) == {URL}
    return page


FAILED = value_of(build.failing())
TOLD = told(build.failing())


@pytest.mark.parametrize("name", IN_CI)
def test_what_the_gate_writes_is_read_with_its_numbers_unchanged(name):
    report = build.EVERY[name]()
    claims = read(value_of(report))
    assert (claims.verdict, claims.exit_code, claims.problems) == (report.verdict, report.exit_code, len(report.problems))
    assert [check.name for check in report.checks] == [name for name, _ in claims.checks]
    assert claims.latency == report.latency
    if report.comparison is None:
        assert not claims.metrics
        return
    for metric, paired in report.comparison.metrics.items():
        found = claims.metrics[metric]
        assert (found.n, found.baseline, found.candidate, found.delta, found.better, found.worse, found.p_value) == (
            paired.n, paired.baseline, paired.candidate, paired.delta, paired.better, paired.worse, paired.p_value)
    assert [flip.id for flip in claims.lost] == [change.id for change in report.comparison.lost]
    assert set(claims.tags) == set(report.comparison.tags)


def test_a_metric_or_tag_without_a_value_and_a_set_of_two_queries_are_read_as_well():
    golden = golden_set({"p": ["a"], "q": ["a"]}, tags={"p": ("x",)}, versions={"q": (Version(("a",), ("b",)),)})
    old = Run({i: Ranking(["a"], candidates=["a"]) for i in "pq"})
    new, policy = run_of({"p": ["a"], "q": ["b", "a"]}), Policy(primary=parse_metric("latest@3"))
    report = pipeline.assess(golden, new, references.Reference(old), policy)
    claims = read(value_of(report))
    assert claims.metrics["candidate-recall@100"].n == claims.tags["x"].n == 0
    text = render_claimed(claims, told(report, gate="default"))
    assert "| candidate-recall@100 | — | — | — | — | 0 / 0 |" in text and "| `x` | 0 | — | — | — |" in text
    two = golden_set({"p": ["a"], "q": ["a"]})
    report = pipeline.assess(two, run_of({"p": ["x"], "q": ["a"]}), references.Reference(run_of({"p": ["a"], "q": ["x"]})), Policy())
    assert read(value_of(report)).metrics["ndcg@10"].mde == report.comparison.main.mde > 1


def test_an_interval_that_ends_at_a_whole_point_but_for_float_noise_is_no_fault():
    value = value_of(build.failing())
    value["metrics"]["ndcg@10"]["ci"] = [-1.0000000000001685, 1.0000000000001685]
    assert read(value).metrics["ndcg@10"].ci[:2] == (-1.0, 1.0)


@pytest.mark.parametrize("name", ["fail", "accepted", "pass", "inconclusive", "invalid", "no-baseline"])
def test_the_comment_on_claims_of_every_kind(name, golden_file):
    report = build.EVERY[name]()
    text = render_claimed(read(value_of(report)), told(report, conclusion="success" if report.exit_code == 0 else "failure"))
    assert_only_ours(text)
    golden_file(f"claimed-{name}.md", text)


@pytest.mark.parametrize("name, silent", [("identical", True), ("no-baseline", True), ("pass", False), ("fail", False), ("invalid", False)])
def test_quiet_is_a_pass_in_which_no_query_moved(name, silent):
    assert quiet(read(value_of(build.EVERY[name]()))) is silent


@pytest.mark.parametrize("budget", [2_500, 10_000, 60_000])
@pytest.mark.parametrize("make", [hostile.report, hostile.stopped])
def test_hostile_names_stay_text_and_hostile_sentences_are_not_shown(make, budget):
    text = render(value_of(make()) | {"gate": "wiki-search"}, budget)
    assert_only_ours(text)
    assert len(text.encode("utf-16-le")) // 2 <= budget
    assert not any(word in head_of(text) for word in ("octocat", "evil"))


def changed(*path, to):
    value = deepcopy(FAILED)
    place = value
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = to
    return value


@pytest.mark.parametrize("path, to, words", [
    (["schema"], 2, "not a report of schema 1"), (["schema"], True, "not a report of schema 1"),
    (["schema"], 1.0, "not a report of schema 1"),
    (["verdict"], "approved", "verdict must be one of pass"), (["verdict"], ["fail"], "verdict must be one of"),
    (["exit_code"], 0, "exit_code must be that of the verdict"), (["exit_code"], True, "exit_code must be a whole number"),
    (["gate"], 7, "gate must be text"), (["gate"], " ", "gate must be text"),
    (["problems"], "many", "problems must be a list"),
    (["metadata"], [], "metadata must be an object"),
    (["metadata", "head_sha"], "A" * 40, "metadata.head_sha must be a commit id"),
    (["metadata", "run_id"], "77", "metadata.run_id must be a whole number"),
    (["metadata", "run_id"], 10**400, "metadata.run_id must be a whole number"),
    (["metadata", "pull_request"], -1, "metadata.pull_request must be a whole number"),
    (["primary"], None, "primary must be an object"), (["primary", "metric"], "pwned@10", "primary.metric must be a metric"),
    (["primary", "metric"], "NDCG@10", "primary.metric must be a metric"), (["primary", "metric"], "rr", "holds the primary metric"),
    (["primary", "mde"], 11, "primary.mde must be a number from 0 to 10"),
    (["metrics"], [], "metrics must be an object"), (["metrics", "ndcg@10", "n"], -1, "n must be a whole number"),
    (["metrics", "ndcg@10", "n"], 60.0, "n must be a whole number"),
    (["metrics", "ndcg@10", "better"], 61, "better must be a whole number"),
    (["metrics", "ndcg@10", "better"], 55, "better + worse must be at most n"),
    (["metrics", "ndcg@10", "candidate"], 1.5, "candidate must be a number from 0 to 1"),
    (["metrics", "ndcg@10", "candidate"], None, "candidate must be a number"),
    (["metrics", "ndcg@10", "delta"], True, "delta must be a number"),
    (["metrics", "ndcg@10", "delta"], 0.3, "delta must be candidate − baseline"),
    (["metrics", "ndcg@10", "ci"], [0.1, -0.1], "ci must be in order"), (["metrics", "ndcg@10", "ci"], [0.1], "ci must be two numbers"),
    (["metrics", "ndcg@10", "ci"], [-2, 0], "ci must be a number from -1 to 1"),
    (["metrics", "ndcg@10", "p_value"], 1.1, "p_value must be"),
    (["tags", "exact-term"], 3, "must be an object"), (["tags", "exact-term", "metrics"], {}, "primary metric must be an object"),
    (["tags", " "], FAILED["tags"]["exact-term"], "of tags must be text"),
    (["checks"], {}, "checks must be a list"), (["checks"], [{"name": "x", "outcome": "green"}], "outcome must be one of"),
    (["checks"], [{"name": None, "outcome": "fail"}], "name must be text"),
    (["flips"], None, "flips must be an object"), (["flips", "lost"], None, "flips.lost must be a list"),
    (["flips", "lost"], [{}] * (MAX_FLIPS + 1), "flips.lost must be a list of at most"),
    (["flips", "lost", 0, "id"], {}, "id must be text"), (["flips", "lost", 0, "tags"], ["a"] * 101, "tags must be a list of at most 100"),
    (["flips", "lost", 0, "tags"], [1], "tags must be text"), (["flips", "lost", 0, "baseline_rank"], 0, "baseline_rank must be a whole"),
    (["flips", "lost", 0, "delta"], "−1", "delta must be a number"),
    (["latency", "baseline_p50"], -1, "latency.baseline_p50 must be a number"), (["latency"], 1, "latency must be an object")])
def test_every_place_takes_only_what_belongs_there(path, to, words):
    with pytest.raises(InvalidInput) as caught:
        read(changed(*path, to=to))
    assert words in caught.value.text() and caught.value.exit_code == 2


def test_faults_of_all_parts_are_told_together_and_never_more_than_can_be_read():
    value = changed("verdict", to="x") | {"latency": 1, "checks": 1} | {"flips": {"lost": [{}] * 5000, "gained": []}}
    with pytest.raises(InvalidInput) as caught:
        read(value)
    text = caught.value.text()
    assert "verdict" in text and "latency" in text and "checks" in text and "flips.lost, entry 1," in text
    assert len(caught.value.problems) == 20


@pytest.mark.parametrize("evil", HOSTILE[:12])
def test_a_message_never_repeats_what_it_found(evil):
    value = changed("metrics", evil, to={"n": evil}) | {"verdict": evil, "gate": [evil], "checks": [{"name": [evil], "outcome": evil}]}
    with pytest.raises(InvalidInput) as caught:
        read(value)
    told_places = caught.value.text().replace("`", "")
    assert len(evil) < 3 or evil not in told_places


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"null", b"\xff", b'{"schema": 1', b'{"a": Infinity}', b"[" * 10_000, b'"\\ud800"',
                                  b"1" * 5000, b" " * (MAX_BYTES + 1)])
def test_bytes_that_are_no_report_are_refused(data):
    with pytest.raises(InvalidInput):
        read_claims(data, "report.json")


def test_long_names_are_cut_when_they_are_read():
    claims = read(changed("flips", "lost", 0, "id", to="x" * 100_000))
    assert len(claims.lost[0].id) == LONGEST_TEXT


def test_keys_of_a_later_version_are_passed_over():
    value = changed("metrics", "ndcg@10", "hodges_lehmann", to="new") | {"reference": {"anything": [1]}}
    assert read(value) == read(FAILED)


def test_a_long_report_is_cut_to_whole_rows_and_says_how_many():
    row = FAILED["flips"]["lost"][0]
    value = changed("flips", "lost", to=[row | {"id": f"{n} " + "\U0001f600" * 80, "tags": ["|`" * 50] * 9} for n in range(3000)])
    text = render(value)
    page = assert_only_ours(text)
    assert "of 3,000." in text and len(text.encode("utf-16-le")) // 2 <= 60_000
    assert sum(table[0][0] == "query" for table in page.tables) >= 1


# -- anything at all ---------------------------------------------------------------------------------------------------

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20) | st.sampled_from(HOSTILE)
ANYTHING = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
                        max_leaves=8)


def places(value, path=()):
    """Every path into a JSON value, as far as the first entries of its lists."""
    yield path
    if isinstance(value, dict):
        for key, item in value.items():
            yield from places(item, (*path, key))
    elif isinstance(value, list):
        for n, item in enumerate(value[:2]):
            yield from places(item, (*path, n))


PLACES = [path for path in places(FAILED) if path]


def assert_refused_or_harmless(value):
    try:
        claims = read(value)
    except InvalidInput as refused:
        assert len(refused.problems) <= 20
        return
    text = render_claimed(claims, TOLD)
    assert_only_ours(text)
    assert "evil.example" not in head_of(text)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.tuples(st.sampled_from(PLACES), ANYTHING), min_size=1, max_size=3))
def test_a_report_changed_anywhere_into_anything_is_refused_or_harmless(changes):
    value = deepcopy(FAILED)
    for path, to in changes:
        place = value
        try:
            for key in path[:-1]:
                place = place[key]
            place[path[-1]] = to
        except (KeyError, IndexError, TypeError):
            continue  # an earlier change took the place away
    assert_refused_or_harmless(value)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.text(max_size=60) | st.sampled_from(HOSTILE), min_size=4, max_size=4), st.sampled_from(["accepted", "fail"]))
@example([HOSTILE[11]] * 4, "accepted")
def test_any_name_in_every_place_for_names_is_harmless(names, verdict):
    value = changed("flips", "lost", 0, "id", to=names[0]) | {"verdict": verdict, "exit_code": int(verdict == "fail")}
    value["flips"]["lost"][0]["tags"] = names[1:3]
    value["checks"].append({"name": names[3], "outcome": "fail"})
    value["tags"][names[2]] = value["tags"]["exact-term"]
    assert_refused_or_harmless(value)


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=200) | ANYTHING.map(lambda value: json.dumps(value).encode()))
def test_arbitrary_bytes_are_refused(data):
    with pytest.raises(InvalidInput):
        read_claims(data, "report.json")
