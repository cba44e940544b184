"""The artifact protocol of a running job (Twirp over JSON, authorised by the runtime token)."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from .http_types import Answer, Request, iso
from .state import Artifact, Job, Run

if TYPE_CHECKING:
    from .fake import FakeGitHub

SERVICE = "/twirp/github.actions.results.api.v1.ArtifactService/"
UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
FORBIDDEN = re.compile(r'["":<>|*?\r\n\\/]')
STATUS = {
    "invalid_argument": 400, "malformed": 400, "unauthenticated": 401, "permission_denied": 403, "not_found": 404,
    "bad_route": 404, "already_exists": 409,
}  # fmt: skip


class TwirpError(Exception):
    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.answer = Answer(STATUS[code], {"code": code, "msg": message}, media="application/json", checked=False)


def handle(fake: FakeGitHub, request: Request) -> Answer:
    try:
        method = METHODS.get(request.path.removeprefix(SERVICE))
        if method is None or request.method != "POST":
            fake.unexpected.append((request.method, request.path))
            raise TwirpError("bad_route", f"no handler for path {request.path}")
        if request.headers.get("content-type", "").split(";")[0] != "application/json":
            raise TwirpError("malformed", "unexpected Content-Type")
        run, job = _caller(fake, request)
        try:
            body = json.loads(request.body)
        except ValueError:
            raise TwirpError("malformed", "the json request could not be decoded") from None
        _same_job(body, run, job)
        return Answer(json=method(fake, request, run, body), media="application/json", checked=False)
    except TwirpError as error:
        return error.answer


def _caller(fake: FakeGitHub, request: Request) -> tuple[Run, Job]:
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    try:
        payload = token.split(".")[1]
        claims = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
        scopes = [scope.split(":") for scope in claims["scp"].split(" ")]
    except (IndexError, ValueError, KeyError, AttributeError):
        raise TwirpError("unauthenticated", "failed to authenticate request: invalid token") from None
    found = [scope[1:] for scope in scopes if scope[0] == "Actions.Results" and len(scope) == 3]
    if scheme != "Bearer" or len(found) != 1 or not all(re.fullmatch(UUID, part) for part in found[0]):
        raise TwirpError("unauthenticated", "failed to authenticate request: invalid scope")
    for run in fake.runs.values():
        for job in run.jobs:
            if [run.backend_id, job.backend_id] == found[0]:
                return run, job
    raise TwirpError("permission_denied", "workflow run not found")


def _same_job(body: dict[str, Any], run: Run, job: Job) -> None:
    for field, wanted in (("workflow_run_backend_id", run.backend_id), ("workflow_job_run_backend_id", job.backend_id)):
        given = _text(body, field)
        # Reading names the ids of the artifact found, which another job of the same run may have made.
        if given != wanted and not (
            field == "workflow_job_run_backend_id" and given in {j.backend_id for j in run.jobs}
        ):
            raise TwirpError("permission_denied", f"{field} does not belong to the token")


def _text(body: dict[str, Any], field: str) -> str:
    camel = re.sub(r"_(\w)", lambda match: match[1].upper(), field)
    value = body.get(field, body.get(camel))
    if not isinstance(value, str) or not value:
        raise TwirpError("invalid_argument", f"{field} must be a non-empty string")
    return value


def _of(fake: FakeGitHub, run: Run, name: str, finalized: bool = True) -> Artifact:
    for artifact in fake.artifacts.values():
        if artifact.run is run and artifact.name == name and artifact.finalized is finalized:
            return artifact
    raise TwirpError("not_found", "artifact not found on the workflow run")


def create(fake: FakeGitHub, request: Request, run: Run, body: dict[str, Any]) -> dict[str, Any]:
    name, version = _text(body, "name"), body.get("version")
    if FORBIDDEN.search(name):
        raise TwirpError("invalid_argument", f"the artifact name is not valid: {name!r}")
    if version not in (4, 7) or isinstance(version, bool):
        raise TwirpError("invalid_argument", "version must be 4 or 7")
    for other in fake.artifacts.values():
        # A name stays taken while its upload is unfinished, although no list shows it yet.
        taken = other.run is run and other.name == name
        if taken and not (fake.same_name_per_attempt and other.attempt != run.attempt):
            raise TwirpError("already_exists", "an artifact with this name already exists on the workflow run")
    now = fake.clock.tick()
    longest = now + timedelta(days=fake.retention_days)
    wanted = body.get("expires_at")
    expiry = longest if wanted is None else min(longest, datetime.fromisoformat(wanted))
    made = Artifact(fake.ids("artifact"), run, name, run.attempt, now, expiry, finalized=False)
    fake.artifacts[made.id] = made
    return {"ok": True, "signed_upload_url": fake.blobs.sign(made, "w", request.links.blob)}


def finalize(fake: FakeGitHub, request: Request, run: Run, body: dict[str, Any]) -> dict[str, Any]:
    artifact = _of(fake, run, _text(body, "name"), finalized=False)
    size = _text(body, "size")
    upload = fake.blobs.uploads.get(artifact.blob)
    if upload is None or upload.committed is None:
        raise TwirpError("not_found", "the blob was not uploaded")
    if size != str(len(upload.committed)):
        raise TwirpError("invalid_argument", f"size {size} is not that of the blob, {len(upload.committed)}")
    digest = "sha256:" + hashlib.sha256(upload.committed).hexdigest()
    if body.get("hash") not in (None, digest):
        raise TwirpError("invalid_argument", "hash is not that of the blob")
    artifact.data, artifact.size, artifact.content_type = upload.committed, len(upload.committed), upload.content_type
    artifact.digest = body.get("hash")
    artifact.finalized, artifact.created_at = True, fake.clock.tick()
    return {"ok": True, "artifact_id": str(artifact.id)}


def list_artifacts(fake: FakeGitHub, request: Request, run: Run, body: dict[str, Any]) -> dict[str, Any]:
    name, number = body.get("name_filter"), body.get("id_filter")
    found = [
        {
            "workflow_run_backend_id": run.backend_id,
            "workflow_job_run_backend_id": run.jobs[0].backend_id,
            "database_id": str(item.id),
            "name": item.name,
            "size": str(item.size),
            "created_at": iso(item.created_at),
            **({"digest": item.digest} if item.digest else {}),
        }
        for item in fake.artifacts.values()
        if item.run is run and item.finalized and name in (None, item.name) and number in (None, str(item.id))
    ]
    return {"artifacts": found}


def signed_url(fake: FakeGitHub, request: Request, run: Run, body: dict[str, Any]) -> dict[str, Any]:
    return {"signed_url": fake.blobs.sign(_of(fake, run, _text(body, "name")), "r", request.links.blob)}


def delete(fake: FakeGitHub, request: Request, run: Run, body: dict[str, Any]) -> dict[str, Any]:
    artifact = _of(fake, run, _text(body, "name"))
    del fake.artifacts[artifact.id]
    return {"ok": True, "artifact_id": str(artifact.id)}


METHODS: dict[str, Callable[[FakeGitHub, Request, Run, dict[str, Any]], dict[str, Any]]]
METHODS = {
    "CreateArtifact": create,
    "FinalizeArtifact": finalize,
    "ListArtifacts": list_artifacts,
    "GetSignedArtifactURL": signed_url,
    "DeleteArtifact": delete,
}
