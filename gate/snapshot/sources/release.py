"""Source ``release``: a file of a GitHub release."""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import quote, urlsplit

from gate.errors import InvalidInput, SnapshotUnavailable
from gate.fields import Section
from gate.secret_text import SecretText
from gate.snapshot.sources.base import Room, own_repository, read_name, read_repository, read_sha256, read_size, read_token, token_of


class Options(NamedTuple):
    """``sha256``: of the asset, an archive; ``limit``: its bytes at most. ``repository``: "" for the job's own."""

    repository: str
    tag: str
    asset: str
    sha256: str
    limit: int
    token: SecretText = SecretText()

    @property
    def shown(self) -> str:
        return f"asset {self.asset} of release {self.tag}" + (f" of {self.repository}" if self.repository else "")


def read(section: Section) -> Options:
    """Faults are remembered in the section."""
    return Options(read_repository(section), read_name(section, "tag", required=True), read_name(section, "asset", required=True),
                   read_sha256(section), read_size(section), read_token(section))


def fetch(options: Options, room: Room) -> None:
    """See :mod:`gate.snapshot.sources`. A tag can be moved and an asset replaced; the digest is what holds."""
    from gate.github.failures import NotFound
    from gate.github.transport import Transport
    from gate.snapshot.archive import fetch_archive
    from gate.snapshot.download import Wanted

    world = room.world
    name, token = own_repository(options.repository, world, "release"), token_of(options.token, world, "release", world.token)
    transport = Transport(world.api_url, token, sleep=room.sleep)
    try:
        release = transport.get(f"/repos/{name}/releases/tags/{quote(options.tag, safe='')}")
    except NotFound:
        raise SnapshotUnavailable(f"{name} has no release with the tag {options.tag!r}, or the token may not read it",
                                  "see that the release is published (a draft has no tag), or give a `token` that may read the "
                                  "repository") from None
    assets = [asset for asset in release.get("assets") or () if isinstance(asset, dict) and asset.get("state") == "uploaded"]
    found = next((asset for asset in assets if asset.get("name") == options.asset), None)
    if found is None:
        names = ", ".join(sorted(str(asset.get("name"))[:80] for asset in assets)[:10]) or "none"
        raise SnapshotUnavailable(f"{options.shown}: the release has no such asset; it has {names}", "upload it, or name one that is there")
    recorded = str(found.get("digest") or "").removeprefix("sha256:")
    if recorded and recorded != options.sha256:
        raise InvalidInput(f"{options.shown}: is sha256:{recorded}, but the configuration pins sha256:{options.sha256}",
                           "the release was changed after it was pinned: put the pinned file back, or, when the new one is meant, set "
                           "`sha256` and `snapshot.digest` to it")
    headers = {"Accept": "application/octet-stream"} | ({"Authorization": f"Bearer {token}"} if token else {})
    url = f"{world.api_url.rstrip('/')}/repos/{name}/releases/assets/{int(found['id'])}"
    fetch_archive(room, Wanted(url, options.shown, options.limit, headers, urlsplit(world.api_url).scheme == "http"), options.sha256)
