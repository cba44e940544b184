"""The storage behind artifacts: signed URLs on a port of its own, as strict as Azure about what arrives there."""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from urllib.parse import quote
from xml.etree import ElementTree

from .clock import Clock
from .http_types import Answer, Request, iso
from .state import Artifact

SECRET = b"only the fake signs with this"


@dataclass
class Upload:
    blocks: dict[str, bytes] = field(default_factory=dict)
    committed: bytes | None = None
    content_type: str = "application/octet-stream"


def _error(status: int, code: str, message: str) -> Answer:
    text = f'<?xml version="1.0" encoding="utf-8"?><Error><Code>{code}</Code><Message>{message}</Message></Error>'
    return Answer(status, raw=text.encode(), media="application/xml", headers={"x-ms-error-code": code})


def _ranged(request: Request, data: bytes, media: str, headers: dict[str, str]) -> Answer:
    """The storage goes on where a client stopped, as long as it still has the version that the client began with."""
    headers = {**headers, "ETag": f'"0x{hashlib.sha256(data).hexdigest()[:15].upper()}"', "Accept-Ranges": "bytes"}
    wanted = re.fullmatch(r"bytes=(\d+)-", request.headers.get("range", ""))
    if wanted is None or request.headers.get("if-range", headers["ETag"]) != headers["ETag"]:
        return Answer(200, raw=data, media=media, headers=headers)
    start = int(wanted[1])
    if start >= len(data):
        return Answer(416, headers={"Content-Range": f"bytes */{len(data)}"})
    headers["Content-Range"] = f"bytes {start}-{len(data) - 1}/{len(data)}"
    return Answer(206, raw=data[start:], media=media, headers=headers)


class BlobStore:
    def __init__(self, clock: Clock, artifacts: dict[int, Artifact]) -> None:
        self.clock, self.artifacts = clock, artifacts
        self.uploads: dict[str, Upload] = {}
        self.offered: dict[str, tuple[bytes, str]] = {}  # what is no artifact: blob -> content and file name
        self.lifetimes = {"r": timedelta(minutes=1), "w": timedelta(hours=1)}

    def sign(self, artifact: Artifact, mode: str, base: str) -> str:
        return self._signed(artifact.blob, mode, base)

    def offer(self, data: bytes, name: str, base: str) -> str:
        """An address to read these bytes at, as archives and assets of releases have one."""
        blob = hashlib.sha256(name.encode() + data).hexdigest()[:32]
        self.offered[blob] = (data, name)
        return self._signed(blob, "r", base)

    def _signed(self, blob: str, mode: str, base: str) -> str:
        expiry = iso(self.clock.now + self.lifetimes[mode])
        path = f"/actions-results/{blob}/artifact.zip"
        signature = quote(self._signature(blob, mode, expiry), safe="")
        return f"{base}{path}?se={quote(expiry, safe='')}&sp={mode}&sr=b&sv=2025-11-05&sig={signature}"

    def _signature(self, blob: str, mode: str, expiry: str) -> str:
        # Base64 with + / =, so that code which forgets to quote or to mask the quoted form is found out.
        return base64.b64encode(hmac.digest(SECRET, f"{blob} {mode} {expiry}".encode(), hashlib.sha256)).decode()

    def handle(self, request: Request) -> Answer:
        if "authorization" in request.headers:
            # A signed URL is the credential; a second one is an error there and a leak of the token here.
            return _error(
                400, "InvalidAuthenticationInfo", "Authentication information is not given in the correct format."
            )
        match = re.fullmatch(r"/actions-results/([0-9a-f]{32})/artifact\.zip", request.path)
        blob = match[1] if match else ""
        query = request.query
        mode, expiry = query.get("sp", ""), query.get("se", "")
        if not blob or not hmac.compare_digest(query.get("sig", ""), self._signature(blob, mode, expiry)):
            return _error(403, "AuthenticationFailed", "Signature did not match.")
        if datetime.fromisoformat(expiry) < self.clock.now:
            return _error(403, "AuthenticationFailed", "Signed expiry time has to be after now.")
        if mode != ("r" if request.method in ("GET", "HEAD") else "w"):
            return _error(403, "AuthorizationPermissionMismatch", "This request is not authorized by this URL.")
        if request.method == "PUT":
            return self._put(blob, request)
        for artifact in self.artifacts.values():
            if artifact.blob == blob:
                named = {"Content-Disposition": f'attachment; filename="{artifact.name}.zip"'}
                return _ranged(request, artifact.data, artifact.content_type, named)
        if blob in self.offered:
            data, name = self.offered[blob]
            return _ranged(request, data, "application/octet-stream", {"Content-Disposition": f"attachment; filename={name}"})
        return _error(404, "BlobNotFound", "The specified blob does not exist.")

    def _put(self, blob: str, request: Request) -> Answer:
        if "content-length" not in request.headers:
            return _error(411, "MissingContentLengthHeader", "Content-Length is missing.")
        upload = self.uploads.setdefault(blob, Upload())
        query = request.query
        if query.get("comp") == "block":
            return self._put_block(upload, query.get("blockid", ""), request.body)
        if query.get("comp") == "blocklist":
            return self._put_list(upload, request)
        if "comp" in query or request.headers.get("x-ms-blob-type") != "BlockBlob":
            return _error(400, "MissingRequiredHeader", "x-ms-blob-type is required.")
        upload.committed = request.body
        default = request.headers.get("content-type", upload.content_type)
        upload.content_type = request.headers.get("x-ms-blob-content-type", default)
        return Answer(201)

    def _put_block(self, upload: Upload, block: str, body: bytes) -> Answer:
        try:
            length = len(base64.b64decode(block, validate=True))
        except ValueError:
            length = 0
        if not 0 < length <= 64:
            return _error(400, "InvalidQueryParameterValue", "blockid is no Base64 of at most 64 bytes.")
        if any(len(other) != len(block) for other in upload.blocks):
            return _error(400, "InvalidBlobOrBlock", "Block ids of one blob have to be equally long.")
        if not body:
            return _error(400, "InvalidHeaderValue", "A block cannot be empty.")
        upload.blocks[block] = body
        return Answer(201)

    def _put_list(self, upload: Upload, request: Request) -> Answer:
        try:
            root = ElementTree.fromstring(request.body)
        except ElementTree.ParseError:
            return _error(400, "InvalidXmlDocument", "XML specified is not syntactically valid.")
        if root.tag != "BlockList":
            return _error(400, "InvalidXmlDocument", "BlockList is missing.")
        wanted = [(item.text or "").strip() for item in root]
        if any(block not in upload.blocks for block in wanted):
            return _error(400, "InvalidBlockList", "The specified block list is invalid.")
        # The list decides the order, not the arrival; a block sent twice counts once.
        upload.committed = b"".join(upload.blocks[block] for block in wanted)
        upload.blocks.clear()
        upload.content_type = request.headers.get("x-ms-blob-content-type", upload.content_type)
        return Answer(201)
