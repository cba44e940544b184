from __future__ import annotations

import pytest

from gate.github.comments import Marker, split_marker, upsert_comment
from gate.github.repository import Repository

HEAD, NEXT = "a" * 40, "b" * 40


@pytest.fixture
def pr(fake, repo):
    return fake.open_pr(repo, "ann", {"a": "1"})


@pytest.fixture
def upsert(fake, repo, pr, connect):
    def call(body="## pass", *, gate="default", head=HEAD, run=100, attempt=1, token=None, graphql=True):
        repository = Repository(connect(token), repo.full_name)
        url = f"{fake.url}/graphql" if graphql else ""
        return upsert_comment(repository, pr.number, gate, body, head, run, attempt, graphql_url=url)

    return call


def bodies(pr):
    return [split_marker(comment.body)[0] for comment in pr.comments]


def test_the_first_run_writes_a_comment_with_a_hidden_marker_as_its_last_line(pr, upsert):
    result = upsert()
    assert result.status == "created" and result.url.startswith("https://github.com/acme/search/pull/1#issuecomment-")
    (comment,) = pr.comments
    assert comment.body.splitlines()[0] == "## pass"
    assert comment.body.splitlines()[-1] == f"<!-- retrieval-gate:v1 gate=default head={HEAD} run=100 attempt=1 -->"


def test_the_next_run_edits_it_in_place(fake, pr, upsert):
    first = upsert("## fail")
    second = upsert("## pass", head=NEXT, run=101)
    assert second.status == "updated" and second.url == first.url
    assert bodies(pr) == ["## pass"] and "run=101" in pr.comments[0].body


def test_the_same_text_for_the_same_head_is_not_written_again(fake, pr, upsert):
    upsert()
    assert upsert(run=101).status == "unchanged"
    assert not fake.sent("PATCH")


def test_the_same_text_for_another_head_is_written_so_that_late_runs_see_it(pr, upsert):
    upsert()
    assert upsert(head=NEXT, run=101).status == "updated"
    assert upsert("## late", run=100, attempt=2).status == "skipped-newer"
    assert bodies(pr) == ["## pass"]


def test_a_marker_that_the_body_brings_along_is_replaced(pr, upsert):
    upsert(f"text\n\n{Marker('default', NEXT, 7, 7)}\n")
    assert pr.comments[0].body.count("<!--") == 1 and "run=100" in pr.comments[0].body


def test_two_gates_have_a_comment_each(pr, upsert):
    upsert("one")
    upsert("two", gate="default-two")
    assert bodies(pr) == ["one", "two"]


@pytest.mark.parametrize("noise", [0, 99, 100, 250])
def test_the_own_comment_is_found_behind_any_number_of_others(fake, pr, upsert, noise):
    for number in range(noise):
        fake.comment(pr, "ann", f"chat {number}")
    upsert("old")
    for number in range(30):
        fake.comment(pr, "ann", f"more {number}")
    assert upsert("new", run=101).status == "updated"
    assert len(pr.comments) == noise + 31


# -- who may be edited ----------


@pytest.mark.parametrize("who", ["stranger", "maria", "quoter[bot]"])
@pytest.mark.parametrize("graphql", [True, False])
def test_a_comment_of_somebody_else_with_the_marker_is_never_touched(fake, pr, upsert, who, graphql):
    copied = f"mine now\n\n{Marker('default', HEAD, 999, 9)}"
    fake.comment(pr, who, copied)
    assert upsert(graphql=graphql).status == "created"
    assert upsert("## fail", run=101, graphql=graphql).status == "updated"
    assert [comment.body for comment in pr.comments if comment.author.login == who] == [copied]


def test_a_marker_quoted_in_the_middle_of_a_comment_is_none(fake, pr, upsert):
    fake.comment(pr, "github-actions[bot]", f"> {Marker('default', HEAD, 1, 1)}\nthat was the marker")
    assert upsert().status == "created"
    assert len(pr.comments) == 2


def test_an_app_edits_its_own_comment_and_leaves_that_of_the_job_token(fake, pr, upsert):
    fake.token("app", "our-gate[bot]", app="our-gate")
    upsert("by the job")
    assert upsert("by the app", token="app").status == "created"
    assert upsert("by the app again", run=101, token="app").status == "updated"
    assert bodies(pr) == ["by the job", "by the app again"]


def test_a_persons_token_edits_that_persons_comment(fake, pr, upsert):
    fake.token("pat", "maria")
    upsert("one", token="pat")
    assert upsert("two", run=101, token="pat").status == "updated"
    assert bodies(pr) == ["two"]


def test_without_graphql_an_app_finds_its_older_comment_through_its_new_one(fake, pr, upsert):
    fake.token("app", "our-gate[bot]", app="our-gate")
    upsert("one", token="app", graphql=False)
    assert upsert("two", run=101, token="app", graphql=False).status == "updated"
    assert bodies(pr) == ["two"]


# -- late and parallel runs ----------


@pytest.mark.parametrize(
    ("there", "late", "outdated"),
    [
        ((NEXT, 101, 1), (HEAD, 100, 1), True),
        ((NEXT, 101, 1), (HEAD, 100, 2), True),  # somebody re-ran the run of an old head
        ((HEAD, 100, 2), (HEAD, 100, 1), True),
        ((HEAD, 101, 1), (HEAD, 100, 1), True),
        ((HEAD, 101, 1), (HEAD, 100, 2), False),  # re-run after the approval: as good as a later run
        ((HEAD, 100, 2), (HEAD, 101, 1), False),
        ((HEAD, 100, 1), (HEAD, 100, 1), False),
        ((HEAD, 100, 1), (NEXT, 101, 1), False),
    ],
)
def test_an_older_run_does_not_overwrite_a_newer_one(pr, upsert, there, late, outdated):
    for index, (head, run, attempt) in enumerate((there, late)):
        result = upsert(f"text {index}", head=head, run=run, attempt=attempt)
    assert result.status == ("skipped-newer" if outdated else "updated")
    assert bodies(pr) == ["text 0" if outdated else "text 1"]


def meanwhile(method, action):
    """A session that lets something happen right before the first request of that method goes out."""
    import requests

    class Session(requests.Session):
        happened = False

        def request(self, verb, url, **options):
            if verb == method and not self.happened:
                self.happened = True
                action()
            return super().request(verb, url, **options)

    return Session()


@pytest.mark.parametrize(("run", "status", "text"), [(99, "updated", "ours"), (101, "skipped-newer", "rival")])
def test_of_two_runs_that_both_wrote_a_first_comment_one_comment_with_the_newer_text_stays(
    fake, repo, pr, connect, run, status, text
):
    rival = f"rival\n\n{Marker('default', NEXT, run, 1)}"
    session = meanwhile("POST", lambda: fake.comment(pr, "github-actions[bot]", rival))
    repository = Repository(connect(session=session), repo.full_name)
    result = upsert_comment(repository, pr.number, "default", "ours", HEAD, 100, 1)
    assert result.status == status and bodies(pr) == [text]


def test_duplicates_from_before_are_removed(fake, pr, upsert):
    for run in (1, 2, 3):
        fake.comment(pr, "github-actions[bot]", f"old\n\n{Marker('default', HEAD, run, 1)}")
    assert upsert("new").status == "updated"
    assert bodies(pr) == ["new"]


def test_a_comment_deleted_by_somebody_in_between_is_written_anew(fake, repo, pr, connect, upsert):
    upsert("one")
    session = meanwhile("PATCH", lambda: fake.delete_comment(pr.comments[0]))
    repository = Repository(connect(session=session), repo.full_name)
    assert upsert_comment(repository, pr.number, "default", "two", HEAD, 101, 1).status == "created"
    assert bodies(pr) == ["two"]


def test_a_comment_whose_answer_was_lost_is_not_written_twice(fake, pr, upsert):
    fake.fail_next("POST", "/comments", 502, after_effect=True)
    assert upsert().status == "created"
    assert len(pr.comments) == 1


def test_a_comment_that_was_lost_on_its_way_is_written_again(fake, pr, upsert, naps):
    fake.fail_next("POST", "/comments", 502)
    assert upsert().status == "created"
    assert len(pr.comments) == 1 and naps == [2]


# -- nothing here changes a verdict ----------


def test_a_read_only_token_is_forbidden(fake, upsert):
    fake.token("fork", read_only=True)
    result = upsert(token="fork")
    assert (result.status, result.url) == ("forbidden", "") and "not accessible" in result.detail


def test_a_locked_conversation_is_told_apart_from_a_missing_permission(fake, pr, upsert):
    fake.token("bot", "helper", permissions={"pull-requests": "write"})
    fake.lock(pr, "maria")
    assert upsert(token="bot").status == "locked"


def test_disabled_issues_are_told(repo, upsert):
    repo.has_issues = False
    assert upsert().status == "disabled"


def test_a_body_that_is_too_long_is_told(upsert):
    assert upsert("x" * 70_000).status == "too-long"


@pytest.mark.parametrize(
    "fault", [{"status": 500}, {"drop": True}, {"status": 401}, {"status": 422}, {"status": 200, "body": "[1]"}]
)
def test_whatever_else_happens_is_a_failure_that_is_returned_not_raised(fake, upsert, fault):
    fake.fail_next("GET", "/comments", times=5, **fault)
    result = upsert()
    fake.faults.clear()
    assert result.status == "failed" and result.detail


def test_markers_survive_what_github_does_to_line_ends():
    marker = Marker("default", HEAD, 100, 1)
    assert split_marker(f"a\r\nb\r\n\r\n{marker}\r\n") == ("a\nb", marker)
    unknown = "<!-- retrieval-gate:v1 gate=default head=none run=none attempt=1 -->"
    assert split_marker(f"a\n{unknown}") == ("a", Marker("default", "", 0, 1))
    assert split_marker("no marker\n") == ("no marker", None)
    assert split_marker(f"{marker}") == ("", marker)


# -- speaking for another run ----------


@pytest.fixture
def speak(fake, repo, pr, connect):
    def call(body, *, run=100, attempt=1):
        repository = Repository(connect(), repo.full_name)
        return upsert_comment(repository, pr.number, "default", body, HEAD, run, attempt, graphql_url=f"{fake.url}/graphql", yields=True)

    return call


def test_who_speaks_for_a_run_leaves_what_that_run_wrote_itself(fake, pr, upsert, speak):
    upsert("## all that the run knows")
    assert speak("## less").status == "skipped-newer"
    assert bodies(pr) == ["## all that the run knows"] and not fake.sent("PATCH")


def test_who_speaks_for_a_run_replaces_what_earlier_runs_and_attempts_wrote(pr, upsert, speak):
    upsert("## old")
    assert speak("## again", attempt=2).status == "updated"
    assert speak("## new", run=101).status == "updated"
    assert bodies(pr) == ["## new"]
