"""The history in report.html over the life of a repository: runs on main hand it on, every run draws it, and it decides nothing."""

import json
import re

import pytest

from gate.baseline.timeline import HISTORY_FILE, MAX_BYTES
from gate.github.archives import make_zip, read_zip
from tests.fake_github import GATE_PATH
from tests.story import CONFIG, Story, golden, run
from tests.story import lines as written

BRANCH = "retrieval-gate-baselines"
FILES = {"golden.jsonl": golden(), "run.jsonl": run(), GATE_PATH: "name: gate\n"}
STORES = {"artifact": CONFIG, "branch": CONFIG + "baseline: {store: branch}\n"}


@pytest.fixture(params=STORES)
def kept(request, fake, tmp_path, capsys):
    """A story whose first run on main has been, in either store."""
    story = Story(fake, tmp_path, capsys, FILES | {"retrieval-gate.yml": STORES[request.param]})
    story.store = request.param
    assert story.on_push().outputs["baseline-updated"] == "bootstrap"
    return story


def stored(story):
    """The newest history.json, as bytes."""
    if story.store == "branch":
        return story.repo.commit(story.repo.branches[BRANCH]).files["default/history.json"]
    return read_zip(story.baselines()[0].data, (HISTORY_FILE,))[HISTORY_FILE]


def points(story):
    return json.loads(stored(story))["points"]


def replace_stored(story, data):
    """What somebody could have made of it, or an older version of the gate (None), in the place that a run trusts."""
    if story.store == "branch":
        files = story.repo.commit(story.repo.branches[BRANCH]).files
        files.pop("default/history.json", None) if data is None else files.update({"default/history.json": data})
        return
    newest = story.baselines()[0]
    names = ["manifest.json", "record.json.gz", *(["latest.json.gz"] if b"latest.json.gz" in newest.data else [])]
    newest.data = make_zip(read_zip(newest.data, names) | ({} if data is None else {HISTORY_FILE: data}))
    newest.digest = None


def pushed(story, lost, name):
    """A change that is merged, and main's run on it."""
    story.fake.clock.advance(days=1)
    return story.merged(story.pull({"run.jsonl": run(lost=lost), name: "x"}))


def page(story):
    return (story.workspace / "retrieval-gate-report" / "report.html").read_text(encoding="utf-8")


def drawn(html):
    """Rows of the table of figures: (commit, what, primary metric)."""
    table = html.split('aria-label="Figures of the history"')[1].split("</table>")[0]
    return re.findall(r"<tr><td>[^<]*</td><td><code>(\w*)</code></td><td>([^<]*)</td><td class=\"num\">([^<]*)</td>", table)


def test_a_pull_request_sees_what_every_run_on_main_has_found_in_order_and_why_the_baseline_moved(kept):
    shas = [kept.repo.tip]
    for lost, name in ((1, "a"), (2, "b")):
        assert pushed(kept, lost, name).code == 0
        shas.append(kept.repo.tip)
    pr = kept.pull({"run.jsonl": run(lost=30)})
    kept.approve(pr, why="The <b>new</b> chunker is worth it.")
    assert kept.merged(pr).outputs["baseline-updated"] == "approved"
    shas.append(kept.repo.tip)
    assert kept.merged(kept.pull({"run.jsonl": run(lost=31)})).verdict == "pass"
    shas.append(kept.repo.tip)
    last = kept.pull({"run.jsonl": run(lost=33)})
    outcome = kept.on_pull(last, "opened")
    html = page(kept)
    rows = drawn(html)
    assert [row[0] for row in rows] == [*(sha[:12] for sha in shas), last.head_sha[:12]]
    assert [row[1].partition(",")[0] for row in rows] == ["baseline", "run", "run", "baseline", "run", "this run"]
    assert [row[2] for row in rows] == [f"{1 - lost / 300:.3f}" for lost in (0, 1, 2, 30, 31, 33)]
    assert 'href="#history"' in html and "5 runs of the default branch" in html and html.count('class="here"') >= 3
    assert "approved by maria in pull request" in html and "The &lt;b&gt;new&lt;/b&gt; chunker" in html and "<b>new" not in html
    assert set(re.findall(r"<strong><bdi>(even|odd)</bdi></strong>", html)) == {"even", "odd"}
    assert outcome.code == 0 and [note for note in outcome.report["notes"] if "history" in note] == []


def test_a_run_that_finds_what_the_baseline_finds_has_its_point_too(kept):
    for name in ("a", "b"):
        kept.merged(kept.pull({name: "x"}))
    assert [point["commit"] for point in points(kept)][-1] == kept.repo.tip and len(points(kept)) == 3
    kept.on_pull(kept.pull({"run.jsonl": run(lost=1)}), "opened")
    assert [row[2] for row in drawn(page(kept))] == ["1.000", "1.000", "1.000", "0.997"]


def test_a_night_that_finds_nothing_new_at_a_commit_adds_no_point(kept):
    kept.merged(kept.pull({"a": "x"}))
    before = points(kept)
    for _ in range(3):
        kept.on_schedule()
    assert points(kept) == before


def test_a_red_run_on_main_is_a_point_that_says_so(kept):
    pushed(kept, 30, "a")
    assert pushed(kept, 31, "b").code == 1
    assert [point["verdict"] for point in points(kept)] == ["no-baseline", "fail", "fail"]
    kept.on_pull(kept.pull({"c": "x"}), "opened")
    assert [row[1] for row in drawn(page(kept))][:3] == ["baseline", "run, came to «fail»", "run, came to «fail»"]


def test_an_old_push_that_is_run_again_changes_nothing_for_those_after_it(kept):
    gh, event, sha = kept.fake.run(kept.repo, "push", by="maria"), kept.fake.push_event(kept.repo), kept.repo.tip
    for lost, name in ((1, "a"), (2, "b")):
        pushed(kept, lost, name)
    before = points(kept)
    kept._run(gh, event, sha)
    kept.on_pull(kept.pull({"c": "x"}), "opened")
    assert [row[0] for row in drawn(page(kept))[:-1]] == [point["commit"][:12] for point in before]


def test_of_two_runs_at_once_both_have_their_point_where_the_second_can_see_the_first(fake, tmp_path, capsys):
    story = Story(fake, tmp_path, capsys, FILES | {"retrieval-gate.yml": STORES["branch"]})
    story.store = "branch"
    story.on_push()
    before = story.merge(story.pull({"run.jsonl": run(lost=1), "a": "x"}))
    gh, event, sha = story.fake.run(story.repo, "push", by="maria"), story.fake.push_event(story.repo, before=before), story.repo.tip
    after = story.merge(story.pull({"run.jsonl": run(lost=2), "b": "x"}))
    story.fake.meanwhile("POST", "/git/commits", lambda: story._run(gh, event, sha))
    story.on_push(before=after)
    assert [point["commit"] for point in points(story)] == [before, sha, story.repo.tip]


def test_of_two_approved_baselines_at_once_each_is_listed_once_with_its_reason(fake, tmp_path, capsys):
    story = Story(fake, tmp_path, capsys, FILES | {"retrieval-gate.yml": STORES["branch"]})
    story.store = "branch"
    story.on_push()

    def approved(lost, why):
        pr = story.pull({"run.jsonl": run(lost=lost)})
        story.approve(pr, why=why)
        return story.merge(pr)

    before = approved(30, "first reason")
    gh, event, sha = story.fake.run(story.repo, "push", by="maria"), story.fake.push_event(story.repo, before=before), story.repo.tip
    after = approved(60, "second reason")
    story.fake.meanwhile("POST", "/git/commits", lambda: story._run(gh, event, sha))
    assert story.on_push(before=after).outputs["baseline-updated"] == "approved"
    story.merged(story.pull({"a": "x"}))
    told = [(point["why"].rpartition(": ")[2], bool(point["metrics"])) for point in points(story) if point.get("baseline")]
    assert told[1:] == [("first reason", True), ("second reason", True)]


def test_where_an_older_version_kept_none_it_begins_with_the_baseline_and_nothing_is_said(kept):
    replace_stored(kept, None)
    outcome = kept.on_pull(kept.pull({"run.jsonl": run(lost=1)}), "opened")
    assert (outcome.code, outcome.report["notes"]) == (0, []) and 'id="history"' not in page(kept)
    kept.merged(kept.pull({"a": "x"}))
    first, second = points(kept)
    assert first["baseline"] and first["metrics"] == {} and second["commit"] == kept.repo.tip
    pushed(kept, 1, "b")
    kept.on_pull(kept.pull({"c": "x"}), "opened")
    html = page(kept)
    assert [row[2] for row in drawn(html)] == ["1.000", "0.997", "0.997"] and "bootstrapped by the first run" in html


def test_a_history_that_github_did_not_hand_over_in_time_is_not_begun_anew(fake, tmp_path, capsys):
    story = Story(fake, tmp_path, capsys, FILES | {"retrieval-gate.yml": STORES["branch"]})
    story.store = "branch"
    story.on_push()
    pushed(story, 1, "a")
    before = points(story)
    fake.fail_next("GET", "history.json", status=502, times=5)
    outcome = pushed(story, 2, "b")
    assert outcome.outputs["baseline-updated"] == "carried" and "is left out: " in outcome.report["notes"][0]
    assert points(story)[:-1] == before and points(story)[-1]["commit"] == story.repo.tip
    fake.fail_next("GET", "history.json", status=502, times=10)
    before = points(story)
    assert story.on_schedule().outputs["baseline-updated"] == "no" and points(story) == before


POINT = {"created": "2026-01-01T00:00:00Z", "metrics": {"ndcg@10": 0.5}, "tags": {}}
HOSTILE = {
    "no JSON": b"\xff{", "another thing": b"[1]", "another gate": {"gate": "other"}, "a later schema": {"schema": 2},
    "a number that is none": {"points": [POINT | {"metrics": {"ndcg@10": "1"}}]},
    "a mean above one": {"points": [POINT | {"tags": {"a": 7}}]},
    "a huge number": {"points": [POINT | {"metrics": {"ndcg@10": 10**400}}]}, "no time": {"points": [POINT | {"created": "soon"}]},
    "a time that is a list": {"points": [POINT | {"created": []}]}, "an endless reason": {"points": [POINT | {"why": "x" * 9_999}]},
    "points without end": {"points": [POINT] * 5_000}, "points that are none": {"points": [7]}, "bytes without end": b" " * (MAX_BYTES + 1)}


@pytest.mark.parametrize("what", HOSTILE)
def test_a_history_that_nobody_honest_wrote_costs_a_note_and_begins_anew(kept, what):
    pushed(kept, 1, "a")
    given = HOSTILE[what]
    whole = {"schema": 1, "gate": "default", "points": [POINT]}
    replace_stored(kept, given if isinstance(given, bytes) else json.dumps(whole | given).encode())
    outcome = kept.on_pull(kept.pull({"run.jsonl": run(lost=30)}), "opened")
    assert (outcome.code, outcome.verdict, outcome.outputs["lost"]) == (1, "fail", "30") and 'id="history"' not in page(kept)
    (note,) = outcome.report["notes"]
    assert "the history of" in note and "is left out: " in note
    assert pushed(kept, 2, "b").code == 0
    assert [point["commit"] for point in points(kept)][-1] == kept.repo.tip and len(points(kept)) == 2


def test_texts_of_a_history_are_shown_and_never_run(kept):
    pushed(kept, 1, "a")
    evil = "</title><script>alert(1)</script>\u202e"
    lies = {"why": evil, "commit": evil, "verdict": evil, "baseline": True}
    lines = [line | lies | {"digest": f"{evil}{n}", "tags": {evil: 0.5, "even": 0.1 * n}} for n, line in enumerate(points(kept))]
    replace_stored(kept, json.dumps({"schema": 1, "gate": "default", "points": lines, "more": {"from": "later"}}).encode())
    assert kept.on_pull(kept.pull({"run.jsonl": run(lost=2)}), "opened").code == 0
    html = page(kept)
    assert "&lt;/title&gt;" in html and "alert(1)</script" not in html
    assert "\u202e" not in html.split('id="history"')[1].split('id="data"')[0]


@pytest.mark.parametrize("store", STORES)
def test_runs_over_other_splits_are_no_points_of_one_line(fake, tmp_path, capsys, store):
    lines = [json.loads(line) for line in golden().splitlines()]
    for line in lines[::3]:
        line["split"] = "blind"
    config = STORES[store] + "tiers: {nightly: {splits: [dev, blind]}}\nsplits: [dev]\n"
    story = Story(fake, tmp_path, capsys, FILES | {"golden.jsonl": written(lines), "retrieval-gate.yml": config})
    story.store = store
    story.on_push()
    pushed(story, 1, "a")
    assert [story.on_schedule().outputs["baseline-updated"] for _ in range(3)][1:] == ["no" if store == "branch" else "carried"] * 2
    assert [point["splits"] for point in points(story)] == [["dev"], ["dev"], ["blind", "dev"]]
    story.on_pull(story.pull({"b": "x"}), "opened")
    assert len(drawn(page(story))) == 3 and "1 run over other splits is left out." in page(story)


def test_a_committed_baseline_has_no_history(fake, tmp_path, capsys):
    story = Story(fake, tmp_path, capsys, FILES | {"retrieval-gate.yml": CONFIG + "baseline: {store: file, path: base.json.gz}\n"})
    assert story.on_push().code == 3
    data = (story.workspace / "retrieval-gate-report" / "baseline.json.gz").read_bytes()
    story.fake.commit(story.repo, {"base.json.gz": data})
    for name in ("a", "b"):
        assert story.merged(story.pull({name: "x"})).code == 0
    outcome = story.on_pull(story.pull({"run.jsonl": run(lost=1)}), "opened")
    assert (outcome.code, outcome.report["notes"]) == (0, []) and 'id="history"' not in page(story)
