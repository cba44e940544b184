"""A real HTTP server on this machine that answers as a test says, and remembers what it was asked."""

from __future__ import annotations

import contextlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple


class Asked(NamedTuple):
    method: str
    path: str
    headers: dict
    body: bytes

    @property
    def json(self):
        return json.loads(self.body)


class Answering:
    """``answer(asked, handler)`` gives (status, body) or (status, body, headers); None when it has written to ``handler`` itself."""

    def __init__(self, answer):
        self.answer, self.asked, self._lock = answer, [], threading.Lock()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True  # head and body are two writes

            def _handle(self):
                length = int(self.headers.get("Content-Length") or 0)
                headers = {name.lower(): value for name, value in self.headers.items()}
                asked = Asked(self.command, self.path, headers, self.rfile.read(length))
                with outer._lock:
                    outer.asked.append(asked)
                given = outer.answer(asked, self)
                if given is None:
                    self.close_connection = True
                    return
                status, body, *more = given
                data = body if isinstance(body, bytes) else json.dumps(body).encode()
                self.send_response(status)
                for name, value in (more[0] if more else {}).items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            do_GET = do_POST = do_PUT = do_DELETE = _handle

            def log_message(self, *arguments):
                pass

            def handle(self):
                with contextlib.suppress(OSError):  # who asked has gone
                    super().handle()

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.port = self._server.server_port
        self.url = f"http://127.0.0.1:{self.port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self._server.shutdown()
        self._server.server_close()

    def close(self):
        """Like a service that is killed: nothing listens any more. Connections that are kept open get no answer either."""
        self.answer = lambda asked, handler: None
        self.__exit__()


def in_turn(*answers):
    """Each of ``answers`` once, then the last for ever."""
    left = list(answers)

    def answer(asked, handler):
        given = left.pop(0) if len(left) > 1 else left[0]
        return given(asked, handler) if callable(given) else given

    return answer
