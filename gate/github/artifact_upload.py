"""Uploading an artifact from inside of a job: the v4 protocol of the artifact service (github.com, *.ghe.com)."""

from __future__ import annotations

import base64
import binascii
import contextlib
import hashlib
import random as _random
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote, urlsplit

from gate import jsonio
from gate.errors import GateError, GitHubError
from gate.github import patience
from gate.github.answers import network_trouble
from gate.github.artifacts import no_credentials
from gate.github.failures import Conflict, NotFound, ServerTrouble
from gate.github.transport import TIMEOUTS, USER_AGENT, Transport

BLOCK = 8 * 1024**2
_SERVICE = "/twirp/github.actions.results.api.v1.ArtifactService/"
_FORBIDDEN = re.compile(r'["<>|*?:\r\n\\/]')
_JSON = "application/json"
# Names that follow when one is taken for good. Gate ids have no dot, so this is nobody else's name.
SUFFIXES = ("", ".2")
_CURE = (
    "use a runner with the v4 artifact service (github.com, *.ghe.com); GitHub Enterprise Server has none: keep the baseline in a "
    "branch there (`baseline.store: branch`; README, «Where the baseline is kept»)"
)


class Unavailable(GitHubError):
    """No artifact service here, or it takes nothing more (quota)."""


@dataclass(frozen=True)
class Uploaded:
    """``name`` may carry a suffix when the wished one was taken; ``digest`` is that of the zip, as REST shows it."""

    id: int
    name: str
    size: int
    digest: str


class _Reserved(ServerTrouble):
    """The upload could not be finished, and its name stays taken although nothing is to be seen under it."""


class ArtifactService:
    """The service as the runner's variables describe it. Raises :class:`Unavailable` when they do not."""

    def __init__(
        self,
        environ: Mapping[str, str],
        *,
        session: Any = None,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.time,
        random: Callable[[], float] = _random.random,
    ) -> None:
        url, token = environ.get("ACTIONS_RESULTS_URL", ""), environ.get("ACTIONS_RUNTIME_TOKEN", "")
        missing = [name for name, value in (("ACTIONS_RESULTS_URL", url), ("ACTIONS_RUNTIME_TOKEN", token)) if not value]
        if missing:
            raise Unavailable(f"no artifact service: {' and '.join(missing)} not set", 0, _CURE)
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.netloc:
            raise Unavailable("no artifact service: ACTIONS_RESULTS_URL is no address", 0, _CURE)
        self._ids = backend_ids(token)
        self._scheme, self._clock, self._sleep, self._random, self._session = parts.scheme, clock, sleep, random, session
        # Only the origin counts; the path is dropped, as the official client does.
        try:
            self._transport = Transport(
                f"{parts.scheme}://{parts.netloc}", token, session=session, sleep=sleep, clock=clock, random=random
            )
        except GateError:
            raise Unavailable(
                "no artifact service: ACTIONS_RESULTS_URL or ACTIONS_RUNTIME_TOKEN cannot be used", 0, _CURE
            ) from None

    def upload(self, name: str, data: bytes, *, days: int | None = None) -> Uploaded:
        """Upload a zip. ``days``: the wished lifetime, cut by the repository's limit; None takes the repository's own.

        Artifacts cannot be changed. A name that is taken in this run (a re-run) is freed and used again; where that fails (a
        parallel job, an upload that broke off) a suffixed name is used."""
        if not name or _FORBIDDEN.search(name):
            raise ValueError(f"{name!r} is no artifact name")
        for suffix in SUFFIXES[:-1]:
            try:
                return self._upload(name + suffix, data, days)
            except (Conflict, _Reserved):
                continue
        return self._upload(name + SUFFIXES[-1], data, days)

    def _upload(self, name: str, data: bytes, days: int | None) -> Uploaded:
        # version 4 without a mime type is what every server of this protocol understands.
        wish: dict[str, Any] = {"name": name, "version": 4}
        if days is not None:
            wish["expires_at"] = (datetime.fromtimestamp(self._clock(), UTC) + timedelta(days=days)).strftime(
                "%Y-%m-%dT%H:%M:%SZ"
            )
        try:
            created = self._call("CreateArtifact", wish)
        except Conflict:
            # Not to be found: taken by an upload that never finished. Creating again will say so.
            with contextlib.suppress(NotFound):
                self._call("DeleteArtifact", {"name": name})
            created = self._call("CreateArtifact", wish)
        except NotFound as error:
            raise Unavailable(f"no artifact service behind ACTIONS_RESULTS_URL ({error.problems[0]})", 404, _CURE) from None
        self._send(_text(created, "signed_upload_url", "signedUploadUrl"), data)
        digest = "sha256:" + hashlib.sha256(data).hexdigest()
        try:
            done = self._call("FinalizeArtifact", {"name": name, "size": str(len(data)), "hash": digest})
        except (ServerTrouble, NotFound) as trouble:
            done = self._finished(name, digest)
            if not done:
                raise _Reserved(trouble.problems[0], trouble.status, trouble.cure) from None
        number = _text(done, "artifact_id", "artifactId", "database_id", "databaseId")
        return Uploaded(int(number) if number.isdigit() else 0, name, len(data), digest)

    def _finished(self, name: str, digest: str) -> dict[str, Any]:
        """The artifact if it is complete after all, its answer having been lost; else an empty object."""
        try:
            listed = self._call("ListArtifacts", {"name_filter": name}).get("artifacts")
        except GitHubError:
            return {}
        return next((item for item in listed or [] if isinstance(item, dict) and item.get("digest") == digest), {})

    def _call(self, method: str, body: dict[str, Any]) -> dict[str, Any]:
        try:
            answer = self._transport.request("POST", _SERVICE + method, json={**self._ids, **body}, accept=_JSON, repeatable=True)
        except GitHubError as error:
            if patience.is_quota(error.problems[0]):
                raise Unavailable(
                    error.problems[0],
                    error.status,
                    "the account's storage for artifacts is used up: delete some, or wait "
                    "until GitHub has counted again (some hours)",
                ) from None
            raise
        value = answer.object()
        if method != "ListArtifacts" and value.get("ok") is not True:
            raise ServerTrouble(f"artifact service: {method} answered without `ok`", answer.status)
        return value

    # -- bytes ---------------------------------------------------------------------------------------------------------

    def _send(self, url: str, data: bytes) -> None:
        """Blocks in order, then the list of them; a single PUT is not understood everywhere."""
        parts = urlsplit(url)
        if parts.scheme not in ("https", self._scheme) or not parts.hostname:
            raise ServerTrouble("artifact service: it names no usable address for the upload", final=True)
        names: list[str] = []
        for start in range(0, max(len(data), 1), BLOCK):
            # All ids of one blob have to be equally long.
            names.append(base64.b64encode(f"block-{len(names):08d}".encode()).decode())
            self._put(f"{url}&comp=block&blockid={quote(names[-1], safe='')}", data[start : start + BLOCK], {})
        listed = "".join(f"<Latest>{name}</Latest>" for name in names)
        body = f'<?xml version="1.0" encoding="utf-8"?><BlockList>{listed}</BlockList>'.encode()
        self._put(f"{url}&comp=blocklist", body, {"x-ms-blob-content-type": "application/zip", "Content-Type": "application/xml"})

    def _put(self, url: str, data: bytes, headers: Mapping[str, str]) -> None:
        import requests

        if self._session is None:
            self._session = requests.Session()
        # The address holds a signature, so it appears in no message.
        what = f"artifact upload to {urlsplit(url).hostname}"
        for attempt in range(patience.MAX_ATTEMPTS):
            try:
                with self._session.put(
                    url,
                    data=data,
                    headers={"User-Agent": USER_AGENT, **headers},
                    auth=no_credentials,
                    timeout=TIMEOUTS,
                    allow_redirects=False,
                ) as response:
                    status = response.status_code
                if 200 <= status < 300:
                    return
                trouble = ServerTrouble(f"{what}: the storage answered {status}", status, "run the job again")
                again = patience.is_trouble(status) or status in (408, 429)
            except requests.RequestException as error:
                told = network_trouble(what, error)
                trouble = ServerTrouble(f"{what}: broke off ({type(error).__name__})", 0, told.cure, final=told.final)
                again = not told.final
            if not again or attempt + 1 == patience.MAX_ATTEMPTS:
                raise trouble
            self._sleep(patience.trouble_wait(attempt, self._random()))


def backend_ids(token: str) -> dict[str, str]:
    """The run's and the job's ids from the runtime token's ``scp`` claim. They name, they prove nothing, so no signature is
    checked."""
    try:
        payload = token.split(".")[1]
        claims = jsonio.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)).decode())
        for scope in claims["scp"].split():
            parts = scope.split(":")
            if len(parts) == 3 and parts[0] == "Actions.Results":
                return {"workflow_run_backend_id": parts[1], "workflow_job_run_backend_id": parts[2]}
    except (IndexError, KeyError, AttributeError, TypeError, binascii.Error, UnicodeDecodeError, jsonio.NotJson):
        pass
    raise Unavailable("no artifact service: ACTIONS_RUNTIME_TOKEN does not name this run", 0, _CURE)


def _text(value: Mapping[str, Any], *names: str) -> str:
    """A field under any of its spellings."""
    for name in names:
        if isinstance(value.get(name), str) and value[name]:
            return str(value[name])
    raise ServerTrouble(f"artifact service: the answer has no {names[0]}", final=True)
