"""Releases, artifacts and commits of GitHub, against the fake one."""

import hashlib

import pytest

from gate.errors import CannotDecide, GitHubError, InvalidInput, SnapshotUnavailable
from gate.snapshot.sources.git import api_of
from gate.world import World
from tests.fake_github import zip_bytes
from tests.snapshot.sources import Naps, digest_of, files_of, obtained, settings_of, tar_bytes

MAKER = ".github/workflows/snapshot.yml"


@pytest.fixture
def packed(snapshot):
    return tar_bytes(files_of(snapshot, "snapshot/"))


@pytest.fixture
def get(fake, tmp_path):
    """Obtain with the fake's job token, unless told otherwise."""

    def to(settings, **world):
        return obtained(settings, tmp_path / "c", Naps(), **({"token": fake.job_token, "api_url": fake.url, "repository": "acme/search"}
                                                             | world))

    return to


@pytest.fixture
def repo(fake):
    return fake.add_repo("acme/search")


def told(kind, get, settings, **world):
    with pytest.raises(kind) as caught:
        get(settings, **world)
    assert caught.value.exit_code == (2 if kind is InvalidInput else 3)
    return caught.value.text()


class TestRelease:
    def settings(self, snapshot, data, **more):
        return settings_of(digest_of(snapshot), release={"tag": "snap/1", "asset": "s.tar.gz", "sha256": hashlib.sha256(data).hexdigest()}
                           | more)

    def test_an_asset_is_fetched_without_showing_the_token_to_the_storage(self, fake, repo, snapshot, packed, get):
        fake.release(repo, "snap/1", {"other": b"x", "s.tar.gz": packed})
        assert files_of(get(self.settings(snapshot, packed)).path) == files_of(snapshot)
        stored, = [entry for entry in fake.requests if entry.server == "blob"]
        assert "authorization" not in stored.headers

    def test_of_another_repository_with_a_token_of_its_own(self, fake, snapshot, packed, get):
        other = fake.add_repo("acme/data", private=True)
        fake.release(other, "snap/1", {"s.tar.gz": packed})
        fake.grant(other, "maria", "read")
        fake.token("ghp_own", identity="maria")
        settings = self.settings(snapshot, packed, repository="acme/data", token="${DATA_TOKEN}")
        assert get(settings, variables={"DATA_TOKEN": "ghp_own"}).how == "fetched"

    def test_a_token_that_no_header_can_hold_cannot_decide_and_is_not_shown(self, fake, repo, snapshot, packed, get):
        settings = self.settings(snapshot, packed, token="${DATA_TOKEN}")
        assert "s3cr3t" not in told(SnapshotUnavailable, get, settings, variables={"DATA_TOKEN": "s3cr3t\nX: y"}) and not fake.requests

    def test_a_public_one_takes_no_token(self, fake, repo, snapshot, packed, get):
        fake.release(repo, "snap/1", {"s.tar.gz": packed})
        assert get(self.settings(snapshot, packed), token="").how == "fetched"

    @pytest.mark.parametrize("digests", [True, False])
    def test_a_replaced_asset_is_exit_2_with_both_digests(self, fake, repo, snapshot, packed, get, digests):
        release = fake.release(repo, "snap/1", {"s.tar.gz": packed}, digests=digests)
        new = tar_bytes({"evil": b"x"})
        fake.replace_asset(release, "s.tar.gz", new)
        text = told(InvalidInput, get, self.settings(snapshot, packed))
        assert hashlib.sha256(packed).hexdigest() in text and hashlib.sha256(new).hexdigest() in text
        # Where GitHub says what it has, nothing of it is fetched.
        assert bool([entry for entry in fake.requests if entry.server == "blob"]) is not digests

    def test_a_tag_that_was_moved_to_another_release_is_exit_2(self, fake, repo, snapshot, packed, get):
        fake.release(repo, "snap/1", {"s.tar.gz": packed})
        fake.release(repo, "snap/1", {"s.tar.gz": b"of another build"})
        assert "but the configuration pins" in told(InvalidInput, get, self.settings(snapshot, packed))

    def test_what_is_missing_is_named(self, fake, repo, snapshot, packed, get):
        assert "has no release with the tag 'snap/1'" in told(SnapshotUnavailable, get, self.settings(snapshot, packed))
        fake.release(repo, "snap/1", {"a.tar.gz": packed, "b": b""})
        assert "it has a.tar.gz, b" in told(SnapshotUnavailable, get, self.settings(snapshot, packed))

    def test_an_asset_that_is_still_on_its_way_does_not_count(self, fake, repo, snapshot, packed, get):
        fake.release(repo, "snap/1", {"s.tar.gz": packed}).assets[0].state = "open"
        assert "has no such asset" in told(SnapshotUnavailable, get, self.settings(snapshot, packed))

    def test_a_cut_is_resumed_from_the_storage(self, fake, repo, snapshot, packed, get):
        fake.release(repo, "snap/1", {"s.tar.gz": packed})
        fake.fail_next("GET", "/actions-results", truncate=True)
        get(self.settings(snapshot, packed))
        assert [entry.headers.get("range") for entry in fake.requests if entry.server == "blob"] == [None, f"bytes={len(packed) // 2}-"]

    def test_without_a_repository_outside_of_a_job_it_says_what_to_set(self, snapshot, packed, get):
        assert "set `snapshot.source.release.repository`" in told(CannotDecide, get, self.settings(snapshot, packed), repository="")


class TestCommitOnGitHub:
    def settings(self, fake, snapshot, commit, **more):
        return settings_of(digest_of(snapshot), git={"url": f"{fake.url}/acme/search.git", "commit": commit} | more)

    def commit(self, fake, repo, snapshot, **more):
        return fake.commit(repo, files_of(snapshot, "data/snap/") | {"src/app.py": b"x"} | more).sha

    def test_a_folder_of_a_commit_comes_as_an_archive_and_needs_no_git(self, fake, repo, snapshot, get, monkeypatch):
        monkeypatch.setenv("PATH", "")
        settings = self.settings(fake, snapshot, self.commit(fake, repo, snapshot), path="data/snap/")
        assert files_of(get(settings).path) == files_of(snapshot)

    def test_the_root_of_a_repository(self, fake, repo, snapshot, get):
        nothing = dict.fromkeys(repo.commit(repo.tip).files)
        settings = self.settings(fake, snapshot, fake.commit(repo, files_of(snapshot) | nothing).sha)
        assert get(settings).how == "fetched"

    def test_another_folder_is_no_snapshot(self, fake, repo, snapshot, get):
        commit = self.commit(fake, repo, snapshot)
        for path in ("src", "nowhere"):
            assert "has no manifest.json" in told(InvalidInput, get, self.settings(fake, snapshot, commit, path=path))

    def test_a_commit_that_is_not_there_cannot_decide(self, fake, repo, snapshot, get):
        assert "answered 404" in told(SnapshotUnavailable, get, self.settings(fake, snapshot, "0" * 40))

    def test_pointers_of_large_files_are_told(self, fake, repo, snapshot, get):
        pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"4" * 64 + b"\nsize 9\n"
        commit = self.commit(fake, repo, snapshot, **{"data/snap/units.jsonl": pointer})
        text = told(InvalidInput, get, self.settings(fake, snapshot, commit, path="data/snap"))
        assert "Git LFS pointers in place of the files units.jsonl" in text

    def test_the_storage_never_sees_the_token(self, fake, repo, snapshot, get):
        repo.private = True
        get(self.settings(fake, snapshot, self.commit(fake, repo, snapshot), path="data/snap"))
        assert all("authorization" not in entry.headers for entry in fake.requests if entry.server == "blob")

    @pytest.mark.parametrize(("url", "api", "expected"), [
        ("https://github.com/acme/search", "https://api.github.com", ("https://api.github.com", "acme/search", "job")),
        ("https://github.com/acme/search.git", "https://ghes.example/api/v3", ("https://api.github.com", "acme/search", "")),
        ("https://ghes.example/acme/search/", "https://ghes.example/api/v3", ("https://ghes.example/api/v3", "acme/search", "job")),
        ("https://acme.ghe.com/acme/search", "https://api.acme.ghe.com", ("https://api.acme.ghe.com", "acme/search", "job")),
        ("https://gitlab.com/acme/search", "https://api.github.com", ("", "", "")),
        ("https://github.com.evil.example/acme/search", "https://api.github.com", ("", "", "")),
        ("https://github.com:444/acme/search", "https://api.github.com", ("", "", "")),
        ("ssh://git@github.com/acme/search", "https://api.github.com", ("", "", "")),
        ("https://github.com/acme/search/tree/main", "https://api.github.com", ("", "", "")),
    ])
    def test_the_jobs_token_goes_to_the_jobs_github_alone(self, url, api, expected):
        assert api_of(url, World(token="job", api_url=api)) == expected


class TestArtifact:
    def settings(self, snapshot, **more):
        return settings_of(digest_of(snapshot), artifact={"name": "snapshot"} | ({"workflow": "snapshot.yml"} | more))

    def made(self, fake, repo, snapshot, files=None, **how):
        run = fake.run(repo, **({"path": MAKER} | how))
        return fake.artifact(run, "snapshot", files_of(snapshot) if files is None else files)

    def test_the_newest_of_the_workflow_on_the_default_branch(self, fake, repo, snapshot, get):
        self.made(fake, repo, snapshot, {"old": b""})
        self.made(fake, repo, snapshot, event="schedule")
        assert files_of(get(self.settings(snapshot)).path) == files_of(snapshot)
        assert all("authorization" not in entry.headers for entry in fake.requests if entry.server == "blob")

    def test_one_of_a_named_run(self, fake, repo, snapshot, get):
        made = self.made(fake, repo, snapshot)
        self.made(fake, repo, snapshot, {"new": b""})
        settings = settings_of(digest_of(snapshot), artifact={"name": "snapshot", "run_id": made.run.id})
        assert get(settings).how == "fetched"

    def test_another_snapshot_in_the_newest_is_exit_2_with_both_digests(self, fake, repo, snapshot, get, tmp_path):
        from gate.snapshot.build import build_bm25
        from tests.snapshot.support import corpus_of

        build_bm25(corpus_of(tmp_path, ("z", "Z", "zebras")), tmp_path / "other")
        self.made(fake, repo, snapshot)
        self.made(fake, repo, tmp_path / "other")
        text = told(InvalidInput, get, self.settings(snapshot))
        assert digest_of(tmp_path / "other") in text and digest_of(snapshot) in text

    def test_strangers_are_passed_over_with_the_reason(self, fake, repo, snapshot, get):
        fork = fake.fork(repo, by="eve")
        self.made(fake, repo, snapshot, head_repo=fork, head_branch="main")
        self.made(fake, repo, snapshot, head_branch="feature")
        self.made(fake, repo, snapshot, event="pull_request")
        self.made(fake, repo, snapshot, path=".github/workflows/other.yml")
        self.made(fake, repo, snapshot, conclusion="failure")
        fake.expire(self.made(fake, repo, snapshot))
        text = told(SnapshotUnavailable, get, self.settings(snapshot))
        for words in ("run for a fork", "on branch feature", "by a pull_request run", "other.yml", "ended with failure", "has expired"):
            assert words in text or "more" in text
        assert not [entry for entry in fake.requests if entry.server == "blob"]
        self.made(fake, repo, snapshot)
        assert get(self.settings(snapshot)).how == "fetched"

    @pytest.mark.parametrize(("how", "words"), [
        ({"head_branch": "feature"}, "on branch feature, not on main"), ({"event": "pull_request"}, "by a pull_request run"),
        ({"path": ".github/workflows/other.yml"}, "by the workflow .github/workflows/other.yml"),
        ({"conclusion": "failure"}, "ended with failure"), ({"status": "in_progress"}, "still under way")])
    def test_each_reason_is_told(self, fake, repo, snapshot, get, how, words):
        self.made(fake, repo, snapshot, **how)
        assert words in told(SnapshotUnavailable, get, self.settings(snapshot))

    def test_a_tag_that_is_called_like_the_branch_is_no_branch(self, fake, repo, snapshot, get):
        pull = fake.open_pr(repo, "ada", {"x": "1"})
        self.made(fake, repo, snapshot, head_sha=pull.head_sha)
        assert "is not on main" in told(SnapshotUnavailable, get, self.settings(snapshot))

    def test_a_fork_is_refused_for_a_named_run_too(self, fake, repo, snapshot, get):
        made = self.made(fake, repo, snapshot, head_repo=fake.fork(repo, by="eve"))
        settings = settings_of(digest_of(snapshot), artifact={"name": "snapshot", "run_id": made.run.id})
        assert "for a fork" in told(SnapshotUnavailable, get, settings)

    def test_another_branch_can_be_named(self, fake, repo, snapshot, get):
        pull = fake.open_pr(repo, "ada", {"x": "1"}, branch="indexes")
        self.made(fake, repo, snapshot, head_branch="indexes", head_sha=pull.head_sha)
        assert get(self.settings(snapshot, branch="indexes")).how == "fetched"

    def test_bytes_that_are_not_those_of_the_upload_are_exit_2(self, fake, repo, snapshot, get):
        made = self.made(fake, repo, snapshot)
        fake.tamper(made, zip_bytes({"evil": b""}))
        assert "but GitHub recorded at the upload sha256:" in told(InvalidInput, get, self.settings(snapshot))

    def test_one_from_before_digests_were_recorded_is_verified_by_the_snapshot(self, fake, repo, snapshot, get):
        run = fake.run(repo, path=MAKER)
        fake.artifact(run, "snapshot", files_of(snapshot), digest=False)
        assert get(self.settings(snapshot)).how == "fetched"

    def test_none_at_all_and_an_unknown_run_cannot_decide(self, fake, repo, snapshot, get):
        assert "has no usable one from snapshot.yml on main" in told(SnapshotUnavailable, get, self.settings(snapshot))
        unknown = settings_of(digest_of(snapshot), artifact={"name": "snapshot", "run_id": 7})
        assert "has no run 7" in told(SnapshotUnavailable, get, unknown)

    def test_one_that_expires_between_list_and_download_cannot_decide(self, fake, repo, snapshot, get):
        made = self.made(fake, repo, snapshot)
        fake.meanwhile("GET", r"/zip\Z", lambda: fake.expire(made))
        assert "answered 410" in told(SnapshotUnavailable, get, self.settings(snapshot))

    def test_an_address_that_went_stale_is_asked_for_anew(self, fake, repo, snapshot, get):
        self.made(fake, repo, snapshot)
        fake.fail_next("GET", "/actions-results", 503)
        assert get(self.settings(snapshot)).how == "fetched"
        assert len(fake.sent("GET", r"/zip\Z")) == 2

    def test_a_token_without_the_right_is_githubs_own_refusal(self, fake, repo, snapshot, get):
        self.made(fake, repo, snapshot)
        fake.token("ghs_weak", permissions={"contents": "read"})
        assert "answered 403" in told(GitHubError, get, self.settings(snapshot), token="ghs_weak")

    def test_expiry_is_githubs_word(self, fake, repo, snapshot, get):
        self.made(fake, repo, snapshot)
        fake.clock.advance(days=91)
        assert "has expired" in told(SnapshotUnavailable, get, self.settings(snapshot))


