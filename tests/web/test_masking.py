"""Secrets that a service repeats are in nothing that is said, however it writes them."""

import base64
import html
import json
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from gate.errors import RetrieverFailed
from gate.retrievers.base import Given
from gate.retrievers.build import build_retriever
from gate.web.address import Address
from gate.web.masking import HIDDEN, Mask
from gate.web.service import Service, ServiceOptions
from gate.world import World
from tests.retrievers.support import queries
from tests.retrievers.test_http import settings_of
from tests.web.support import Answering

SECRETS = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=8, max_size=40)


def go(text):
    return text.replace("&#x27;", "&#39;").replace("&quot;", "&#34;")


WAYS = {"as it is": str, "quoted": lambda s: quote(s, safe=""), "quoted for a form": quote_plus, "json": json.dumps,
        "json of PHP": lambda s: json.dumps(s).replace("/", "\\/"), "html of Go": lambda s: go(html.escape(s)),
        "json of Go": lambda s: json.dumps(s).replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"), "html": html.escape,
        "base64": lambda s: base64.b64encode(s.encode()).decode(), "capitals": lambda s: s.upper() if s.upper().lower() == s.lower() else s,
        "with control characters": lambda s: "\0".join(s)}


@example("000000'&", "json of Go", "")
@given(st.lists(SECRETS, min_size=1, max_size=3).map(" ".join), st.sampled_from(sorted(WAYS)), st.text("ab \n{\"", max_size=30))
def test_no_way_of_writing_a_secret_gets_through(secret, way, around):
    assume(HIDDEN not in secret)
    said = Mask([secret]).excerpt(f"{around} {WAYS[way](secret)} {around}", 10_000)
    assert HIDDEN in said and secret.lower() not in said.lower()


def test_parts_of_a_secret_with_several_words_are_masked():
    assert Mask(["Bearer abcdefgh12345"])("got abcdefgh12345") == f"got {HIDDEN}"


@pytest.mark.parametrize("part", ["0123456789abcdef", "pa/ss-word", "pa%2Fss-word", "tok-SECRET-123"])
def test_parts_of_an_address_that_is_a_secret_are_masked(part):
    address = "https://user:pa%2Fss-word@search.example/tok-SECRET-123/x?api_key=0123456789abcdef&b=c"
    service = Service(ServiceOptions(Address("${URL}")), World({"URL": address}))
    assert service.said(f"the key {part} is wrong".encode()) == f" (it said: the key {HIDDEN} is wrong)"


def test_what_is_too_short_is_no_secret_and_the_longest_goes_first():
    assert Mask(["a", "", "ab"])("a cab") == "a cab" and Mask([])("x") == "x"
    assert Mask(["secret", "secretive"])("secretive") == HIDDEN


def test_an_excerpt_obeys_nothing_and_is_short():
    said = Mask([]).excerpt(b"\x1b[2J::error::x\n##[group]\xff" + b"y" * 5000)
    assert len(said) == 200 and "\x1b" not in said and "\n" not in said and "##[" not in said


SECRET = "s3cr3t/with+odd=chars&more"
ECHOES = [lambda h: h["authorization"], lambda h: quote(h["authorization"].partition(" ")[2], safe=""),
          lambda h: base64.b64encode(h["authorization"].encode()).decode(), lambda h: json.dumps(dict(h)),
          lambda h: h["authorization"][7:].upper(), lambda h: f"<b>{html.escape(h['authorization'])}</b>",
          lambda h: "\x01".join(h["authorization"])]


def hidden(secret, text):
    forms = (secret, quote(secret, safe=""), quote_plus(secret), json.dumps(secret)[1:-1], html.escape(secret),
             base64.b64encode(secret.encode()).decode(), base64.b64encode(f"Bearer {secret}".encode()).decode())
    return not any(form.lower() in text.lower() for form in forms)


@pytest.mark.parametrize("echo", ECHOES)
@pytest.mark.parametrize("status", [200, 400, 401, 404, 302, 500])
def test_a_service_that_repeats_the_secret_gets_it_into_no_text(echo, status, capfd, caplog):
    def answer(asked, handler):
        said = echo(asked.headers)
        headers = {"Location": f"/login/{quote(SECRET, safe='')}?key={quote(SECRET)}"} if status == 302 else {}
        return status, {"results": [{"no id": said, SECRET: 1}], "error": said, SECRET: said}, headers

    with Answering(answer) as server:
        options = {"headers": {"Authorization": "Bearer ${KEY}"}, "health": "/health" if status != 302 else "/x"}
        made = settings_of(f"{server.url}?q={{query}}&key=${{KEY}}", limits={"start_seconds": 0.3}, **options)
        made = made._replace(options=made.options._replace(health="")) if status != 500 else made
        retriever = build_retriever(made, Given(world=World({"KEY": SECRET})))
        said = [repr(retriever), repr(made), json.dumps(dict(retriever.describe()))]
        try:
            with retriever:
                said += [ranking.error for _, ranking in retriever.retrieve(queries(3), 5)]
        except RetrieverFailed as error:
            said += [str(error), repr(error)]
        said += [*retriever.notes, repr(vars(retriever)), repr(getattr(retriever, "_service", "")), *capfd.readouterr(), caplog.text]
    assert server.asked[0].headers["authorization"] == f"Bearer {SECRET}"
    assert [text for text in said if not hidden(SECRET, text)] == []
    assert echo is not ECHOES[0] or any(HIDDEN in text for text in said)


@pytest.mark.parametrize("url", ["http://reader:${KEY}@127.0.0.1:1/s?q={query}", "http://${KEY}@127.0.0.1:1/s?q={query}",
                                 "http://127.0.0.1:1/${KEY}/s?q={query}", "http://${KEY}/s?q={query}", "${KEY}/s?q={query}",
                                 "http://127.0.0.1:${KEY}/s?q={query}"])
def test_a_secret_in_the_address_is_in_no_error(url):
    retriever = build_retriever(settings_of(url), Given(world=World({"KEY": SECRET})))
    said = [json.dumps(dict(retriever.describe()))]
    with pytest.raises(RetrieverFailed) as error, retriever:
        said += [ranking.error for _, ranking in retriever.retrieve(queries(9), 5)]
    said += [str(error.value), error.value.cure]
    assert all(hidden(SECRET, text) for text in said)


def test_a_login_in_the_address_is_sent_as_one():
    with Answering(lambda asked, handler: (200, {"results": []})) as server:
        url = server.url.replace("http://", "http://reader:${KEY}@")
        with build_retriever(settings_of(f"{url}/s?q={{query}}"), Given(world=World({"KEY": SECRET}))) as retriever:
            dict(retriever.retrieve(queries(1), 5))
    assert server.asked[0].headers["authorization"] == "Basic " + base64.b64encode(f"reader:{SECRET}".encode()).decode()


def test_a_secret_that_no_header_can_hold_is_named_and_not_shown():
    made, world = settings_of("http://h/?q={query}", headers={"X-Key": "${KEY}"}), World({"KEY": "abc\r\nX-Evil: 1"})
    with pytest.raises(RetrieverFailed, match="header X-Key cannot be sent: KEY holds line breaks") as error, \
            build_retriever(made, Given(world=world)):
        pass
    assert "Evil" not in str(error.value)
