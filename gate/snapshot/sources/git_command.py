"""Exactly one commit through the git of this machine, with none of its configuration."""

from __future__ import annotations

import base64
import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from gate.errors import InvalidInput, SnapshotUnavailable
from gate.snapshot.download import MAX_SECONDS
from gate.snapshot.sources.base import Room
from gate.snapshot.unpack import unpack

if TYPE_CHECKING:
    from gate.snapshot.sources.git import Options

_PASSED_ON = ("PATH", "LANG", "SSH_AUTH_SOCK", "HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR")
_SAID = 400
_NO_GIT = ("install git where the gate runs; the action's image has none: there, take a repository on GitHub, or the archive of the commit "
           "that most forges offer at an address (`source: {https: …}`)")


def fetch_by_command(options: Options, token: str, room: Room) -> None:
    """Fill the room. ``token``: sent to the repository's own host alone, "" for none."""
    git = shutil.which("git")
    if git is None:
        raise SnapshotUnavailable(f"{options.shown}: takes a git command, and there is none", _NO_GIT)
    repository, archive = room.scratch / "repository.git", room.scratch / "commit.tar"
    environment = _environment(options.url, token, room.world.variables)

    def run(what: str, *words: str) -> None:
        try:
            done = subprocess.run([git, *words], env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=MAX_SECONDS,
                                  cwd=room.scratch, preexec_fn=_limited(options.limit))
        except subprocess.TimeoutExpired:
            raise SnapshotUnavailable(f"{options.shown}: git has not ended within {MAX_SECONDS / 60:.0f} minutes",
                                      "run the job again") from None
        if done.returncode:
            said = " ".join(done.stderr.decode(errors="replace").replace(token or "\0", "***").split())
            said = "".join(char for char in said if char.isprintable())[-_SAID:]
            if "File too large" in said:
                raise InvalidInput(f"{options.shown}: is larger than `max_mb` allows ({options.limit // 1024**2} MB)",
                                   "raise `max_mb` when this is the repository that is meant")
            raise SnapshotUnavailable(f"{options.shown}: {what} ({said})", "see that address, commit and `token` are right, and that the "
                                      "server hands out single commits")

    run("git cannot make a repository", "init", "--quiet", "--bare", "--template=", str(repository))
    inside = ("-C", str(repository))
    run("git cannot fetch this commit", *inside, "fetch", "--quiet", "--depth=1", "--no-tags", "--no-recurse-submodules",
        "--no-write-fetch-head", "--no-auto-gc", "--", options.url, options.commit)
    paths = ("--", options.path) if options.path else ()
    run("git finds no such path in this commit", *inside, "archive", "--format=tar", f"--output={archive}", options.commit, *paths)
    unpack(archive, room.into, options.shown, within=options.path)


def _environment(url: str, token: str, variables: Mapping[str, str]) -> dict[str, str]:
    """Settings of machine and user are left out: they can name hooks, filters, helpers and other addresses."""
    settings = {"protocol.allow": "never", "core.hooksPath": os.devnull, "http.followRedirects": "false", "credential.helper": "",
                "http.lowSpeedLimit": "1000", "http.lowSpeedTime": "60", "transfer.bundleURI": "false",
                "fetch.unpackLimit": "1"}
    settings |= {f"protocol.{scheme}.allow": "always" for scheme in ("https", "ssh", "file")}
    if url.startswith("http://"):
        settings["protocol.http.allow"] = "always"
    if token:
        basic = base64.b64encode(f"x-access-token:{token}".encode()).decode()
        settings[f"http.{url}.extraHeader"] = f"Authorization: Basic {basic}"
    passed = {name: value for name in _PASSED_ON if (value := os.environ.get(name) or variables.get(name))}
    numbered = {f"GIT_CONFIG_{part}_{n}": text for n, pair in enumerate(settings.items()) for part, text in zip(("KEY", "VALUE"), pair,
                                                                                                            strict=True)}
    return passed | numbered | {
        "GIT_CONFIG_COUNT": str(len(settings)), "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull, "GIT_TERMINAL_PROMPT": "0",
        "GIT_LFS_SKIP_SMUDGE": "1", "GIT_ATTR_NOSYSTEM": "1", "GIT_LITERAL_PATHSPECS": "1",
        "GIT_ASKPASS": "true", "GIT_SSH_COMMAND": "ssh -o BatchMode=yes", "HOME": os.devnull, "LC_ALL": "C"}


def _limited(size: int) -> Callable[[], None] | None:
    """No file of more than ``size`` bytes: of a pack nobody knows the size beforehand."""
    try:
        import resource
    except ImportError:
        return None

    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # an error that git puts into words, instead of a silent end
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    return limit
