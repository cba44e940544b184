"""The HTTP front: two servers (API and blobs), one handler."""

from __future__ import annotations

import contextlib
import json
import socket
import time
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, unquote, urlsplit

from . import artifacts_v4, graphql, rest
from .faults import Fault, Logged
from .http_types import Answer, Request, Urls

if TYPE_CHECKING:
    from .fake import FakeGitHub

SECRET_PARAMETERS = ("sig",)


class Server(ThreadingHTTPServer):
    daemon_threads = True
    # Tests open many connections at once; the default backlog of 5 would reset some of them.
    request_queue_size = 128

    def __init__(self, address: tuple[str, int], fake: FakeGitHub, role: str) -> None:
        self.fake, self.role = fake, role
        super().__init__(address, Handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        # A client that hangs up early is part of the tests, not news.
        pass


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Head and body leave in two writes; without this each answer waits 40 ms for the client's delayed acknowledgement.
    disable_nagle_algorithm = True
    server_version = "github.com"
    sys_version = ""
    server: Server

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def date_time_string(self, timestamp: float | None = None) -> str:
        return format_datetime(self.server.fake.clock.now, usegmt=True)

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding", "").lower() == "chunked":
            chunks = []
            while size := int(self.rfile.readline().split(b";")[0], 16):
                chunks.append(self.rfile.read(size))
                self.rfile.readline()
            self.rfile.readline()
            return b"".join(chunks)
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def _request(self) -> Request:
        split = urlsplit(self.path)
        headers = {name.lower(): value for name, value in self.headers.items()}
        path = split.path
        host = headers.get("host", "localhost")
        prefix = "/api/v3" if path.startswith("/api/v3/") else ""
        fake = self.server.fake
        # A container reaches us under another address than the test: answer with links under the one it used.
        blob = f"http://{host.rsplit(':', 1)[0]}:{fake.blob_port}"
        urls = Urls(f"http://{host}{prefix}", fake.server_url, blob)
        query = dict(parse_qsl(split.query, keep_blank_values=True))
        plain = path.removeprefix(prefix)
        return Request(self.command, unquote(plain), plain, query, headers, self._body(), urls=urls)

    def _serve(self) -> None:
        fake, request = self.server.fake, self._request()
        entry = self._log(request)
        with fake.mutex:
            fake.requests.append(entry)
            fault = fake.take_fault(request.method, request.path)
        if fault is not None and fault.delay:
            time.sleep(fault.delay)
        if fault is not None and fault.before is not None:
            fault.before()
        answer = None
        if fault is None or not fault.replaces_answer or fault.after_effect:
            try:
                with fake.mutex:
                    answer = self._dispatch(request)
            except Exception as error:
                fake.violations.append(f"the fake broke on {request.method} {request.path}: {error!r}")
                answer = Answer(500, {"message": f"the fake broke: {error!r}"}, checked=False)
        entry.identity = request.token.identity.login if request.token else None
        if fault is not None and fault.replaces_answer:
            if fault.drop:
                self._hang_up()
                return
            body, media = fault.content()
            answer = Answer(fault.status or 500, raw=body, media=media, headers=fault.headers)
        assert answer is not None
        entry.status = answer.status
        self._send(request, answer, fault)

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = _serve

    def _dispatch(self, request: Request) -> Answer:
        fake = self.server.fake
        if self.server.role == "blob":
            return fake.blobs.handle(request)
        if request.path.startswith("/twirp/"):
            return artifacts_v4.handle(fake, request)
        if request.path in ("/graphql", "/api/graphql"):
            return graphql.handle(fake, request)
        return rest.handle(fake, request)

    def _log(self, request: Request) -> Logged:
        headers = dict(request.headers)
        if "authorization" in headers:
            headers["authorization"] = headers["authorization"].split(" ")[0] + " ***"
        query = {name: "***" if name in SECRET_PARAMETERS else value for name, value in request.query.items()}
        parsed = None
        with contextlib.suppress(ValueError):
            parsed = json.loads(request.body) if request.body else None
        return Logged(self.server.role, request.method, request.path, query, headers, parsed, len(request.body))

    def _send(self, request: Request, answer: Answer, fault: Fault | None) -> None:
        body = answer.raw
        if body is None:
            body = b"" if answer.json is None else json.dumps(answer.json).encode()
        self.send_response(answer.status)
        if body:
            self.send_header("Content-Type", answer.media)
        headers = dict(answer.headers)
        if self.server.role == "api":
            token = request.token
            used = token.used if token else 0
            limit = self.server.fake.rate_limit
            defaults = {
                "X-GitHub-Request-Id": f"FAKE:{len(self.server.fake.requests)}",
                "X-RateLimit-Limit": str(limit),
                "X-RateLimit-Remaining": str(max(0, limit - used)),
                "X-RateLimit-Used": str(used),
                "X-RateLimit-Reset": str(int(time.time()) + 3600),
            }
            given = {name.lower() for name in headers}
            headers |= {name: value for name, value in defaults.items() if name.lower() not in given}
        for name, value in headers.items():
            self.send_header(name, value)
        if answer.status not in (204, 304):
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if request.method == "HEAD":
            return
        if fault is not None and fault.truncate:
            self.wfile.write(body[: len(body) // 2])
            self._hang_up()
            return
        self.wfile.write(body)

    def _hang_up(self) -> None:
        self.close_connection = True
        self.wfile.flush()
        with contextlib.suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)
