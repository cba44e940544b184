"""Certificates, proxies and connections of a service."""

import datetime
import ipaddress
import ssl
import time

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from gate.errors import InvalidInput, RetrieverFailed
from gate.retrievers.base import Given
from gate.retrievers.build import build_retriever
from gate.web.address import Address
from gate.world import World
from tests.retrievers.support import queries
from tests.retrievers.test_http import FOUND, drip, drip_headers, settings_of
from tests.web.support import Answering


def ask(url, count=1, **more):
    with build_retriever(settings_of(url, **more), Given(world=World({"KEY": "a-secret-key"}))) as retriever:
        return dict(retriever.retrieve(queries(count), 5))


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """A certificate of its own authority for 127.0.0.1, as PEM: with its key, and without."""
    key, name = ec.generate_private_key(ec.SECP256R1()), x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "search")])
    now = datetime.datetime.now(datetime.UTC)
    made = (x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key()).serial_number(1)
            .not_valid_before(now - datetime.timedelta(days=1)).not_valid_after(now + datetime.timedelta(days=9))
            .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), False)
            .add_extension(x509.BasicConstraints(True, None), True).sign(key, hashes.SHA256()))
    folder = tmp_path_factory.mktemp("tls")
    pem = made.public_bytes(serialization.Encoding.PEM)
    (folder / "both.pem").write_bytes(pem + key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()))
    (folder / "authority.pem").write_bytes(pem)
    return folder


class Secure(Answering):
    def __init__(self, answer, certificate):
        super().__init__(answer)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate / "both.pem")
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self.url = self.url.replace("http:", "https:")


def test_a_certificate_that_nobody_vouches_for_is_refused_at_once(certificate):
    with Secure(lambda asked, handler: (200, FOUND), certificate) as server, \
            pytest.raises(RetrieverFailed, match="the certificate of the service was not accepted .*self-signed") as error:
        ask(server.url, 3)
    assert not server.asked and "`ca_file`" in error.value.cure


def test_a_file_of_authorities_makes_it_accepted(certificate):
    with Secure(lambda asked, handler: (200, FOUND), certificate) as server:
        assert ask(server.url, ca_file=str(certificate / "authority.pem"))["q1"].docs == ["a", "7"]


def test_a_certificate_for_another_host_is_refused(certificate):
    with Secure(lambda asked, handler: (200, FOUND), certificate) as server, pytest.raises(RetrieverFailed, match="was not accepted"):
        ask(server.url.replace("127.0.0.1", "localhost"), ca_file=str(certificate / "authority.pem"))


@pytest.mark.parametrize("answer", [drip, drip_headers])
def test_a_slow_answer_ends_at_its_time_under_tls_too(certificate, answer):
    with Secure(answer, certificate) as server:
        started = time.monotonic()
        error = ask(server.url, ca_file=str(certificate / "authority.pem"), limits={"query_seconds": 0.7})["q1"].error
        assert "gave no answer within" in error and time.monotonic() - started < 4


def test_a_file_of_authorities_that_is_missing_is_invalid():
    with pytest.raises(InvalidInput, match="`ca_file`: .*no-such.pem: no such file"):
        ask("https://127.0.0.1:1", ca_file="no-such.pem")


def test_a_proxy_of_the_environment_is_used_but_not_for_this_machine(monkeypatch):
    with Answering(lambda asked, handler: (200, FOUND)) as proxy, Answering(lambda asked, handler: (200, FOUND)) as server:
        for name in ("http_proxy", "HTTP_PROXY"):
            monkeypatch.setenv(name, proxy.url)
        for name in ("no_proxy", "NO_PROXY"):
            monkeypatch.delenv(name, raising=False)
        assert ask(server.url)["q1"].docs and ask(server.url.replace("127.0.0.1", "localhost"))["q1"].docs
        assert len(server.asked) == 2 and not proxy.asked
        assert ask("http://search.example.invalid/find")["q1"].docs and proxy.asked[0].path == "http://search.example.invalid/find"


def test_a_login_of_a_netrc_is_never_sent(monkeypatch, tmp_path):
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login somebody password else\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    with Answering(lambda asked, handler: (200, FOUND)) as server:
        ask(server.url)
    assert "authorization" not in server.asked[0].headers


@pytest.mark.parametrize(("url", "login"), [
    ("https://us%40er:${PW}@h.example/x", ("us@er", "a%41b/@:c")), ("${URL}/x", ("us@er", "p/w")),
    ("https://${PW}@h.example/x", ("a%41b/@:c", ""))])
def test_a_login_is_unquoted_as_far_as_the_address_writes_it(url, login):
    filled = Address(url).filled({"PW": "a%41b/@:c", "URL": "https://us%40er:p%2Fw@h.example"})
    assert filled == ("https://h.example/x", login)


def test_a_cookie_of_one_answer_is_not_in_the_next_question():
    with Answering(lambda asked, handler: (200, FOUND, {"Set-Cookie": "session=1"})) as server:
        ask(server.url, 3)
    assert len(server.asked) == 3 and not any("cookie" in asked.headers for asked in server.asked)


def test_one_connection_serves_many_questions():
    ports = set()

    def answer(asked, handler):
        ports.add(handler.client_address)
        return 200, FOUND

    with Answering(answer) as server:
        ask(server.url, 20)
    assert len(ports) == 1


@pytest.mark.parametrize("host", ["a..b", "x" * 64 + ".example", "*"])
def test_a_host_that_no_network_knows_is_a_fault_of_the_address(host):
    with pytest.raises(RetrieverFailed, match="cannot be sent|gave no answer"):
        ask(f"http://{host}/find", 9)


@pytest.mark.parametrize("said", [b"", b"\r\n\r\n", b"HTTP/1.1 abc\r\n\r\n", b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 200 + b"\r\n",
                                  b"SSH-2.0-x\r\n",
                                  b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n", b"HTTP/1.1 200 OK\r\nX: " + b"y" * 99_999 + b"\r\n\r\n",
                                  b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
                                  b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{}",
                                  b"\xff\xfe" * 40, b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n{}"])
def test_what_is_no_http_is_no_answer(said):
    def answer(asked, handler):
        handler.wfile.write(said)

    with Answering(answer) as server:
        assert ask(server.url)["q1"].error
