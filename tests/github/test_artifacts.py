from __future__ import annotations

import base64
import hashlib
import json

import pytest

from gate.errors import GitHubError
from gate.github import artifact_upload, failures
from gate.github.artifact_upload import ArtifactService, Unavailable, backend_ids
from gate.github.artifacts import ArtifactTooLarge, WrongDigest, download, list_artifacts, list_run_artifacts, make_zip, read_zip

NAME = "retrieval-gate-baseline-default"
DATA = make_zip({"manifest.json": b"{}", "record.json.gz": b"\x1f\x8b..."})


@pytest.fixture
def run(fake, repo):
    return fake.run(repo, status="in_progress", jobs={"gate": None})


@pytest.fixture
def service(fake, run, naps):
    def make(**env):
        return ArtifactService(fake.job_env(run, fake.url) | env, sleep=naps, random=lambda: 0.0)

    return make


def only(repository, name=NAME):
    (found,) = list_artifacts(repository, name)
    return found


# -- uploading ----------


def test_what_is_uploaded_can_be_downloaded(fake, repo, run, repository, service):
    done = service().upload(NAME, DATA)
    found = only(repository)
    assert (found.id, found.size, found.digest, found.run_id) == (done.id, len(DATA), done.digest, run.id)
    assert found.repository_id == found.head_repository_id == repo.id and not found.expired
    assert download(repository, found) == DATA
    assert read_zip(DATA, ("manifest.json",)) == {"manifest.json": b"{}"}


def test_the_second_host_of_a_download_or_upload_never_sees_a_token(fake, repository, service):
    service().upload(NAME, DATA)
    download(repository, only(repository))
    blob = [entry for entry in fake.requests if entry.server == "blob"]
    assert [entry.method for entry in blob] == ["PUT", "PUT", "GET"]
    assert not any("authorization" in entry.headers for entry in blob)


def test_a_large_file_goes_up_in_blocks(fake, repository, service, monkeypatch):
    monkeypatch.setattr(artifact_upload, "BLOCK", 1000)
    data = bytes(range(256)) * 14
    service().upload(NAME, data)
    assert download(repository, only(repository)) == data
    assert [entry.size for entry in fake.sent("PUT")][:4] == [1000, 1000, 1000, 584]


def test_only_the_origin_of_the_results_address_counts(fake, repository, service):
    service(ACTIONS_RESULTS_URL=f"{fake.url}/some/path/").upload(NAME, DATA)
    assert only(repository)


def test_the_wished_lifetime_is_passed_on(fake, repository, run, naps):
    now = fake.clock.now.timestamp()
    ArtifactService(fake.job_env(run, fake.url), clock=lambda: now, sleep=naps).upload(NAME, DATA, days=10)
    assert fake.artifacts_named(NAME)[0].expires_at.timestamp() == now + 10 * 86_400


def test_a_name_used_by_an_earlier_attempt_is_freed_and_used_again(fake, repository, service):
    first = service().upload(NAME, DATA)
    second = service().upload(NAME, DATA + b"")
    assert second.id != first.id and second.name == NAME
    assert only(repository).id == second.id


def test_a_name_blocked_by_an_upload_that_broke_off_gets_a_suffix(fake, repository, service):
    fake.fail_next("PUT", "", 400)
    with pytest.raises(failures.ServerTrouble):
        service().upload(NAME, DATA)
    assert service().upload(NAME, DATA).name == f"{NAME}.2"
    assert only(repository, f"{NAME}.2")


def test_a_finalization_that_stays_broken_falls_back_to_another_name(fake, repository, service):
    fake.fail_next("POST", "FinalizeArtifact", 500, times=5)
    assert service().upload(NAME, DATA).name == f"{NAME}.2"


def test_a_finalization_whose_answer_was_lost_is_found_out(fake, repository, service):
    fake.fail_next("POST", "FinalizeArtifact", 502, after_effect=True)
    done = service().upload(NAME, DATA)
    assert done.name == NAME and done.id == only(repository).id


@pytest.mark.parametrize("method", ["CreateArtifact", "FinalizeArtifact"])
@pytest.mark.parametrize("fault", [{"status": 503}, {"status": 429, "headers": {"Retry-After": "2"}}, {"drop": True}])
def test_passing_trouble_of_the_service_is_waited_out(fake, repository, service, naps, method, fault):
    fake.fail_next("POST", method, **fault)
    assert service().upload(NAME, DATA).name == NAME and naps


@pytest.mark.parametrize("fault", [{"status": 500}, {"status": 503}, {"drop": True}])
def test_passing_trouble_of_the_storage_is_waited_out(fake, repository, service, naps, fault):
    fake.fail_next("PUT", "", times=2, **fault)
    service().upload(NAME, DATA)
    assert naps == [1, 2] and download(repository, only(repository)) == DATA


def test_a_full_account_is_said_at_once_and_with_a_cure(fake, service, naps):
    body = {"code": "resource_exhausted", "msg": "Failed to CreateArtifact: insufficient usage to create artifact"}
    fake.fail_next("POST", "CreateArtifact", 429, body=body)
    with pytest.raises(Unavailable, match="insufficient usage") as caught:
        service().upload(NAME, DATA)
    assert not naps and "storage" in caught.value.cure


@pytest.mark.parametrize(
    "env",
    [
        {"ACTIONS_RESULTS_URL": ""},
        {"ACTIONS_RUNTIME_TOKEN": ""},
        {"ACTIONS_RUNTIME_TOKEN": "not-a-jwt"},
        {"ACTIONS_RUNTIME_TOKEN": "a.b\nc.d"},
        {"ACTIONS_RUNTIME_TOKEN": "a." + base64.urlsafe_b64encode(b'{"scp":"Actions.Results:1"}').decode() + ".c"},
        {"ACTIONS_RUNTIME_TOKEN": "a." + base64.urlsafe_b64encode(b'{"scp":7}').decode() + ".c"},
        {"ACTIONS_RESULTS_URL": "results.example"},
    ],
)
def test_without_a_service_that_is_said_with_what_to_do(service, env):
    with pytest.raises(Unavailable) as caught:
        service(**env)
    assert "README" in caught.value.cure and isinstance(caught.value, GitHubError)


def test_ids_are_read_from_the_token_whatever_they_look_like():
    claims = base64.urlsafe_b64encode(json.dumps({"scp": "X:y Actions.Results:1:2 Z"}).encode()).decode().rstrip("=")
    assert backend_ids(f"h.{claims}.s") == {"workflow_run_backend_id": "1", "workflow_job_run_backend_id": "2"}


@pytest.mark.parametrize("name", ["", 'a"b', "a/b", "a\\b", "a:b", "a\nb", "a*"])
def test_a_name_that_the_service_refuses_is_never_sent(service, name):
    with pytest.raises(ValueError, match="artifact name"):
        service().upload(name, DATA)


def test_neither_token_nor_signature_is_in_an_error(fake, service, run):
    fake.fail_next("PUT", "", 403, times=1)
    with pytest.raises(GitHubError) as caught:
        service().upload(NAME, DATA)
    assert "sig" not in caught.value.text() and fake.runtime_token(run) not in caught.value.text()
    fake.fail_next("PUT", "", drop=True, times=5)
    with pytest.raises(GitHubError) as caught:
        service().upload("other", DATA)
    assert "sig=" not in caught.value.text() and "actions-results" not in caught.value.text()


class CamelService:
    """A server that answers protobuf's own spelling, with whole numbers for ids."""

    def __init__(self):
        self.blob, self.calls = b"", []

    def request(self, method, url, *, json=None, **options):
        self.calls.append((url.rsplit("/", 1)[1], json))
        answers = {"CreateArtifact": {"ok": True, "signedUploadUrl": "http://results:1/up?sig=x"}}
        return Reply(200, answers.get(self.calls[-1][0], {"ok": True, "artifactId": "12"}))

    def put(self, url, *, data, **options):
        self.blob += data if "comp=block&" in url else b""
        return Reply(200, {})


class Reply:
    def __init__(self, status, value):
        self.status_code, self.headers, self.value = status, {}, value

    def iter_content(self, size):
        yield json.dumps(self.value).encode()

    def __enter__(self):
        return self

    def __exit__(self, *details):
        pass


def test_servers_with_the_other_spelling_are_understood():
    claims = base64.urlsafe_b64encode(b'{"scp":"Actions.Results:1:1"}').decode()
    double = CamelService()
    service = ArtifactService(
        {"ACTIONS_RESULTS_URL": "http://results:1/", "ACTIONS_RUNTIME_TOKEN": f"h.{claims}.s"}, session=double
    )
    assert service.upload(NAME, DATA).id == 12 and double.blob == DATA
    (_, created), (_, finalized) = double.calls
    assert created == {"workflow_run_backend_id": "1", "workflow_job_run_backend_id": "1", "name": NAME, "version": 4}
    assert (finalized["size"], finalized["hash"]) == (str(len(DATA)), "sha256:" + hashlib.sha256(DATA).hexdigest())


# -- listing and downloading ----------


def test_the_list_holds_only_that_name_newest_first_beyond_one_page(fake, repo, repository):
    run = fake.run(repo)
    for _ in range(130):
        fake.artifact(run, NAME)
        fake.artifact(run, NAME + "-x")
    found = list_artifacts(repository, NAME)
    assert len(found) == 130 and [item.id for item in found] == sorted((item.id for item in found), reverse=True)


def test_a_list_flooded_by_strangers_is_read_up_to_a_limit(fake, repo, repository):
    run = fake.run(repo)
    for _ in range(1010):
        fake.artifact(run, NAME)
    assert len(list_artifacts(repository, NAME)) == 1000


def test_the_list_of_one_run_holds_no_other_runs_artifacts_and_is_read_up_to_a_limit(fake, repo, repository, run):
    made = [fake.artifact(run, name, b"x").id for name in (NAME, "other", NAME)]
    fake.artifact(fake.run(repo), NAME, b"x")
    assert [item.id for item in list_run_artifacts(repository, run.id)] == made[::-1]
    assert [item.id for item in list_run_artifacts(repository, run.id, NAME)] == [made[2], made[0]]
    for n in range(150):
        fake.artifact(run, f"junk-{n}", b"x")
    assert len(list_run_artifacts(repository, run.id)) == 100
    # Whoever fills the list cannot hide what is asked for by its name.
    assert len(list_run_artifacts(repository, run.id, NAME)) == 2


def test_an_expired_artifact_is_gone(fake, repo, repository):
    fake.expire(fake.artifact(fake.run(repo), NAME, DATA))
    found = only(repository)
    assert found.expired
    with pytest.raises(failures.Gone):
        download(repository, found)


def test_bytes_that_are_not_the_recorded_ones_are_refused(fake, repo, repository):
    made = fake.artifact(fake.run(repo), NAME, DATA)
    found = only(repository)
    fake.tamper(made, DATA[:-1] + b"x")
    with pytest.raises(WrongDigest):
        download(repository, found)


def test_an_artifact_without_a_recorded_digest_is_downloaded(fake, repo, repository):
    fake.artifact(fake.run(repo), NAME, DATA, digest=False)
    assert download(repository, only(repository)) == DATA


def test_size_is_checked_before_and_while_reading(fake, repo, repository):
    made = fake.artifact(fake.run(repo), NAME, DATA)
    with pytest.raises(ArtifactTooLarge):
        download(repository, only(repository), limit=10)
    found = only(repository)
    fake.tamper(made, b"x" * 5000)
    with pytest.raises(failures.ServerTrouble, match="larger than the gate reads"):
        download(repository, found, limit=1000)


def test_a_broken_download_begins_anew_with_a_new_address(fake, repo, repository, naps):
    fake.artifact(fake.run(repo), NAME, DATA)
    found = only(repository)
    fake.fail_next("GET", "artifact.zip", 503)
    fake.fail_next("GET", "artifact.zip", truncate=True)
    assert download(repository, found) == DATA
    assert len(fake.sent("GET", "/zip")) == 3 and naps == [1, 2]


@pytest.mark.parametrize("location", ["", "ftp://x/y", "file:///etc/passwd", "//"])
def test_a_download_address_that_is_none_is_refused(fake, repo, repository, location):
    fake.artifact(fake.run(repo), NAME, DATA)
    found = only(repository)
    fake.fail_next("GET", "/zip", 302, headers={"Location": location})
    with pytest.raises(failures.Redirected):
        download(repository, found)


def test_the_signature_of_a_download_is_in_no_error(fake, repo, repository):
    fake.artifact(fake.run(repo), NAME, DATA)
    found = only(repository)
    fake.fail_next("GET", "artifact.zip", drop=True, times=3)
    with pytest.raises(failures.ServerTrouble) as caught:
        download(repository, found)
    assert "sig" not in caught.value.text() and "actions-results" not in caught.value.text()
