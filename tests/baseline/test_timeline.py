"""history.json: what is kept of the runs on main, and how it is written and read."""

import json
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate import jsonio
from gate.baseline.record import Record
from gate.baseline.timeline import (
    MAX_BYTES,
    MOST_BASELINES,
    MOST_BYTES,
    MOST_POINTS,
    MOST_TAGS,
    history_bytes,
    merged,
    read_history,
    with_baseline,
    with_point,
)
from gate.errors import InvalidInput
from gate.history import Point

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=400)
names = st.text(st.characters(exclude_categories=["Cs"]), max_size=100)
means = st.dictionaries(names, st.integers(0, 10**6).map(lambda n: n / 10**6), max_size=24)
times = st.datetimes().map(lambda moment: moment.isoformat(timespec="seconds") + "Z") | st.just("")
stored = st.builds(Point, created=times, commit=texts, baseline=st.booleans(), why=texts, digest=texts, metrics=means, tags=means,
                   snapshot=texts, golden=texts, primary=texts, splits=st.lists(names, max_size=8).map(tuple), verdict=texts, run=texts,
                   here=st.just(False))


def point(number, **more):
    day = (datetime(2026, 1, 1) + timedelta(days=number)).isoformat() + "Z"
    return Point(**({"created": day, "commit": f"c{number}", "baseline": False, "why": "", "digest": f"sha256:{number}",
                     "metrics": {"ndcg@10": round(0.5 + number / 10_000, 6)}, "tags": {}, "snapshot": "s", "golden": "g",
                     "primary": "ndcg@10", "splits": ("dev",), "verdict": "pass", "run": str(number)} | more))


def grown(numbers, **more):
    points = ()
    for number in numbers:
        points = with_point(points, point(number, **more))
    return points


def read(data, gate="docs"):
    return read_history(lambda: data, gate)


@given(st.lists(stored, max_size=4))
def test_what_is_written_is_read_again(points):
    assert read(history_bytes(points, "docs")) == tuple(points)


@given(st.recursive(st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=3),
                    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from([*Point._fields, "a"]), inner, max_size=3)),
       st.sampled_from(Point._fields))
def test_whatever_stands_in_a_point_it_is_read_as_one_or_refused(value, field):
    whole = {"schema": 1, "gate": "docs", "points": [{"created": "", "metrics": {}, "tags": {}} | {field: value}]}
    data = json.dumps(whole).encode()
    try:
        (found,) = read(data) or ()
    except InvalidInput:
        return
    assert read(history_bytes([found], "docs")) == (found,)


def test_a_line_is_a_point_so_that_git_stores_only_what_is_new():
    before, after = history_bytes(grown(range(5)), "docs"), history_bytes(grown(range(6)), "docs")
    assert after.startswith(before.removesuffix(b"\n]}\n")) and after.count(b"\n") == before.count(b"\n") + 1


def test_the_oldest_runs_go_first_and_baselines_stay_longer():
    points = grown(range(MOST_POINTS))
    points = with_point(points[:3], point(3, baseline=True, why="approved")) + points[4:]
    for number in range(MOST_POINTS, MOST_POINTS + 9):
        points = with_point(points, point(number))
    assert len(points) == MOST_POINTS + 1 and points[0].why == "approved" and points[-1].commit == f"c{MOST_POINTS + 8}"
    many = grown(range(MOST_POINTS + MOST_BASELINES + 50), baseline=True)
    assert len(many) == MOST_POINTS + MOST_BASELINES and many[-1].commit == f"c{len(many) + 49}"


def test_there_are_never_more_bytes_than_are_read_again():
    tags = {f"{'long ' * 15}{number}": 0.5 for number in range(MOST_TAGS + 20)}
    points = tuple(point(number, tags=tags, why="é" * 400, baseline=number % 4 == 0) for number in range(MOST_POINTS))
    data = history_bytes(points, "docs")
    kept = read(data)
    assert MOST_BYTES / 2 < len(data) <= MOST_BYTES + 100 < MAX_BYTES and kept[-1].commit == points[-1].commit
    assert sum(each.baseline for each in kept) == MOST_POINTS / 4 and len(kept[-1].tags) == MOST_TAGS


def test_a_run_that_is_started_again_has_one_point():
    points = grown(range(3))
    again = with_point(points, point(9, run="2", commit="c2"))
    assert [each.commit for each in again] == ["c0", "c1", "c2"] and again[-1].metrics == point(9).metrics


def test_another_run_of_a_commit_is_a_point_only_when_it_finds_something_else():
    points = grown(range(3))
    same = point(2, run="9", digest="sha256:9", created="2027-12-01T00:00:00Z", verdict="fail")
    assert [(each.created, each.verdict) for each in with_point(points, same)][2:] == [(points[2].created, "fail")]
    assert len(with_point(points, same._replace(metrics={"ndcg@10": 0.4}))) == 4
    became = with_point(points, same._replace(baseline=True, why="started by maria"))
    assert len(became) == 3 and became[-1].why == "started by maria"


def test_a_baseline_that_two_runs_at_once_would_have_lost_is_put_back():
    record = Record("docs", {}, "sha256:g", created="2026-01-02T12:00:00Z", commit="cafe")
    points = with_baseline(grown([0, 1, 2]), record, "sha256:base")
    assert [each.commit for each in points] == ["c0", "c1", "cafe", "c2"] and points[2].baseline and not points[2].metrics
    assert with_baseline(points, record, "sha256:base") == points


def test_what_another_run_stored_meanwhile_comes_before_what_this_one_adds():
    assert [each.commit for each in merged(grown([0, 1, 3]), grown([0, 1, 2]))] == ["c0", "c1", "c3", "c2"]


def test_what_could_not_be_read_again_is_not_written():
    odd = point(1, created="yesterday", metrics={"a": float("nan"), "b": 1.5, "c": 0.5}, tags={"x" * 101: 0.5, "": 0.25}, why="w" * 999)
    (found,) = read(history_bytes([odd], "docs"))
    assert (found.created, found.metrics, found.tags, found.why) == ("", {"c": 0.5}, {"": 0.25}, "w" * 400)


@pytest.mark.parametrize(("change", "words"), [
    ({"schema": 2}, "its schema is 2, this gate knows 1"), ({"schema": "1"}, "no schema number"),
    ({"gate": "wiki"}, "is not the history of the gate docs"),
    ({"points": [{"metrics": {}, "tags": {"a": -0.1}, "run": 7}]}, "point 1 has no usable run, tags")])
def test_a_fault_is_named(change, words):
    whole = {"schema": 1, "gate": "docs", "points": []} | change
    with pytest.raises(InvalidInput, match=words):
        read(jsonio.dumps(whole).encode())


def test_keys_of_a_later_version_are_passed_over():
    assert read(b'{"schema":1,"gate":"docs","points":[{"metrics":{"a":1},"tags":{},"moon":"full"}],"sun":1}')[0].metrics == {"a": 1.0}
    assert read(None) is None
