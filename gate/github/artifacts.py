"""Artifacts as the public REST API shows them: listing and downloading. Uploading is in :mod:`gate.github.artifact_upload`."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from gate.github.answers import network_trouble, read_capped
from gate.github.archives import BadArchive, Caps, make_zip, read_zip
from gate.github.failures import Redirected, ServerTrouble, TooMany
from gate.github.repository import Repository
from gate.github.transport import TIMEOUTS, USER_AGENT

__all__ = [
    "Artifact",
    "ArtifactTooLarge",
    "BadArchive",
    "Caps",
    "WrongDigest",
    "download",
    "list_artifacts",
    "list_run_artifacts",
    "make_zip",
    "read_zip",
]

MAX_DOWNLOAD = 300 * 1024**2
MAX_PAGES = 10
_TRIES = 3


class ArtifactTooLarge(ServerTrouble):
    """Larger than the gate downloads."""


class WrongDigest(ServerTrouble):
    """The bytes are not those that GitHub recorded at the upload."""


@dataclass(frozen=True)
class Artifact:
    """One line of the list. ``run_*`` and ``*_repository_id`` come from GitHub, the name from whoever uploaded it. Times: ISO
    8601."""

    id: int
    name: str
    size: int
    expired: bool
    digest: str
    expires_at: str
    run_id: int
    repository_id: int
    head_repository_id: int
    head_branch: str
    head_sha: str


def list_artifacts(repository: Repository, name: str) -> list[Artifact]:
    """Everything of exactly that name, whoever made it, newest first; expired ones too as long as GitHub remembers them.

    At most the newest thousand: strangers can add to this list, and the newest come first.
    """
    found: list[Artifact] = []
    try:
        for item in repository.transport.pages(
            f"{repository.path}/actions/artifacts", {"name": name}, key="artifacts", max_pages=MAX_PAGES
        ):
            found.append(_artifact(item))
    except TooMany:
        pass
    return sorted((item for item in found if item.name == name), key=lambda item: item.id, reverse=True)


def list_run_artifacts(repository: Repository, run_id: int, name: str = "") -> list[Artifact]:
    """The artifacts of one run, all of them or those of exactly that name, newest first; at most a hundred, since a
    run's own code decides how many there are."""
    found: list[Artifact] = []
    query = {"name": name} if name else {}
    try:
        for item in repository.transport.pages(
            f"{repository.path}/actions/runs/{run_id}/artifacts", query, key="artifacts", max_pages=1
        ):
            found.append(_artifact(item))
    except TooMany:
        pass
    return sorted((item for item in found if name in ("", item.name)), key=lambda item: item.id, reverse=True)


def _artifact(value: Mapping[str, Any]) -> Artifact:
    run = value.get("workflow_run") or {}
    return Artifact(
        id=int(value["id"]),
        name=str(value.get("name", "")),
        size=int(value.get("size_in_bytes") or 0),
        # Anything but a plain "no" counts as expired.
        expired=value.get("expired") is not False,
        digest=str(value.get("digest") or ""),
        expires_at=str(value.get("expires_at") or ""),
        run_id=int(run.get("id") or 0),
        repository_id=int(run.get("repository_id") or 0),
        head_repository_id=int(run.get("head_repository_id") or 0),
        head_branch=str(run.get("head_branch") or ""),
        head_sha=str(run.get("head_sha") or ""),
    )


def download(repository: Repository, artifact: Artifact, *, limit: int = MAX_DOWNLOAD, session: Any = None) -> bytes:
    """The artifact's bytes, checked against size cap and recorded digest. Raises Gone when it has expired.

    GitHub redirects to a storage host. Our token must not go there, and the storage refuses requests that carry one.
    """
    what = f"artifact {artifact.id}"
    if artifact.size > limit:
        raise ArtifactTooLarge(f"{what}: {artifact.size} bytes, more than the gate downloads ({limit})", final=True)
    transport = repository.transport
    for tries in range(1, _TRIES + 1):
        answer = transport.request("GET", f"{repository.path}/actions/artifacts/{artifact.id}/zip", redirect=True, limit=limit)
        if answer.status < 300:
            data = answer.body
            break
        try:
            data = _fetch(answer.headers.get("location", ""), limit, what, urlsplit(transport.api_url).scheme, session)
            break
        except ServerTrouble as trouble:
            # The address is good for a minute only, so a new try begins with a new address.
            if trouble.final or tries == _TRIES:
                raise
            transport.sleep(2.0 ** (tries - 1))
    if artifact.digest and artifact.digest != "sha256:" + hashlib.sha256(data).hexdigest():
        raise WrongDigest(
            f"{what}: its bytes do not have the digest that GitHub recorded at the upload ({artifact.digest})", final=True
        )
    return data


def no_credentials(request: Any) -> Any:
    """Sends no credentials, not even those of a .netrc."""
    request.headers.pop("Authorization", None)
    return request


def _fetch(url: str, limit: int, what: str, api_scheme: str, session: Any) -> bytes:
    import requests

    try:
        parts = urlsplit(url)
    except ValueError:
        parts = urlsplit("")
    if parts.scheme not in ("https", api_scheme) or not parts.hostname:
        raise Redirected(f"{what}: GitHub names no usable address for the download")
    # The address holds a signature, so it appears in no message.
    told = f"{what} from {parts.hostname}"
    try:
        with (session or requests.Session()).get(
            url, headers={"User-Agent": USER_AGENT}, auth=no_credentials, timeout=TIMEOUTS, allow_redirects=False, stream=True
        ) as response:
            if response.status_code != 200:
                raise ServerTrouble(f"{told}: the storage answered {response.status_code}", response.status_code)
            return read_capped(response, limit, told)
    except requests.RequestException as error:
        trouble = network_trouble(told, error)
        raise ServerTrouble(
            f"{told}: the download broke off ({type(error).__name__})", 0, trouble.cure, final=trouble.final
        ) from None
