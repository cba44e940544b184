"""The image in a job whose snapshot no step has put there: the retriever, another user, reads what the gate has fetched."""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime

import pytest
import yaml

from tests.conftest import ROOT
from tests.e2e import engine
from tests.e2e.stories import RunnerStory, example_files, need_engine
from tests.e2e.test_image_source import Registry
from tests.fake_github import FakeGitHub
from tests.snapshot.sources import tar_bytes

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]
FILES = {name: data for name, data in example_files().items() if name.startswith("snapshot/")}


def without_snapshot(**source) -> dict[str, bytes]:
    """The example repository, with a source in the place of its snapshot's folder."""
    files = {name: data for name, data in example_files().items() if name not in FILES}
    config = yaml.safe_load(files["retrieval-gate.yml"])
    config["snapshot"] = {"digest": config["snapshot"]["digest"], "source": source}
    return files | {"retrieval-gate.yml": yaml.safe_dump(config).encode()}


@pytest.fixture
def run(tmp_path, capsys):
    """Run the action on the first push to a repository with this source."""
    need_engine()
    with FakeGitHub(bind="0.0.0.0", start=datetime.now(UTC)) as fake:
        RunnerStory.image = engine.build_action_image(ROOT)

        def to(*, asset=b"", **source):
            story = RunnerStory(fake, tmp_path, capsys, without_snapshot(**source))
            if asset:
                fake.release(story.repo, "wiki-1", {"s.tar.gz": asset})
            return story, story.on_push()

        yield to
        fake.assert_clean()


def test_a_release_is_fetched_with_the_jobs_token_and_belongs_to_the_workspaces_owner(run):
    data = tar_bytes(FILES)
    story, done = run(asset=data, release={"tag": "wiki-1", "asset": "s.tar.gz", "sha256": hashlib.sha256(data).hexdigest()})
    assert done.code == 0, done.log
    owner = story.workspace.stat().st_uid
    assert {path.stat().st_uid for path in (story.workspace / ".retrieval-gate-cache").rglob("*")} == {owner}
    assert done.report["metadata"]["snapshot_digest"] == json.loads(FILES["snapshot/manifest.json"])["tree_digest"]


def test_an_image_is_read_by_the_engine_of_the_runner(run):
    registry = Registry()
    try:
        _, done = run(image={"image": registry.image(FILES)})
        assert done.code == 0, done.log
    finally:
        registry.stop()


def test_a_repository_that_takes_a_git_command_says_that_the_image_has_none(run):
    _, done = run(git={"url": "https://git.example.invalid/acme/index", "commit": "a" * 40})
    assert done.code == 3 and "takes a git command" in done.log
