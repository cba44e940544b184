"""The example's workflow, unmodified, run by nektos/act with real containers, its own artifact server and the fake GitHub."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import pytest

from gate.baseline.manifest import unpack_artifact
from tests.conftest import ROOT
from tests.e2e.stories import WORKFLOW, ActStory, change, example_files, need_engine
from tests.fake_github import FakeGitHub

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(1500)]


@pytest.fixture
def story(tmp_path, capsys):
    need_engine()
    with FakeGitHub(bind="0.0.0.0", start=datetime.now(UTC)) as fake:
        yield ActStory(fake, tmp_path, capsys, example_files())
        fake.assert_clean()


def newest(story):
    manifest, record, _ = unpack_artifact(story.baselines()[0].data, "newest")
    return manifest, record


def test_the_whole_road_from_the_first_push_to_an_approved_baseline(story):
    # (a) the first push makes the baseline
    first = story.on_push()
    assert (first.code, first.outputs["baseline-updated"]) == (0, "bootstrap"), first.log
    original = newest(story)[1]

    # (b) a harmful pull request is red, with one comment that names the lost queries; pushed again, the comment is edited
    harmful = story.pull(change("harmful"))
    red = story.on_pull(harmful, "opened")
    assert (red.code, red.verdict, red.outputs["comment-status"]) == (1, "fail", "created"), red.log
    lost = [flip["id"] for flip in red.report["flips"]["lost"]]
    (comment,) = story.comments(harmful)
    assert len(lost) == 19 and all(f"`{query}`" in comment for query in lost)
    story.fake.push(harmful, change("tempting"))
    again = story.on_pull(harmful)
    assert (again.code, again.outputs["comment-status"]) == (1, "updated"), again.log
    (comment,) = story.comments(harmful)
    assert "exact-term" in comment and "average hides it" in comment

    # (c) a harmless one passes
    harmless = story.pull(change("harmless"))
    green = story.on_pull(harmless, "opened")
    assert (green.code, green.verdict) == (0, "pass"), green.log

    # (d) merged without a label: carried, not changed
    carried = story.merged(harmless)
    assert (carried.code, carried.outputs["baseline-updated"]) == (0, "carried"), carried.log
    manifest, record = newest(story)
    assert manifest.state == "carried" and record.digest == original.digest

    # (e) label by the author; then a review of an older head: not accepted, and the comment says which condition failed
    story.fake.label(harmful, "baseline-update", by="ada")
    refused = story.on_pull(harmful, "labeled", label="baseline-update", sender="ada")
    assert (refused.code, refused.verdict) == (1, "fail")
    assert "the author of this pull request" in story.comments(harmful)[0] and "nobody has approved" in story.comments(harmful)[0]
    story.fake.unlabel(harmful, "baseline-update", by="ada")
    story.approve(harmful, why="Support asked for this; codes are searched elsewhere.")
    story.fake.push(harmful, {"notes.txt": b"one more commit"})
    stale = story.on_pull(harmful)
    assert (stale.code, stale.verdict) == (1, "fail") and "stale" in story.comments(harmful)[0]

    # (f) approved properly: green with name and reason; the merge overwrites the baseline, the next one compares with it
    story.fake.approve(harmful, "maria", body="Support asked for this; codes are searched elsewhere.")
    accepted = story.on_pull(harmful, "labeled", label="baseline-update", sender="maria")
    assert (accepted.code, accepted.verdict) == (0, "accepted"), accepted.log
    (comment,) = story.comments(harmful)
    assert "maria" in comment and "Support asked for this" in comment
    merged = story.merged(harmful)
    assert (merged.code, merged.outputs["baseline-updated"]) == (0, "approved"), merged.log
    manifest, record = newest(story)
    assert manifest.state == "approved" and record.parent == original.digest and record.commit == story.repo.tip
    assert (record.provenance.approver, record.provenance.pull_request) == ("maria", harmful.number)
    after = story.on_pull(story.pull({"notes.txt": b"nothing"}), "opened")
    assert (after.code, after.verdict, after.outputs["baseline-sha"]) == (0, "pass", story.repo.tip), after.log


def test_the_workflow_shown_in_the_readme_is_the_one_that_is_tested():
    def steps(text: str) -> list[str]:
        return [re.sub(r"\s*#.*", "", line).rstrip() for line in text.splitlines() if re.sub(r"#.*", "", line).strip()]

    shown = re.search(r"```yaml\nname: retrieval-gate\n.*?```", (ROOT / "README.md").read_text(), re.DOTALL)
    tested = steps((ROOT / "examples" / WORKFLOW).read_text())
    assert shown and set(steps(shown[0].strip("`").removeprefix("yaml\n"))) <= set(tested)
