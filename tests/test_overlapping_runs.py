"""Two runs on main that overlap, with the baseline in artifacts: nothing approved is lost, and who judged by the older one says so."""

import pytest

from tests.story import run

HARM = {"run.jsonl": run(lost=30)}


def both(story, first, second):
    """Two pushes whose runs overlap: the second has looked for the baseline, then the whole first run happens, then it stores."""
    before = story.merge(first)
    middle, older = story.repo.tip, story.fake.run(story.repo, "push", by="maria")
    early = story.fake.push_event(story.repo, before=before)
    story.merge(second())
    outcomes = []
    story.fake.meanwhile("GET", r"/commits/\w+/pulls$", lambda: outcomes.append(story._run(older, early, middle)))
    outcomes.append(story.on_push(before=middle))
    return outcomes


def approved_loss(story, lost=30):
    pr = story.pull({"run.jsonl": run(lost=lost)})
    story.approve(pr)
    return pr


def baseline(story):
    """What a pull request is compared with now."""
    outcome = story.on_pull(story.pull({"README.md": str(story.runs)}), "opened")
    return outcome, outcome.report["baseline"]["provenance"]


@pytest.mark.parametrize("lost, code", [(1, 0), (30, 1)], ids=["the later run passes", "the later run is red"])
def test_an_approved_baseline_outlives_a_later_run_that_carried_the_older_one_and_that_run_says_so(started, lost, code):
    first, second = both(started, approved_loss(started, lost), lambda: started.pull({"a.txt": "x"}))
    assert [first.outputs["baseline-updated"], second.outputs["baseline-updated"]] == ["approved", "carried"]
    assert second.code == code and "While this run was under way" in second.summary and "(approved, artifact" in second.summary
    outcome, provenance = baseline(started)
    assert outcome.code == 0 and provenance.startswith("approved by maria")
    # A red run's artifact is no baseline anyway; a green one's is passed over, and that is said.
    assert ("at the same time" in str(outcome.report["notes"])) is (code == 0)
    assert started.on_schedule().outputs["baseline-updated"] == "carried"
    outcome, provenance = baseline(started)
    assert provenance.startswith("approved by maria") and not outcome.report["notes"]


def test_of_two_approved_runs_the_later_commit_is_the_baseline_and_it_says_what_it_was_compared_with(started):
    first, second = both(started, approved_loss(started), lambda: approved_loss(started, 60))
    assert [first.outputs["baseline-updated"], second.outputs["baseline-updated"]] == ["approved", "approved"]
    assert "While this run was under way" in second.summary and "While this run" not in first.summary
    outcome, _ = baseline(started)
    assert (outcome.code, outcome.outputs["baseline-sha"], outcome.outputs["lost"]) == (0, started.repo.tip, "0")


def test_two_runs_that_only_carry_have_nothing_to_say(started):
    first, second = both(started, started.pull({"a.txt": "x"}), lambda: started.pull({"b.txt": "x"}))
    assert not first.report["notes"] and not second.report["notes"]
    assert baseline(started)[1].startswith("bootstrapped")


def test_an_artifact_that_a_pull_request_uploads_meanwhile_is_no_news(started):
    pr = started.pull(HARM)
    data = started.baselines()[0].data
    forged = started.fake.run(started.repo, pr=pr)
    started.fake.meanwhile("GET", r"/commits/\w+/pulls$", lambda: started.fake.artifact(forged, "retrieval-gate-baseline-default", data))
    assert not started.merged(started.pull({"a.txt": "x"})).report["notes"]
