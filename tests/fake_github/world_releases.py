"""Verbs for releases and their assets."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from .clock import Clock, Ids
from .state import Asset, Release, Repo, User


class ReleaseVerbs:
    clock: Clock
    ids: Ids

    def release(self, repo: Repo, tag: str, assets: Mapping[str, bytes], *, by: User | None = None, digests: bool = True) -> Release:
        """A published release. ``digests``: whether the service recorded them, as it does since 2025."""
        author, now = by or repo.owner, self.clock.tick()
        made = Release(self.ids("release"), tag, repo.default_branch, author, now)
        for name, data in assets.items():
            digest = "sha256:" + hashlib.sha256(data).hexdigest() if digests else None
            made.assets.append(Asset(self.ids("asset"), name, data, author, now, digest))
        repo.releases[tag] = made
        return made

    def replace_asset(self, release: Release, name: str, data: bytes) -> None:
        """Delete an asset and upload another one of the same name."""
        old = next(asset for asset in release.assets if asset.name == name)
        digest = old.digest and "sha256:" + hashlib.sha256(data).hexdigest()
        release.assets[release.assets.index(old)] = Asset(self.ids("asset"), name, data, old.uploader, self.clock.tick(), digest)
