"""The gate in a job, with a snapshot that no step has put there."""

import hashlib

import pytest
import yaml

from gate.snapshot.build import build_bm25
from tests.fake_github import GATE_PATH
from tests.snapshot.sources import digest_of, files_of, tar_bytes
from tests.snapshot.support import corpus_of
from tests.story import Story, lines

QUERIES = {"honey": "b", "hills": "a", "zebras stripes": "c", "err-4417": "d"}


@pytest.fixture
def built(tmp_path):
    """Two snapshots of the same corpus, the second with another idea of what matters, and what a release would hold of each."""
    corpus = corpus_of(tmp_path, ("a", "Ants", "ants make hills"), ("b", "Bees", "bees make honey"), ("c", "Zebras", "zebras have stripes"),
                       ("d", "", "err-4417 means full"))
    found = {}
    for name, more in (("one", {}), ("two", {"k1": 0.9})):
        build_bm25(corpus, tmp_path / name, **more)
        found[name] = (digest_of(tmp_path / name), tar_bytes(files_of(tmp_path / name, "snapshot/")))
    return found


def config(built, name: str, **source) -> str:
    digest, data = built[name]
    given = source or {"release": {"tag": name, "asset": "s.tar.gz", "sha256": hashlib.sha256(data).hexdigest()}}
    return yaml.safe_dump({"golden": "golden.jsonl", "depth": 10, "retriever": {"kind": "bm25"},
                           "snapshot": {"digest": digest, "source": given}})


@pytest.fixture
def story(fake, tmp_path, capsys, built):
    golden = lines({"id": f"q{n}", "query": query, "relevant": [doc]} for n, (query, doc) in enumerate(QUERIES.items()))
    made = Story(fake, tmp_path, capsys, {"retrieval-gate.yml": config(built, "one"), "golden.jsonl": golden, GATE_PATH: "name: gate\n"})
    made.releases = {name: fake.release(made.repo, name, {"s.tar.gz": data}) for name, (_, data) in built.items()}
    assert made.on_push().code == 0
    return made


def test_a_pull_request_that_pins_another_release_is_judged_on_its_snapshot(story, built):
    done = story.on_pull(story.pull({"retrieval-gate.yml": config(built, "two")}))
    assert done.code == 0 and done.report["metadata"]["snapshot_digest"] == built["two"][0]
    assert story.workspace.joinpath(".retrieval-gate-cache", "snapshots", built["two"][0][7:], "manifest.json").is_file()


def test_the_storage_of_releases_never_meets_the_token(story, fake):
    assert all("authorization" not in entry.headers for entry in fake.requests if entry.server == "blob" and entry.method == "GET")


def test_a_replaced_asset_is_exit_2_and_both_digests_are_in_the_comment(story, built, fake):
    new = tar_bytes({"evil": b"x"})
    fake.replace_asset(story.releases["one"], "s.tar.gz", new)
    pull = story.pull({"readme": "x"})
    done = story.on_pull(pull)
    assert done.code == 2 and done.verdict == "invalid"
    for digest in (hashlib.sha256(new).hexdigest(), hashlib.sha256(built["one"][1]).hexdigest()):
        assert digest in story.comments(pull)[0]


def test_a_release_that_is_gone_cannot_decide(story):
    story.repo.releases.clear()
    pull = story.pull({"readme": "x"})
    done = story.on_pull(pull)
    assert done.code == 3 and done.verdict == "cannot-decide" and "has no release with the tag" in story.comments(pull)[0]


def test_a_secret_that_a_fork_does_not_get_cannot_decide_and_is_named(story, built):
    https = {"url": "https://storage.example.com/s.tar.gz", "sha256": "0" * 64, "headers": {"Authorization": "Bearer ${STORAGE_TOKEN}"}}
    done = story.on_pull(story.pull({"retrieval-gate.yml": config(built, "one", https=https)}, author="eve", fork=True))
    assert done.code == 3 and "STORAGE_TOKEN" in str(done.report["problems"]) and "forks get no secrets" in done.report["cure"]


def test_a_branch_in_the_place_of_a_commit_is_exit_2_with_its_line(story, built):
    git = {"url": "https://github.com/acme/search", "commit": "main"}
    done = story.on_pull(story.pull({"retrieval-gate.yml": config(built, "one", git=git)}))
    problem, = done.report["problems"]
    assert done.code == 2 and "`commit` must be 40 hex digits" in problem and "retrieval-gate.yml:" in problem


def test_a_cache_that_a_pull_request_brings_along_is_not_believed(story, built):
    hexes = built["one"][0][7:]
    pull = story.pull({f".retrieval-gate-cache/snapshots/{hexes}/manifest.json": "{}",
                       f".retrieval-gate-cache/snapshots/{hexes}/units.jsonl": "{}"})
    done = story.on_pull(pull)
    assert done.code == 0 and any("was damaged" in note for note in done.report["notes"])


def test_a_link_in_the_place_of_the_cache_is_exit_2(story, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    story.prepare = lambda workspace: (workspace / ".retrieval-gate-cache").symlink_to(tmp_path / "elsewhere")
    assert story.on_pull(story.pull({"readme": "x"})).code == 2 and not list((tmp_path / "elsewhere").iterdir())
