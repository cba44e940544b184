import contextlib
import socket
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from gate.docker.health import answers, port_open, port_taken


@contextlib.contextmanager
def listening(serve):
    """A port whose every connection is given to ``serve``."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()

        def loop() -> None:
            while True:
                try:
                    serve(server.accept()[0])
                except OSError:
                    return

        threading.Thread(target=loop, daemon=True).start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)


def test_a_port_is_open_when_its_connections_last_or_speak():
    kept = []
    with listening(kept.append) as port:
        assert port_open(port)
    with listening(lambda connection: (connection.sendall(b"220 ready"), kept.append(connection))) as port:
        assert port_open(port)


def test_a_proxy_without_anybody_behind_it_is_no_open_port():
    with listening(lambda connection: connection.close()) as port:
        assert not port_open(port)


def test_a_port_that_nobody_has_is_neither_open_nor_taken():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
        assert port_taken(port)
    assert not port_open(port) and not port_taken(port)


@pytest.mark.parametrize(("status", "said"), [(200, ""), (204, ""), (302, ""), (404, "GET /ready was answered with 404"), (503, "503")])
def test_a_path_is_healthy_below_400(status, said):
    class Service(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(status)
            self.end_headers()

        def log_message(self, *words):
            pass

    with HTTPServer(("127.0.0.1", 0), Service) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        found = answers(server.server_port, "/ready")
        server.shutdown()
    assert found == said if not said else said in found
    assert "was not answered" in answers(server.server_port, "/ready")
