"""Baselines among a repository's artifacts: all that have the name, whoever made them."""

from __future__ import annotations

from typing import Any

from gate.baseline.choose import Origin, RunFacts
from gate.baseline.latest import read_latest
from gate.baseline.manifest import history_bytes_of, latest_bytes_of, unpack_artifact
from gate.baseline.shelf import Item, Loaded, Words
from gate.github.artifacts import Artifact, download, list_artifacts
from gate.github.repository import Repository


class ArtifactShelf:
    """``names``: those that count, the first is the usual one; ``url``: the repository's page."""

    def __init__(self, repository: Repository, names: tuple[str, ...], url: str, session: Any = None) -> None:
        self._repository, self._names, self._url, self._session = repository, names, url, session
        self.words = Words(names[0], "artifacts of this name",
                           f"there are artifacts `{names[0]}` from the default branch, but none may be used here")

    def items(self) -> list[Item]:
        """By run and not by time: re-running an old push makes a new artifact of an old state."""
        listed = [artifact for name in self._names for artifact in list_artifacts(self._repository, name)]
        listed.sort(key=lambda artifact: (artifact.run_id, artifact.id), reverse=True)
        return [self._item(artifact) for artifact in listed]

    def _item(self, artifact: Artifact) -> Item:
        origin = Origin(artifact.name, artifact.repository_id, artifact.head_repository_id, artifact.head_branch, artifact.head_sha,
                        artifact.expired)
        return Item(f"artifact {artifact.id}", artifact.id, artifact.run_id, origin,
                    f"{self._url}/actions/runs/{artifact.run_id}/artifacts/{artifact.id}", artifact.expires_at, source=artifact)

    def load(self, item: Item) -> Loaded:
        """See :class:`~gate.baseline.shelf.Shelf`."""
        packed = download(self._repository, item.source, session=self._session)
        manifest, record, data = unpack_artifact(packed, item.label)
        return Loaded(manifest, record, data, lambda: read_latest(lambda: latest_bytes_of(packed), manifest, record),
                      lambda: history_bytes_of(packed))

    def forgotten(self, item: Item) -> RunFacts | None:
        """An artifact goes with its run."""
        return None
