from __future__ import annotations

import io
import zipfile
from dataclasses import replace

import pytest

from gate import jsonio
from gate.baseline.manifest import unpack_artifact
from gate.baseline.record import pack
from gate.baseline.stores import Found, Missing
from gate.errors import GitHubError, InvalidInput
from gate.github.artifact_upload import Unavailable
from gate.github.repository import Repository
from gate.settings import BaselineSettings
from tests.baseline.conftest import NAME


def test_what_a_run_on_main_published_is_found_for_what_builds_on_it(fake, repo, gate):
    record = gate.record()
    done = gate.publish(record)
    found = gate.find()
    assert isinstance(found, Found) and found.record == record and found.data == pack(record)
    assert (found.state, found.artifact_id) == ("bootstrap", done.artifact_id)
    assert found.info.digest == record.digest == done.record_digest and found.info.commit == record.commit
    assert found.info.url == done.url and "bootstrapped" in found.info.provenance
    assert not found.notes and not found.refused


def test_a_pull_request_finds_it_from_its_base_with_few_requests(fake, repo, gate):
    for _ in range(5):
        gate.publish()
    pr = fake.open_pr(repo, "ann", {"a": "1"})
    fake.requests.clear()
    assert isinstance(gate.find(pr.base_sha), Found)
    assert len(fake.requests) <= 8


def test_a_fork_pull_requests_read_only_token_is_enough(fake, repo, gate, connect):
    gate.publish()
    fake.token("fork", permissions={"contents": "read", "actions": "read"}, read_only=True)
    assert isinstance(gate.find(repository=Repository(connect("fork"), repo.full_name)), Found)


def test_carrying_leaves_the_records_bytes_as_they_were(fake, gate):
    gate.publish()
    first = gate.find()
    run = gate.push()
    gate.store(run).publish(
        first.data, "carried", head_sha=run.head_sha, run_id=run.id, job="gate", carried_from=first.artifact_id
    )
    fake.finish(run)
    second = gate.find()
    assert second.data == first.data and second.state == "carried" and second.artifact_id != first.artifact_id


def test_the_manifest_says_what_it_is(fake, repo, gate):
    run = gate.push()
    record = gate.record()
    gate.publish(record, run=run)
    manifest, inside, _ = unpack_artifact(fake.artifacts_named(NAME)[0].data, "x")
    assert inside == record and manifest.gate == "default" and manifest.repository_id == repo.id
    assert (manifest.head_sha, manifest.run_id, manifest.job, manifest.state) == (run.head_sha, str(run.id), "gate", "bootstrap")


def test_gates_do_not_see_each_others_baselines(gate):
    gate.publish()
    assert gate.find(gate="other").kind == "never"


def test_artifact_name_and_workflow_can_be_set(fake, repo, gate):
    settings = BaselineSettings(artifact="mine", workflow="nightly.yml")
    gate.plant(fake.run(repo, path=".github/workflows/nightly.yml"), name="mine-default")
    gate.plant(fake.run(repo), name="mine-default")
    found = gate.find(settings=settings)
    assert isinstance(found, Found) and len(found.refused) == 1


# -- which one ----------


def test_the_newest_that_the_base_contains_is_taken(fake, repo, gate):
    gate.publish(gate.record("one"))
    base = repo.tip
    gate.publish(gate.record("two"))
    assert gate.find().record.rankings["q1"].docs[0] == "two"
    assert gate.find(base).record.rankings["q1"].docs[0] == "one"


def test_a_base_far_behind_does_not_cost_a_look_at_every_newer_one(fake, repo, gate):
    for number in range(5):
        gate.publish(gate.record(f"old {number}"))
    base = repo.tip
    for number in range(24):
        gate.publish(gate.record(f"new {number}"))
    fake.requests.clear()
    assert gate.find(base).record.rankings["q1"].docs[0] == "old 4"
    assert len(fake.requests) < 24


def test_running_an_old_push_again_does_not_bring_its_state_back(fake, repo, gate):
    old = gate.push()
    gate.publish(gate.record("old"), run=old)
    gate.publish(gate.record("new"))
    fake.rerun(old)
    gate.publish(gate.record("old"), run=old)
    assert gate.find().record.rankings["q1"].docs[0] == "new"


def test_a_carried_record_does_not_pass_over_an_approved_one_that_was_stored_meanwhile(fake, gate):
    gate.publish(gate.record("first"))
    first = gate.find()
    approving, carrying = gate.push(), gate.push()
    # The later push reads what there is before the earlier one has stored what was approved.
    stale = gate.find()
    assert stale.artifact_id == first.artifact_id
    gate.publish(gate.record("approved", "approved"), "approved", run=approving)
    gate.publish(first.record, "carried", run=carrying, carried_from=stale.artifact_id)
    found = gate.find()
    assert found.record.rankings["q1"].docs[0] == "approved" and found.state == "approved"
    assert "the approved one is used" in found.notes[0]
    # From then on it is the approved one that is carried.
    gate.publish(found.record, "carried", carried_from=found.artifact_id)
    assert gate.find().record.rankings["q1"].docs[0] == "approved" and gate.find().state == "carried"


def test_a_runs_own_artifact_of_an_earlier_attempt_is_left_out(gate):
    gate.publish(gate.record("one"))
    run = gate.push()
    gate.publish(gate.record("two"), run=run)
    assert gate.store().find(run.head_sha, own_run_id=run.id).record.rankings["q1"].docs[0] == "one"


# -- what is refused ----------


@pytest.fixture
def planted(fake, repo, gate):
    """Puts a good baseline there and a bad one that is newer, and tells how the bad one was refused."""
    gate.publish(gate.record("good"))

    def check(run, data=None, **options):
        made = gate.plant(run, data, **options)
        found = gate.find()
        assert isinstance(found, Found) and found.record.rankings["q1"].docs[0] == "good"
        (reason,) = [text for text in found.refused if text.startswith(f"artifact {made.id}: ")]
        return reason

    return check


def test_a_fork_with_a_branch_of_the_same_name(fake, repo, planted):
    fork = fake.fork(repo, by="stranger")
    pr = fake.open_pr(repo, "stranger", {"a": "1"}, head_repo=fork, branch="main")
    assert "fork" in planted(fake.run(repo, pr=pr))


def test_a_pull_request_run_of_our_own_branch(fake, repo, planted):
    pr = fake.open_pr(repo, "ann", {"a": "1"})
    assert "branch feature" in planted(fake.run(repo, pr=pr))


def test_a_pull_request_from_main_into_another_branch(fake, repo, planted):
    fake.commit(repo, {"x": "1"}, "release")
    pr = fake.open_pr(repo, "ann", branch="main", base="release")
    assert "pull_request run" in planted(fake.run(repo, pr=pr))


@pytest.mark.parametrize("event", ["pull_request_target", "workflow_run", "merge_group"])
def test_other_events_on_main(fake, repo, planted, event):
    assert event in planted(fake.run(repo, event))


def test_another_workflow(fake, repo, planted):
    assert "evil.yml" in planted(fake.run(repo, path=".github/workflows/evil.yml"))


def test_a_tag_called_main(fake, repo, planted):
    side = fake.commit(repo, {"evil": "1"}, "side").sha
    assert "not contained in the base" in planted(fake.run(repo, head_branch="main", head_sha=side))


def test_history_that_was_rewritten(fake, repo, gate):
    root = repo.tip
    gate.publish(gate.record("gone"))
    lost = repo.tip
    fake.commit(repo, {"b": "1"}, parent=root)
    found = gate.find(lost)
    assert isinstance(found, Missing) and "not on the default branch" in found.refused[0]


def test_a_failed_run_whose_gate_job_failed(fake, repo, planted):
    assert "ended with failure" in planted(fake.run(repo, conclusion="failure"))


def test_a_run_that_is_still_under_way(fake, repo, planted):
    assert "still in progress" in planted(fake.run(repo, status="in_progress", jobs={"gate": None, "x": "success"}))


@pytest.mark.parametrize("status", ["in_progress", "completed"])
def test_a_gate_job_that_succeeded_in_a_run_that_did_not_is_good(fake, repo, gate, status):
    run = fake.run(repo, status=status, conclusion="failure", jobs={"gate": "success", "deploy": "failure"})
    gate.plant(run)
    assert isinstance(gate.find(), Found)


@pytest.mark.parametrize(("role", "accepted"), [("write", True), ("admin", True), ("triage", False), ("read", False)])
def test_a_run_started_by_hand_counts_when_its_starter_has_write(fake, repo, gate, role, accepted):
    fake.grant(repo, "kim", role)
    gate.plant(fake.run(repo, "workflow_dispatch", by="kim"))
    found = gate.find()
    assert isinstance(found, Found) == accepted
    assert accepted or "by kim, who has no write permission" in found.refused[0]


def test_bytes_with_a_wrong_digest(fake, repo, gate):
    gate.publish(gate.record("good"))
    made = gate.plant(fake.run(repo))
    fake.tamper(made, made.data[:-1] + b"x")
    found = gate.find()
    assert found.record.rankings["q1"].docs[0] == "good"
    assert "digest" in found.refused[0] and "which is newer, was passed over" in found.notes[0]


LIES = {
    "schema": 9,
    "gate": "other",
    "repository_id": 5,
    "head_sha": "f" * 40,
    "record_digest": "sha256:0",
    "snapshot_digest": "x",
    "state": "approved",
}


@pytest.mark.parametrize("what", LIES)
def test_a_manifest_that_lies(fake, repo, gate, planted, what):
    run = fake.run(repo)
    reason = planted(run, gate.zip(run, **{what: LIES[what]}))
    assert "manifest" in reason


def broken_zips(gate, run):
    good = gate.zip(run)
    with zipfile.ZipFile(io.BytesIO(good)) as archive:
        manifest, record = archive.read("manifest.json"), archive.read("record.json.gz")

    def zipped(**files):
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, data in files.items():
                archive.writestr(name.replace("_json", ".json").replace("_gz", ".gz"), data)
        return out.getvalue()

    edited = jsonio.gzip_bytes(jsonio.gunzip(record, 10**6, "x").replace(b'"a"', b'"b"'))
    return {
        "not a zip": b"hello",
        "cut": good[:-30],
        "empty": b"",
        "no record": zipped(manifest_json=manifest),
        "no manifest": zipped(record_json_gz=record),
        "manifest is no JSON": zipped(manifest_json=b"{", record_json_gz=record),
        "manifest with wrong types": zipped(
            manifest_json=manifest.replace(b'"schema": 1', b'"schema": true'), record_json_gz=record
        ),
        "manifest too long": zipped(manifest_json=b" " * 70_000 + manifest, record_json_gz=record),
        "record edited": zipped(manifest_json=manifest, record_json_gz=edited),
        "record cut": zipped(manifest_json=manifest, record_json_gz=record[:-9]),
        "zip bomb": zipped(manifest_json=manifest, record_json_gz=b"\0" * 50_000_000),
        "gzip bomb": zipped(manifest_json=manifest, record_json_gz=jsonio.gzip_bytes(b"\0" * 50_000_000)),
    }


@pytest.mark.parametrize(
    "what",
    [
        "not a zip",
        "cut",
        "empty",
        "no record",
        "no manifest",
        "manifest is no JSON",
        "manifest too long",
        "manifest with wrong types",
        "record edited",
        "record cut",
        "zip bomb",
        "gzip bomb",
    ],
)
def test_bytes_that_nobody_honest_stored(fake, repo, gate, planted, what):
    run = fake.run(repo)
    assert planted(run, broken_zips(gate, run)[what])


def test_a_record_of_a_future_schema_names_the_cure(fake, repo, gate):
    run = fake.run(repo)
    data = gate.zip(run)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        manifest, record = archive.read("manifest.json"), jsonio.gunzip(archive.read("record.json.gz"), 10**6, "x")
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("manifest.json", manifest)
        archive.writestr("record.json.gz", record.replace(b'"schema":1', b'"schema":2'))
    gate.plant(run, out.getvalue())
    assert "newer than this gate knows" in gate.find().refused[0]


# -- none ----------


def test_never_published(gate):
    found = gate.find()
    assert (found.kind, found.refused) == ("never", ()) and "first run there creates" in found.cure


def test_strangers_artifacts_are_no_trace_of_a_baseline(fake, repo, gate):
    """Otherwise a fork could keep a repository from ever getting its first baseline."""
    fork = fake.fork(repo, by="stranger")
    pr = fake.open_pr(repo, "stranger", {"a": "1"}, head_repo=fork, branch="main")
    gate.plant(fake.run(repo, pr=pr))
    gate.plant(fake.run(repo, path=".github/workflows/other.yml"))
    expired = gate.plant(fake.run(repo, "pull_request", head_sha=repo.tip))
    fake.expire(expired)
    found = gate.find()
    assert found.kind == "never" and len(found.refused) == 3


def test_a_first_run_that_failed_leaves_no_trace_either(fake, repo, gate):
    gate.plant(fake.run(repo, conclusion="failure"))
    assert gate.find().kind == "never"


def test_expired_is_not_never(fake, gate):
    gate.publish()
    fake.clock.advance(days=91)
    found = gate.find()
    assert found.kind == "expired" and "workflow_dispatch" in found.cure
    error = found.error()
    assert error.exit_code == 3 and "has expired" in error.text() and "What to do" in error.text()


def test_only_newer_ones_than_the_base(fake, repo, gate):
    root = repo.tip
    gate.publish()
    found = gate.find(root)
    assert found.kind == "elsewhere" and "update the branch" in found.cure
    assert "not contained in the base" in found.error().text()


def test_a_tag_called_main_is_no_trace_of_a_baseline(fake, repo, gate):
    side = fake.commit(repo, {"evil": "1"}, "side").sha
    gate.plant(fake.run(repo, path=".github/workflows/evil.yml", head_branch="main", head_sha=side))
    assert gate.find().kind == "never"


def test_only_unusable_ones(fake, repo, gate):
    gate.plant(fake.run(repo), b"damaged")
    found = gate.find()
    assert found.kind == "unacceptable" and "workflow_dispatch" in found.cure


def test_an_artifact_that_expires_while_we_look(fake, gate):
    gate.publish()
    fake.fail_next("GET", "/zip", 410, body={"message": "Artifact has expired"})
    assert gate.find().kind == "expired"


def test_a_run_that_was_deleted(fake, gate):
    gate.publish()
    fake.fail_next("GET", r"/actions/runs/\d+$", 404, body={"message": "Not Found"})
    assert "does not exist any more" in gate.find().refused[0]


def test_trouble_on_the_way_is_an_error_and_not_a_missing_or_older_baseline(fake, gate):
    gate.publish(gate.record("old"))
    gate.publish(gate.record("new"))
    fake.fail_next("GET", r"/actions/runs/\d+$", 500, times=5)
    with pytest.raises(GitHubError):
        gate.find()


def test_a_long_list_of_reasons_is_cut_and_counted(fake, repo, gate):
    for _ in range(15):
        gate.plant(fake.run(repo, path=".github/workflows/other.yml"), b"")
    found = gate.find()
    assert len(found.refused) == 11 and "5 more" in found.refused[-1] and found.kind == "never"


def test_a_search_that_had_to_stop_does_not_claim_that_there_never_was_one(fake, repo, gate):
    gate.publish()
    for _ in range(30):
        gate.plant(fake.run(repo, path=".github/workflows/other.yml"), b"")
    found = gate.find()
    assert found.kind == "unacceptable" and "25 of 31" in found.refused[0]


# -- age ----------


@pytest.mark.parametrize(("days", "warned"), [(1, False), (75, False), (77, True), (89, True)])
def test_from_fourteen_days_before_the_end_there_is_a_warning(fake, gate, days, warned):
    gate.publish()
    fake.clock.advance(days=days)
    found = gate.find()
    assert found.info.age_days == pytest.approx(days, abs=0.01)
    assert found.info.expires_in_days == pytest.approx(90 - days, abs=0.01)
    assert bool(found.notes) == warned and (not warned or "expires in" in found.notes[0])


def test_carrying_renews_the_lifetime_but_not_the_age(fake, gate):
    gate.publish()
    fake.clock.advance(days=80)
    found = gate.find()
    gate.publish(found.record, "carried", carried_from=found.artifact_id)
    info = gate.find().info
    assert info.expires_in_days == pytest.approx(90, abs=0.01) and info.age_days == pytest.approx(80, abs=0.01)


# -- publishing ----------


def test_a_record_of_another_gate_or_with_another_provenance_is_not_published(gate):
    run = gate.push()
    for record, state in ((gate.record(gate="other"), "bootstrap"), (gate.record(), "approved")):
        with pytest.raises(ValueError, match="cannot be published"):
            gate.store(run).publish(pack(record), state, head_sha=run.head_sha, run_id=run.id)
    with pytest.raises(InvalidInput):
        gate.store(run).publish(b"damaged", "carried", head_sha=run.head_sha, run_id=run.id)


def test_without_an_artifact_service_publishing_says_so(gate):
    run = gate.push()
    store = gate.store()
    with pytest.raises(Unavailable):
        store.publish(pack(gate.record()), "bootstrap", head_sha=run.head_sha, run_id=run.id)


def test_a_baseline_under_the_second_name_is_found(fake, gate):
    run = gate.push()
    fake.artifact(run, NAME).finalized = False
    assert gate.publish(run=run).name == f"{NAME}.2"
    assert isinstance(gate.find(), Found)


def test_publishing_again_in_a_second_attempt_replaces_the_first(fake, gate):
    run = gate.push()
    gate.publish(gate.record("one"), run=run)
    fake.rerun(run)
    gate.publish(gate.record("two"), run=run)
    assert gate.find().record.rankings["q1"].docs[0] == "two"
    assert (
        replace(gate.find().info, age_days=0).digest
        == gate.record("two", created=gate.find().record.created, commit=gate.find().record.commit).digest
    )


# -- what main retrieves now, beside its baseline ----------


def now(found):
    return found.latest and found.latest.rankings["q1"].docs[0]


def test_the_run_that_carries_a_baseline_leaves_its_own_record_beside_it(fake, gate):
    gate.publish(gate.record("approved"))
    run = gate.push()
    gate.publish(gate.record("approved"), "carried", run=run, latest=gate.latest(run, "newer"))
    found = gate.find()
    assert found.record.rankings["q1"].docs[0] == "approved" and now(found) == "newer" and not found.notes
    assert (found.latest.commit, found.latest.provenance.kind) == (run.head_sha, "latest")


def test_a_run_that_became_the_baseline_itself_has_no_other_record(gate):
    gate.publish()
    gate.publish(gate.record("b", "approved"), "approved")
    assert gate.find().latest is None and not gate.find().notes


@pytest.mark.parametrize("conclusion", ["failure", None])
def test_a_run_that_ended_red_or_is_under_way_moves_what_main_retrieves_and_not_the_baseline(fake, gate, conclusion):
    gate.publish(gate.record("approved"))
    first = gate.push()
    gate.publish(gate.record("approved"), "carried", run=first, latest=gate.latest(first, "green"))
    second = gate.push()
    if conclusion:
        gate.publish(gate.record("other"), "carried", run=second, latest=gate.latest(second, "red"), conclusion=conclusion)
    else:
        gate.store(second).publish(pack(gate.record("other")), "carried", head_sha=second.head_sha, run_id=second.id, job="gate",
                                   latest=gate.latest(second, "red"))
    found = gate.find()
    assert found.record.rankings["q1"].docs[0] == "approved" and found.published_at == first.head_sha and now(found) == "red"
    # What builds on the commit before it has not seen it.
    assert now(gate.find(first.head_sha)) == "green"


def test_strangers_cannot_say_what_main_retrieves(fake, repo, gate):
    gate.publish(gate.record("approved"))
    run = gate.push()
    gate.publish(gate.record("approved"), "carried", run=run, latest=gate.latest(run, "good"))
    stored = fake.artifacts_named(NAME)[0].data
    pr = fake.open_pr(repo, "ann", {"a": "1"})
    gate.plant(fake.run(repo, pr=pr), stored)
    gate.plant(fake.run(repo, path=".github/workflows/evil.yml"), stored)
    assert now(gate.find()) == "good"


def test_two_runs_at_once_leave_the_approved_baseline_and_the_later_runs_record(fake, gate):
    gate.publish(gate.record("first"))
    first = gate.find()
    approving, carrying = gate.push(), gate.push()
    gate.publish(gate.record("approved", "approved"), "approved", run=approving)
    gate.publish(first.record, "carried", run=carrying, carried_from=first.artifact_id, latest=gate.latest(carrying, "later"))
    found = gate.find()
    assert found.record.rankings["q1"].docs[0] == "approved" and now(found) == "later"


@pytest.mark.parametrize("kind", ["latest", "local"])
@pytest.mark.parametrize("state", ["carried", "latest", "bootstrap"])
def test_only_what_may_be_a_baseline_is_published_as_one(gate, kind, state):
    run = gate.push()
    with pytest.raises(ValueError, match="cannot be published"):
        gate.store(run).publish(pack(gate.record(kind=kind)), state, head_sha=run.head_sha, run_id=run.id)


def test_a_record_that_would_make_the_artifact_too_large_to_read_is_left_out(gate, monkeypatch):
    gate.publish(gate.record("approved"))
    run = gate.push()
    latest = gate.latest(run, "newer")
    monkeypatch.setattr("gate.baseline.stores.MAX_PACKED", len(pack(gate.record("approved"))) + len(pack(latest)) - 1)
    gate.publish(gate.record("approved"), "carried", run=run, latest=latest)
    found = gate.find()
    assert found.record.rankings["q1"].docs[0] == "approved" and found.latest is None and "baseline only" in found.notes[0]
