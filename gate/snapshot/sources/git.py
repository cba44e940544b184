"""Source ``git``: a folder of a repository at one commit.

From GitHub the commit comes as an archive through the API, which needs no git; from elsewhere through the git of the machine. Either way
nothing is checked out: no hooks, no filters, no submodules.
"""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import NamedTuple
from urllib.parse import quote, urlsplit

from gate.fields import Section
from gate.secret_text import SecretText
from gate.snapshot.sources.base import Room, read_size, read_token, read_url, token_of
from gate.world import World

_COMMIT = re.compile(r"[0-9a-f]{40}\Z")
GITHUB, GITHUB_API = "github.com", "https://api.github.com"


class Options(NamedTuple):
    """``path``: the snapshot's folder in the repository, "" for its root; ``limit``: bytes of what is fetched."""

    url: str
    commit: str
    path: str
    limit: int
    token: SecretText = SecretText()

    @property
    def shown(self) -> str:
        return f"{self.url.partition('?')[0]} at {self.commit[:12]}" + (f", {self.path}" if self.path else "")


def read(section: Section) -> Options:
    """Faults are remembered in the section."""
    commit, path = section.text("commit", "", required=True), section.text("path", "")
    if commit and not _COMMIT.match(commit):
        section.problem("commit", f"`commit` must be 40 hex digits, not {commit[:80]!r}: a branch or a tag can be moved, and then the same "
                                  "configuration means another index; `git ls-remote URL REF` prints the commit")
    plain = PurePosixPath(path).as_posix() if path else ""
    if path and (path.startswith(("/", "-")) or ".." in PurePosixPath(path).parts or "\\" in path or not path.isprintable()):
        section.problem("path", f"`path` must be a folder inside of the repository, not {path[:80]!r}")
    return Options(read_url(section, ("https", "ssh", "file")), commit, "" if plain == "." else plain, read_size(section),
                   read_token(section))


def api_of(url: str, world: World) -> tuple[str, str, str]:
    """API, owner/name and the job's token for a repository on GitHub; all empty for one that is elsewhere."""
    parts = urlsplit(url)
    name = parts.path.strip("/").removesuffix(".git")
    if parts.scheme not in ("https", "http") or name.count("/") != 1 or parts.query or parts.fragment:
        return "", "", ""
    if parts.netloc == _host_of(world.api_url):
        return world.api_url.rstrip("/"), name, world.token
    # A job on another GitHub: its token must not go to this one.
    return (GITHUB_API, name, "") if parts.netloc == GITHUB else ("", "", "")


def _host_of(api_url: str) -> str:
    """``https://api.github.com`` → ``github.com``; GitHub Enterprise Server has both under one host."""
    host = urlsplit(api_url).netloc
    return host.removeprefix("api.") if host == "api.github.com" or host.endswith(".ghe.com") else host


def fetch(options: Options, room: Room) -> None:
    """See :mod:`gate.snapshot.sources`."""
    api, name, own = api_of(options.url, room.world)
    token = token_of(options.token, room.world, "git", own)
    if not api:
        from gate.snapshot.sources.git_command import fetch_by_command

        fetch_by_command(options, token, room)
        return
    from gate.snapshot.archive import fetch_archive
    from gate.snapshot.download import Wanted

    headers = {"Authorization": f"Bearer {token}"} if token else {}
    url = f"{api}/repos/{quote(name)}/tarball/{options.commit}"
    plain = urlsplit(api).scheme == "http"
    # Everything is in a folder that is called after repository and commit.
    fetch_archive(room, Wanted(url, options.shown, options.limit, headers, plain), drop=1, within=options.path)
