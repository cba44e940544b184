"""The fake GitHub is believed by many tests, so other people's clients have to believe it first."""

import base64
import hashlib
import json
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from pathlib import Path
from urllib.parse import quote, urlsplit

import github as pygithub
import pytest
import requests
from githubkit import GitHub
from githubkit.exception import RequestFailed

from tests.fake_github import ZERO_SHA, FakeGitHub, openapi, zip_bytes
from tests.fake_github.routes import ROUTES

ROOT = Path(__file__).parent.parent
OWNER_REPO = ("acme", "search")


@pytest.fixture
def fake():
    with FakeGitHub() as server:
        yield server


@pytest.fixture
def repo(fake):
    made = fake.add_repo("acme/search", {"README.md": "# search\n", "src/rank.py": "K = 1\n"})
    fake.grant(made, "mona", "maintain")
    fake.grant(made, "ada", "write")
    fake.grant(made, "tess", "triage")
    return made


@pytest.fixture
def pr(fake, repo):
    return fake.open_pr(repo, "ada", {"src/rank.py": "K = 2\n"})


def connect(fake, token):
    return GitHub(token, base_url=f"{fake.url}/", auto_retry=False, http_cache=False)


def classic(fake, token):
    """PyGithub, without the pause that it makes between two writes."""
    auth = pygithub.Auth.Token(token)
    return pygithub.Github(auth=auth, base_url=fake.url, retry=None, seconds_between_writes=0)


@pytest.fixture
def client(fake):
    """Generated from GitHub's description, it parses every answer into a model."""
    return connect(fake, fake.job_token)


def api(fake, path, method="GET", token=None, **more):
    headers = {"Authorization": f"Bearer {token or fake.job_token}", **more.pop("headers", {})}
    return requests.request(method, fake.url + path, headers=headers, timeout=20, **more)


class TestPullRequests:
    def test_a_typed_client_reads_repository_pull_request_files_and_commits(self, fake, client, repo, pr):
        assert client.rest.repos.get(*OWNER_REPO).parsed_data.id == repo.id
        shown = client.rest.pulls.get(*OWNER_REPO, pr.number).parsed_data
        assert (shown.head.sha, shown.base.sha, shown.merged, shown.commits) == (pr.head_sha, repo.tip, False, 1)
        files = client.rest.pulls.list_files(*OWNER_REPO, pr.number).parsed_data
        assert [(f.filename, f.status, f.additions, f.deletions) for f in files] == [("src/rank.py", "modified", 1, 1)]
        assert [c.sha for c in client.rest.pulls.list_commits(*OWNER_REPO, 1).parsed_data] == [pr.head_sha]
        fake.assert_clean()

    def test_a_push_moves_the_head_and_a_force_push_leaves_an_event(self, fake, client, repo, pr):
        first = pr.head_sha
        second = fake.push(pr, {"src/rank.py": "K = 3\n"}).sha
        assert (pr.head_sha, repo.commit(second).parents) == (second, (first,))
        fake.force_push(pr, first)
        events = client.rest.issues.list_events(*OWNER_REPO, pr.number).json()
        assert [(e["event"], e["commit_id"]) for e in events] == [("head_ref_force_pushed", first)]
        kinds = [e["activity_type"] for e in api(fake, "/repos/acme/search/activity?ref=feature").json()]
        assert kinds == ["force_push", "push", "branch_creation"]
        fake.assert_clean()

    def test_the_fork_of_a_pull_request_has_its_own_id_until_it_is_deleted(self, fake, client, repo):
        fork = fake.fork(repo, by="eve")
        pr = fake.open_pr(repo, "eve", {"x": "1"}, branch="main", head_repo=fork)
        shown = client.rest.pulls.list(*OWNER_REPO, head="eve:main", state="open").parsed_data
        assert [(p.number, p.head.repo.id, p.head.repo.fork, p.base.repo.id) for p in shown] == [
            (pr.number, fork.id, True, repo.id)
        ]
        fake.delete_repo(fork)
        assert api(fake, f"/repos/acme/search/pulls/{pr.number}").json()["head"]["repo"] is None
        fake.assert_clean()

    @pytest.mark.parametrize("method", ["merge", "squash", "rebase"])
    def test_each_merge_method_leaves_its_own_history(self, fake, client, repo, pr, method):
        fake.push(pr, {"docs.md": "two\n"})
        base, own = repo.tip, fake.pr_commits(pr)
        fake.commit(repo, {"other.txt": "moved on"}, by="mona")
        landed = fake.merge(pr, by="mona", method=method)
        shown = client.rest.pulls.get(*OWNER_REPO, pr.number).parsed_data
        assert (shown.merged, shown.state, shown.merged_by.login) == (True, "closed", "mona")
        assert api(fake, "/repos/acme/search/pulls/1").json()["merge_commit_sha"] == landed == repo.tip
        assert repo.commit(landed).files.keys() == {"README.md", "src/rank.py", "docs.md", "other.txt"}
        span = api(fake, f"/repos/acme/search/compare/{base}...main").json()
        expected = {"merge": 1 + len(own) + 1, "squash": 2, "rebase": 1 + len(own)}
        assert (span["status"], span["ahead_by"]) == ("ahead", expected[method])
        assert [p.number for p in self.pulls_of(client, landed)] == [pr.number]
        fake.assert_clean()

    def test_an_open_pull_request_shows_its_test_merge_but_not_to_the_newer_api(self, fake, repo, pr):
        shown = api(fake, "/repos/acme/search/pulls/1")
        assert repo.commit(shown.json()["merge_commit_sha"]).parents == (repo.tip, pr.head_sha)
        assert shown.headers["X-GitHub-Api-Version-Selected"] == "2022-11-28"
        newer = api(fake, "/repos/acme/search/pulls/1", headers={"X-GitHub-Api-Version": "2026-03-10"})
        assert "merge_commit_sha" not in newer.json()
        assert api(fake, "/rate_limit", headers={"X-GitHub-Api-Version": "2020-01-01"}).status_code == 400

    @staticmethod
    def pulls_of(client, sha):
        return client.rest.repos.list_pull_requests_associated_with_commit(*OWNER_REPO, sha).parsed_data

    def test_a_commits_pull_requests_lag_and_never_name_a_forks_head(self, fake, client, repo, pr):
        forked = fake.open_pr(repo, "eve", {"x": "1"}, head_repo=fake.fork(repo, by="eve"))
        assert self.pulls_of(client, forked.head_sha) == []
        assert [p.number for p in self.pulls_of(client, pr.head_sha)] == [pr.number]
        landed = fake.merge(forked, by="mona")
        fake.association_lag = 2
        assert [len(self.pulls_of(client, landed)) for _ in range(4)] == [0, 0, 1, 1]

    def test_a_merge_group_lands_as_the_very_commit_it_was_tested_as(self, fake, repo, pr):
        other = fake.open_pr(repo, "ada", {"y": "1"}, branch="second")
        first = fake.queue(pr)
        second = fake.queue(other, behind=first)
        assert second.base_sha == first.head_sha and second.head_ref.endswith(
            f"/main/pr-{other.number}-{first.head_sha}"
        )
        fake.land(first)
        assert fake.land(second) == repo.tip == second.head_sha == other.merge_commit_sha
        assert pr.merged_at < other.merged_at

    def test_compare_answers_all_four_states(self, fake, client, repo, pr):
        base = repo.tip
        compared = client.rest.repos.compare_commits
        fake.commit(repo, {"z": "1"})
        for span, status in {
            f"{base}...main": "ahead",
            f"main...{base}": "behind",
            "main...main": "identical",
            "main...feature": "diverged",
        }.items():
            assert compared(*OWNER_REPO, span).parsed_data.status == status
        assert compared(*OWNER_REPO, "main...feature").parsed_data.merge_base_commit.sha == base
        assert api(fake, f"/repos/acme/search/compare/{'0' * 40}...main").status_code == 404


class TestLabelsReviewsPermissions:
    def test_label_events_carry_actor_and_server_time(self, fake, client, repo, pr):
        fake.label(pr, "baseline-update", by="tess")
        fake.clock.advance(minutes=5)
        fake.unlabel(pr, "baseline-update", by="ada")
        client.rest.issues.add_labels(*OWNER_REPO, pr.number, labels=["baseline-update"])
        events = client.rest.issues.list_events(*OWNER_REPO, pr.number).parsed_data
        assert [(e.event, e.actor.login) for e in events] == [
            ("labeled", "tess"),
            ("unlabeled", "ada"),
            ("labeled", "github-actions[bot]"),
        ]
        times = [datetime.fromisoformat(e.created_at) for e in events]
        assert times[1] - times[0] == timedelta(minutes=5, seconds=1)
        assert events[2].performed_via_github_app.slug == "github-actions"
        names = [label.name for label in client.rest.issues.list_labels_on_issue(*OWNER_REPO, 1).parsed_data]
        assert names == ["baseline-update"]

    def test_the_timeline_mixes_events_reviews_comments_and_commits_without_time(self, fake, client, repo, pr):
        fake.label(pr, "x", by="mona")
        fake.approve(pr, by="mona")
        fake.comment(pr, "ada", "thanks")
        fake.push(pr, {"a": "b"})
        shown = client.rest.issues.list_events_for_timeline(*OWNER_REPO, pr.number).json()
        assert [e["event"] for e in shown] == ["committed", "labeled", "reviewed", "commented", "committed"]
        assert "created_at" not in shown[0] and "actor" not in shown[0]
        fake.assert_clean()

    def test_a_review_keeps_the_commit_it_was_given_on(self, fake, client, repo, pr):
        review = fake.approve(pr, by="mona", body="new analyser, expected")
        approved_on = pr.head_sha
        fake.push(pr, {"src/rank.py": "K = 9\n"})
        fake.dismiss(review, by="ada", message="stale")
        shown = client.rest.pulls.list_reviews(*OWNER_REPO, pr.number).parsed_data
        assert [(r.state, r.commit_id, r.user.login) for r in shown] == [("DISMISSED", approved_on, "mona")]
        assert pr.head_sha != approved_on

    def test_authors_cannot_approve_their_own_pull_request(self, fake, repo, pr):
        fake.token("of-ada", "ada")
        pull = classic(fake, "of-ada").get_repo("acme/search").get_pull(pr.number)
        with pytest.raises(pygithub.GithubException) as refused:
            pull.create_review(event="APPROVE")
        assert refused.value.status == 422
        assert pull.create_review(event="COMMENT", body="hm").state == "COMMENTED"
        assert [(r.user.login, r.commit_id) for r in pull.get_reviews()] == [("ada", pr.head_sha)]

    @pytest.mark.parametrize(
        ("login", "legacy", "role"),
        [
            ("mona", "write", "maintain"),
            ("ada", "write", "write"),
            ("tess", "read", "triage"),
            ("eve", "read", "read"),
            ("rosa", "write", "release-captain"),
        ],
    )
    def test_the_old_permission_field_folds_six_roles_into_four(self, fake, client, repo, login, legacy, role):
        fake.user("eve")
        fake.grant(repo, "rosa", "write", role_name="release-captain")
        shown = client.rest.repos.get_collaborator_permission_level(*OWNER_REPO, login).parsed_data
        assert (shown.permission, shown.role_name) == (legacy, role)

    def test_the_permission_of_an_unknown_user_is_404(self, fake, repo):
        assert api(fake, "/repos/acme/search/collaborators/nobody/permission").status_code == 404


class TestComments:
    def test_two_clients_see_each_others_comments(self, fake, client, repo, pr):
        made = client.rest.issues.create_comment(*OWNER_REPO, pr.number, body="one").parsed_data
        assert (made.user.login, made.user.id, made.user.type) == ("github-actions[bot]", 41898282, "Bot")
        comments = list(classic(fake, fake.job_token).get_repo("acme/search").get_issue(pr.number).get_comments())
        assert [c.body for c in comments] == ["one"]
        fake.clock.advance(30)
        comments[0].edit("two")
        assert pr.comments[0].body == "two" and pr.comments[0].updated_at > pr.comments[0].created_at
        comments[0].delete()
        assert pr.comments == []
        fake.assert_clean()

    def test_a_body_over_the_limit_is_the_known_422(self, fake, repo, pr):
        path = "/repos/acme/search/issues/1/comments"
        assert api(fake, path, "POST", json={"body": "é" * 65536}).status_code == 201
        refused = api(fake, path, "POST", json={"body": "é" * 65537})
        assert refused.status_code == 422
        assert refused.json()["errors"] == [
            {
                "resource": "IssueComment",
                "code": "unprocessable",
                "field": "data",
                "message": "Body is too long (maximum is 65536 characters)",
            }
        ]

    def test_pages_beyond_one_hundred_follow_links_that_leave_the_repositorys_name(self, fake, client, repo, pr):
        for number in range(205):
            fake.comment(pr, "ada", f"c{number}")
        url, seen, sizes = f"{fake.url}/repos/acme/search/issues/1/comments?per_page=500", [], []
        while url:
            answer = requests.get(url, headers={"Authorization": f"token {fake.job_token}"}, timeout=20)
            sizes.append(len(answer.json()))
            seen += [c["body"] for c in answer.json()]
            url = answer.links.get("next", {}).get("url")
            assert url is None or f"/repositories/{repo.id}/issues/1/comments" in url
        assert (sizes, seen) == ([100, 100, 5], [f"c{number}" for number in range(205)])
        assert len(api(fake, "/repos/acme/search/issues/1/comments").json()) == 30
        pages = client.rest.paginate(client.rest.issues.list_comments, owner="acme", repo="search", issue_number=1)
        assert sum(1 for _ in pages) == 205
        fake.assert_clean()

    def test_comments_of_racing_clients_all_arrive(self, fake, repo, pr):
        def post(number):
            return api(fake, "/repos/acme/search/issues/1/comments", "POST", json={"body": str(number)}).json()["id"]

        with ThreadPoolExecutor(16) as pool:
            ids = list(pool.map(post, range(40)))
        assert len(set(ids)) == 40
        assert sorted(int(comment.body) for comment in pr.comments) == list(range(40))

    def test_locked_and_disabled_conversations_refuse_comments_each_in_its_way(self, fake, repo, pr):
        path = "/repos/acme/search/issues/1/comments"
        fake.lock(pr, by="mona")
        locked = api(fake, path, "POST", json={"body": "x"})
        assert (locked.status_code, "locked" in locked.json()["message"]) == (403, True)
        repo.has_issues = False
        assert api(fake, path, "POST", json={"body": "x"}).status_code == 410

    def test_a_comment_can_be_folded_away(self, fake, repo, pr):
        comment = fake.comment(pr, "ada", "old")
        node = api(fake, f"/repos/acme/search/issues/comments/{comment.id}").json()["node_id"]
        query = (
            "mutation($id: ID!) { minimizeComment(input: {subjectId: $id, classifier: OUTDATED}) { clientMutationId } }"
        )
        api(fake, "/graphql", "POST", json={"query": query, "variables": {"id": node}})
        assert api(fake, f"/repos/acme/search/issues/comments/{comment.id}").json()["minimized"] == {
            "reason": "outdated"
        }


class TestTokens:
    def test_a_read_only_token_gets_the_403_of_a_forks_run(self, fake, repo, pr):
        fake.token("ghs_fork", read_only=True)
        reader = connect(fake, "ghs_fork")
        with pytest.raises(RequestFailed) as refused:
            reader.rest.issues.create_comment(*OWNER_REPO, pr.number, body="x")
        answer = refused.value.response
        assert (answer.status_code, answer.json()["message"]) == (403, "Resource not accessible by integration")
        assert answer.headers["x-accepted-github-permissions"] == "issues=write; pull_requests=write"
        assert api(fake, "/repos/acme/search/actions/artifacts", token="ghs_fork").status_code == 200

    def test_listed_permissions_take_away_the_rest_but_metadata(self, fake, repo, pr):
        fake.token("ghs_few", permissions={"pull-requests": "write"})
        statuses = {
            path: api(fake, f"/repos/acme/search{path}", token="ghs_few").status_code
            for path in ("/pulls/1", "/actions/runs", "/contents/README.md", "/collaborators/ada/permission", "")
        }
        assert list(statuses.values()) == [200, 403, 403, 200, 200]

    def test_unknown_tokens_private_repositories_and_the_users_own_name(self, fake, repo):
        fake.add_repo("acme/secret", private=True)
        fake.token("ghs_other", repo=repo)
        assert api(fake, "/repos/acme/search", token="wrong").status_code == 401
        assert api(fake, "/repos/acme/secret", token="ghs_other").status_code == 404
        assert requests.get(f"{fake.url}/repos/acme/secret", timeout=20).status_code == 404
        assert requests.get(f"{fake.url}/repos/acme/search/pulls", timeout=20).status_code == 200
        assert api(fake, "/user").status_code == 403
        asked = api(fake, "/graphql", "POST", json={"query": "{ viewer { login } }"}).json()
        assert asked == {"data": {"viewer": {"login": "github-actions[bot]"}}}

    def test_credentials_never_reach_the_log(self, fake, repo):
        run = fake.run(repo)
        artifact = fake.artifact(run, "a", b"x")
        url = api(fake, f"/repos/acme/search/actions/artifacts/{artifact.id}/zip", allow_redirects=False).headers[
            "Location"
        ]
        requests.get(url, timeout=20)
        text = repr(fake.requests)
        assert fake.job_token not in text and url.split("sig=")[1] not in text and "sp" in fake.requests[-1].query


class TestRunsAndArtifacts:
    def test_a_forks_main_looks_like_ours_until_the_repository_ids_are_compared(self, fake, client, repo):
        fork = fake.fork(repo, by="eve")
        pr = fake.open_pr(repo, "eve", {"x": "1"}, branch="main", head_repo=fork)
        fake.artifact(fake.run(repo), "baseline", {"m.json": "{}"})
        fake.artifact(fake.run(repo, pr=pr), "baseline", {"m.json": "{}"})
        fake.artifact(fake.run(repo), "other", b"")
        shown = client.rest.actions.list_artifacts_for_repo(*OWNER_REPO, name="baseline").parsed_data
        ids = [(a.workflow_run.head_branch, a.workflow_run.head_repository_id == repo.id) for a in shown.artifacts]
        assert (shown.total_count, ids) == (2, [("main", False), ("main", True)])
        run = client.rest.actions.get_workflow_run(*OWNER_REPO, shown.artifacts[0].workflow_run.id).parsed_data
        assert (run.event, run.head_repository.fork, run.pull_requests) == ("pull_request", True, [])
        fake.assert_clean()

    def test_runs_are_filtered_and_jobs_belong_to_the_latest_attempt(self, fake, client, repo, pr):
        main = fake.run(repo, jobs={"gate": "success", "lint": "failure"}, conclusion="failure")
        fake.run(repo, pr=pr, status="in_progress")
        fake.run(repo, "schedule", path=".github/workflows/nightly.yml@refs/heads/main")
        rest = client.rest.actions
        found = rest.list_workflow_runs_for_repo(*OWNER_REPO, branch="main", event="push").parsed_data
        assert [run.id for run in found.workflow_runs] == [main.id]
        by_file = rest.list_workflow_runs(*OWNER_REPO, "gate.yml").parsed_data
        assert by_file.total_count == 2
        fake.rerun(main, by="mona")
        jobs = rest.list_jobs_for_workflow_run(*OWNER_REPO, main.id).parsed_data.jobs
        assert [(job.name, job.run_attempt, job.status) for job in jobs] == [
            ("gate", 2, "in_progress"),
            ("lint", 2, "in_progress"),
        ]
        assert rest.get_workflow_run_attempt(*OWNER_REPO, main.id, 1).parsed_data.conclusion == "failure"

    def test_a_typed_client_downloads_an_artifact_through_the_redirect(self, fake, client, repo):
        data = zip_bytes({"manifest.json": "{}"})
        artifact = fake.artifact(fake.run(repo), "baseline", data)
        answer = client.rest.actions.download_artifact(*OWNER_REPO, artifact.id, "zip")
        assert answer.content == data
        assert artifact.digest == "sha256:" + hashlib.sha256(data).hexdigest()
        assert [entry.server for entry in fake.requests] == ["api", "blob"]

    def test_the_blob_url_rejects_a_second_credential_and_expires_within_a_minute(self, fake, repo):
        artifact = fake.artifact(fake.run(repo), "baseline", b"PK")
        path = f"/repos/acme/search/actions/artifacts/{artifact.id}/zip"
        redirect = api(fake, path, allow_redirects=False)
        url = redirect.headers["Location"]
        assert redirect.status_code == 302 and urlsplit(url).port not in (None, fake.port)
        leaked = requests.get(url, headers={"Authorization": f"Bearer {fake.job_token}"}, timeout=20)
        assert (leaked.status_code, "InvalidAuthenticationInfo" in leaked.text) == (400, True)
        assert requests.get(url.replace("sig=", "sig=x"), timeout=20).status_code == 403
        assert requests.get(url, timeout=20).content == b"PK"
        fake.clock.advance(61)
        assert requests.get(url, timeout=20).status_code == 403
        fake.clock.advance(days=90)
        assert api(fake, path, allow_redirects=False).status_code == 410
        assert api(fake, path.removesuffix("/zip")).json()["expired"] is True


class TestArtifactProtocol:
    SERVICE = "/twirp/github.actions.results.api.v1.ArtifactService/"

    def call(self, fake, run, method, **body):
        token = fake.runtime_token(run)
        payload = token.split(".")[1]
        scopes = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))["scp"].split()
        run_id, job_id = next(scope.split(":")[1:] for scope in scopes if scope.startswith("Actions.Results:"))
        ids = {"workflow_run_backend_id": run_id, "workflow_job_run_backend_id": job_id}
        headers = {"Authorization": f"Bearer {token}"}
        return requests.post(fake.url + self.SERVICE + method, json={**ids, **body}, headers=headers, timeout=20)

    def upload(self, fake, run, name, chunks, **finalize):
        created = self.call(fake, run, "CreateArtifact", name=name, version=4)
        assert created.status_code == 200, created.text
        url, ids = created.json()["signed_upload_url"], []
        for number, chunk in enumerate(chunks):
            ids.append(base64.b64encode(f"block-{number:06}".encode()).decode())
            put = requests.put(f"{url}&comp=block&blockid={quote(ids[-1], safe='')}", data=chunk, timeout=20)
            assert put.status_code == 201, put.text
        listing = "".join(f"<Latest>{block}</Latest>" for block in ids)
        xml = f'<?xml version="1.0" encoding="utf-8"?><BlockList>{listing}</BlockList>'
        headers = {"x-ms-blob-content-type": "application/zip"}
        assert requests.put(f"{url}&comp=blocklist", data=xml, headers=headers, timeout=20).status_code == 201
        data = b"".join(chunks)
        told = {"size": str(len(data)), "hash": "sha256:" + hashlib.sha256(data).hexdigest(), **finalize}
        return self.call(fake, run, "FinalizeArtifact", name=name, **told)

    def test_an_upload_in_blocks_is_listed_by_rest_at_once(self, fake, client, repo):
        run, data = fake.run(repo, status="in_progress"), zip_bytes({"m.json": "{}" * 5000})
        done = self.upload(fake, run, "baseline", [data[:70], data[70:]]).json()
        assert done["ok"] is True
        shown = client.rest.actions.get_artifact(*OWNER_REPO, int(done["artifact_id"])).parsed_data
        assert (shown.size_in_bytes, shown.digest) == (len(data), "sha256:" + hashlib.sha256(data).hexdigest())
        assert shown.workflow_run.id == run.id and shown.expires_at - shown.created_at > timedelta(days=89)
        listed = self.call(fake, run, "ListArtifacts", name_filter="baseline").json()["artifacts"]
        assert [(a["database_id"], a["size"], a["digest"]) for a in listed] == [
            (done["artifact_id"], str(len(data)), shown.digest)
        ]
        url = self.call(fake, run, "GetSignedArtifactURL", name="baseline").json()["signed_url"]
        assert requests.get(url, timeout=20).content == data
        assert self.call(fake, fake.run(repo), "ListArtifacts").json() == {"artifacts": []}

    def test_a_name_is_taken_from_creation_until_deletion(self, fake, repo):
        run = fake.run(repo, status="in_progress")
        self.upload(fake, run, "baseline", [b"PK"])
        again = self.call(fake, run, "CreateArtifact", name="baseline", version=4)
        assert (again.status_code, again.json()["code"]) == (409, "already_exists")
        assert self.call(fake, run, "DeleteArtifact", name="baseline").json()["ok"] is True
        assert self.upload(fake, run, "baseline", [b"PK2"]).status_code == 200
        fake.rerun(run)
        assert self.call(fake, run, "CreateArtifact", name="baseline", version=4).status_code == 409
        fake.same_name_per_attempt = True
        assert self.upload(fake, run, "baseline", [b"PK3"]).status_code == 200
        assert len(fake.artifacts_named("baseline")) == 2

    def test_a_failed_finalize_leaves_the_name_reserved_and_unlisted(self, fake, repo):
        run = fake.run(repo, status="in_progress")
        fake.fail_next("POST", "FinalizeArtifact", 503)
        assert self.upload(fake, run, "baseline", [b"PK"]).status_code == 503
        assert self.call(fake, run, "ListArtifacts").json() == {"artifacts": []}
        assert self.call(fake, run, "CreateArtifact", name="baseline", version=4).status_code == 409
        assert self.call(fake, run, "DeleteArtifact", name="baseline").status_code == 404

    @pytest.mark.parametrize("wrong", [{"size": "3"}, {"hash": "sha256:" + "0" * 64}, {"size": 2}])
    def test_finalize_checks_size_and_hash(self, fake, repo, wrong):
        assert self.upload(fake, fake.run(repo), "baseline", [b"PK"], **wrong).status_code == 400

    @pytest.mark.parametrize("name", ["", "a/b", "a:b", 'a"b', "a\nb", "a\\b"])
    def test_names_with_forbidden_characters_are_refused(self, fake, repo, name):
        assert self.call(fake, fake.run(repo), "CreateArtifact", name=name, version=4).status_code == 400

    def test_foreign_ids_and_bad_tokens_are_refused(self, fake, repo):
        run, other = fake.run(repo), fake.run(repo)
        foreign = {"workflow_run_backend_id": other.backend_id}
        assert self.call(fake, run, "CreateArtifact", name="a", version=4, **foreign).status_code == 403
        url = fake.url + self.SERVICE + "ListArtifacts"
        assert requests.post(url, json={}, headers={"Authorization": "Bearer x.y.z"}, timeout=20).status_code == 401

    def test_blocks_need_the_signature_only_and_equal_id_lengths(self, fake, repo):
        url = self.call(fake, fake.run(repo), "CreateArtifact", name="a", version=4).json()["signed_upload_url"]
        block = f"{url}&comp=block&blockid="
        assert requests.put(block + "YWFh", data=b"1", headers={"Authorization": "x"}, timeout=20).status_code == 400
        assert requests.put(block + "YWFh", data=b"1", timeout=20).status_code == 201
        assert requests.put(block + "YWFhYWFh", data=b"2", timeout=20).status_code == 400
        assert requests.get(url, timeout=20).status_code == 403


class TestContents:
    def test_a_file_is_read_as_json_and_raw_at_any_ref(self, fake, client, repo, pr):
        big = b"x" * 1_000_001
        old = repo.tip
        fake.commit(repo, {"gate.yml": "new: 1\n", "big.bin": big})
        path = "/repos/acme/search/contents/"
        shown = client.rest.repos.get_content(*OWNER_REPO, "src/rank.py", ref="feature").parsed_data
        assert base64.b64decode(shown.content) == b"K = 2\n"
        raw = api(fake, f"{path}gate.yml", headers={"Accept": "application/vnd.github.raw+json"})
        assert raw.content == b"new: 1\n"
        assert api(fake, f"{path}gate.yml?ref={old}").status_code == 404
        assert api(fake, f"{path}gate.yml?ref=nowhere").status_code == 404
        assert (api(fake, f"{path}big.bin").json()["encoding"], api(fake, f"{path}big.bin").json()["content"]) == (
            "none",
            "",
        )
        assert api(fake, f"{path}big.bin", headers={"Accept": "application/vnd.github.raw"}).content == big
        names = [(e.type, e.path) for e in client.rest.repos.get_content(*OWNER_REPO, "src").parsed_data]
        assert names == [("file", "src/rank.py")]
        fake.assert_clean()

    def test_two_writers_of_one_file_do_not_overwrite_each_other(self, fake, client, repo):
        rest = client.rest.repos
        text = base64.b64encode(b"one").decode()
        made = rest.create_or_update_file_contents(*OWNER_REPO, "b.json", message="b", content=text).parsed_data
        assert repo.commit(repo.tip).files["b.json"] == b"one"
        for sha, status in ((None, 422), ("0" * 40, 409), (made.content.sha, 200)):
            body = {"message": "b", "content": text, **({"sha": sha} if sha else {})}
            assert api(fake, "/repos/acme/search/contents/b.json", "PUT", json=body).status_code == status


class TestFaults:
    def test_ordered_answers_come_as_often_as_ordered(self, fake, repo):
        fake.fail_next("GET", r"/pulls$", 502, times=2)
        fake.fail_next("GET", r"/pulls$", 429, headers={"Retry-After": "7"}, body={"message": "slow down"})
        answers = [api(fake, "/repos/acme/search/pulls") for _ in range(4)]
        assert [a.status_code for a in answers] == [502, 502, 429, 200]
        assert answers[2].headers["Retry-After"] == "7"
        assert [entry.status for entry in fake.sent("GET", "/pulls")] == [502, 502, 429, 200]

    def test_limits_look_like_the_real_ones(self, fake, repo):
        fake.secondary_limit(retry_after=3)
        fake.primary_limit(reset_in=100)
        second, first = api(fake, "/repos/acme/search"), api(fake, "/repos/acme/search")
        assert (second.status_code, second.headers["Retry-After"]) == (403, "3")
        assert "secondary rate limit" in second.json()["message"]
        assert first.headers["X-RateLimit-Remaining"] == "0"
        assert 0 < int(first.headers["X-RateLimit-Reset"]) - time.time() <= 100

    def test_a_connection_is_dropped_before_or_after_the_effect(self, fake, repo, pr):
        path = "/repos/acme/search/issues/1/comments"
        for after, count in ((False, 0), (True, 1)):
            fake.fail_next("POST", "comments", drop=True, after_effect=after)
            with pytest.raises(requests.ConnectionError):
                api(fake, path, "POST", json={"body": "x"})
            assert len(pr.comments) == count
        assert [entry.status for entry in fake.requests] == [None, None]

    def test_answers_are_slowed_and_cut_short(self, fake, repo):
        fake.fail_next("GET", "pulls", delay=0.3)
        with pytest.raises(requests.ReadTimeout):
            requests.get(f"{fake.url}/repos/acme/search/pulls", timeout=0.1)
        fake.artifact(fake.run(repo), "a", b"x" * 10_000)
        fake.fail_next("GET", "artifact.zip", truncate=True)
        path = f"/repos/acme/search/actions/artifacts/{fake.artifacts_named('a')[0].id}/zip"
        with pytest.raises(requests.exceptions.ChunkedEncodingError):
            api(fake, path)

    def test_a_fault_that_nothing_met_is_reported(self, fake, repo):
        fake.fail_next("GET", "never", 500)
        with pytest.raises(AssertionError, match="faults that no request met"):
            fake.assert_clean()


class TestHeldAgainstTheDescription:
    def test_a_broken_answer_is_reported_and_turned_into_an_error(self, fake, repo, pr):
        def forget_the_head(template, body):
            if template.endswith("/pulls/{pull_number}"):
                del body["head"]["sha"]
            return body

        fake.distort = forget_the_head
        broken = api(fake, "/repos/acme/search/pulls/1")
        assert broken.status_code == 500 and "'sha' is a required property" in broken.json()["message"]
        assert len(fake.violations) == 1
        with pytest.raises(AssertionError, match="sha"):
            fake.assert_clean()

    @pytest.mark.parametrize(
        ("change", "complaint"),
        [
            (lambda run: {**run, "id": "7"}, "is not of type 'integer'"),
            (lambda run: {**run, "created_at": "yesterday"}, "is not a 'date-time'"),
            (lambda run: {**run, "invented": 1}, "'invented' was unexpected"),
            (lambda run: {**run, "pull_requests": [{"number": 1}]}, "is a required property"),
        ],
    )
    def test_wrong_types_formats_and_invented_fields_are_found(self, fake, repo, change, complaint):
        run = fake.run(repo)
        fake.distort = lambda template, body: change(body)
        assert complaint in api(fake, f"/repos/acme/search/actions/runs/{run.id}").json()["message"]

    @pytest.mark.parametrize(
        ("method", "path", "body"),
        [
            ("GET", "/pulls?state=merged", None),
            ("GET", "/pulls?per_page=many", None),
            ("GET", "/pulls?perpage=100", None),
            ("POST", "/issues/1/comments", {"text": "x"}),
            ("POST", "/issues/1/comments", None),
            ("POST", "/issues/1/labels", {"labels": [7]}),
        ],
    )
    def test_requests_against_the_description_are_found(self, fake, repo, pr, method, path, body):
        assert api(fake, f"/repos/acme/search{path}", method, json=body).status_code == 500
        assert len(fake.violations) == 1

    def test_unknown_paths_are_remembered(self, fake, repo):
        assert api(fake, "/repos/acme/search/invented").status_code == 404
        assert fake.unexpected == [("GET", "/repos/acme/search/invented")]

    def test_the_descriptions_own_examples_pass_unless_github_left_fields_out(self):
        description, failed, passed = openapi.load(), [], 0
        for operation in description.operations:
            for status, answer in operation.spec["responses"].items():
                for media, content in description.resolve(answer).get("content", {}).items():
                    for shown in content.get("examples", {}).values():
                        body = description.resolve(shown)["value"]
                        problems = operation.answer_problems(int(status), body, media)
                        failed += [problem for problem in problems if "required property" not in problem]
                        passed += not problems
        # The examples of /meta and of labels are older than their schemas; nothing else may differ.
        assert [problem for problem in failed if "1234567890" not in problem] == []
        assert passed > 40

    def test_every_route_is_an_operation_of_the_description(self):
        known = {(operation.method, operation.template) for operation in openapi.load().operations}
        assert set(ROUTES) <= known

    def test_the_first_check_takes_less_than_a_second(self):
        started = time.perf_counter()
        description = openapi.OpenApi()
        assert description.problems({"$ref": "#/components/schemas/pull-request"}, {})
        assert time.perf_counter() - started < 1


class TestEvents:
    def test_payloads_carry_our_state_and_nothing_of_the_example(self, fake, repo, pr):
        fork = fake.fork(repo, by="eve")
        forked = fake.open_pr(repo, "eve", {"x": "1"}, head_repo=fork)
        fake.label(forked, "baseline-update", by="mona")
        labeled = fake.pull_request_event(forked, "labeled", label="baseline-update", sender="mona")
        assert labeled["pull_request"]["head"]["repo"]["id"] == fork.id != labeled["repository"]["id"] == repo.id
        assert (labeled["label"]["name"], labeled["sender"]["login"]) == ("baseline-update", "mona")
        synchronize = fake.pull_request_event(pr, "synchronize")
        assert synchronize["after"] == pr.head_sha and synchronize["before"] == repo.tip
        group = fake.queue(pr)
        assert fake.merge_group_event(group)["merge_group"]["head_sha"] == group.head_sha
        completed = fake.workflow_run_event(fake.run(repo, pr=forked, conclusion="failure"))
        assert completed["workflow_run"]["pull_requests"] == []
        assert completed["workflow_run"]["head_repository"]["id"] == fork.id
        fake.land(group)
        push = fake.push_event(repo)
        assert (push["after"], push["before"]) == (repo.tip, repo.commit(repo.tip).parents[0])
        assert push["commits"][-1]["message"].endswith("(#1)") and "modified" not in push["commits"][-1]
        assert fake.push_event(repo, before=ZERO_SHA)["created"] is True
        fake.delete_repo(fork)
        assert fake.pull_request_event(forked, "closed")["pull_request"]["head"]["repo"] is None
        for payload in (
            labeled,
            synchronize,
            completed,
            push,
            fake.schedule_event(repo),
            fake.dispatch_event(repo, "ada"),
        ):
            text = json.dumps(payload)
            assert not [word for word in ("Codertocat", "Hello-World", "octo-") if word in text]

    def test_a_jobs_variables_point_at_the_server_and_the_merge_commit(self, fake, repo, pr):
        env = fake.job_env(fake.run(repo, pr=pr, status="in_progress"), fake.url)
        assert env["GITHUB_SHA"] == fake.test_merge(pr) != pr.head_sha
        assert (env["GITHUB_REF"], env["GITHUB_EVENT_NAME"]) == ("refs/pull/1/merge", "pull_request")
        assert env["GITHUB_API_URL"] == fake.url and all(isinstance(value, str) for value in env.values())


class TestServing:
    def test_answers_use_the_address_that_the_client_used(self, fake, repo):
        artifact = fake.artifact(fake.run(repo), "a", b"x")
        headers = {"Host": f"gateway.example:{fake.port}"}
        shown = api(fake, "/api/v3/repos/acme/search/actions/artifacts", headers=headers).json()["artifacts"][0]
        assert shown["url"].startswith(f"http://gateway.example:{fake.port}/api/v3/repos/acme/search/")
        path = f"/repos/acme/search/actions/artifacts/{artifact.id}/zip"
        target = api(fake, path, headers=headers, allow_redirects=False).headers["Location"]
        assert target.startswith(f"http://gateway.example:{fake.blob_port}/")

    def test_an_unchanged_answer_costs_nothing(self, fake, repo):
        tag = api(fake, "/repos/acme/search").headers["ETag"]
        again = api(fake, "/repos/acme/search", headers={"If-None-Match": tag})
        assert (again.status_code, again.content) == (304, b"")

    def test_it_runs_as_a_process_of_its_own(self, tmp_path):
        story = tmp_path / "story.py"
        story.write_text("def story(fake):\n    repo = fake.add_repo('acme/search')\n    fake.run(repo)\n")
        command = [sys.executable, "-m", "tests.fake_github", "--state", str(story)]
        with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
            try:
                known = json.loads(process.stdout.readline())
                headers = {"Authorization": f"Bearer {known['token']}"}
                runs = requests.get(
                    f"{known['api_url']}/repos/acme/search/actions/runs", headers=headers, timeout=20
                ).json()
            finally:
                process.terminate()
        assert [str(run["id"]) for run in runs["workflow_runs"]] == list(known["runtime_tokens"])

    def test_a_container_can_be_let_in(self):
        with FakeGitHub(bind="0.0.0.0") as open_to_all:
            open_to_all.add_repo("acme/search")
            assert api(open_to_all, "/repos/acme/search").status_code == 200
            assert open_to_all.url_for("172.17.0.1") == f"http://172.17.0.1:{open_to_all.port}"

    def test_a_real_history_can_be_served(self, fake, repo, tmp_path):
        def git(*args):
            identity = ("-c", "user.name=ada", "-c", "user.email=ada@example.com")
            done = subprocess.run(
                ["git", "-C", str(tmp_path), *identity, *args], check=True, capture_output=True, text=True
            )
            return done.stdout.strip()

        git("init", "-q", "-b", "main")
        (tmp_path / "a.txt").write_text("one\n")
        git("add", "."), git("commit", "-qm", "one")
        (tmp_path / "a.txt").write_text("two\n")
        git("commit", "-qam", "two")
        mirror = fake.add_repo("acme/mirror")
        fake.import_git(mirror, tmp_path)
        assert mirror.tip == git("rev-parse", "HEAD")
        span = api(fake, f"/repos/acme/mirror/compare/{git('rev-parse', 'HEAD^')}...main").json()
        assert (span["status"], [c["commit"]["message"] for c in span["commits"]]) == ("ahead", ["two"])
        fake.assert_clean()
