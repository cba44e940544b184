"""Query vectors from an endpoint: made once, kept, checked, and never quietly others than before."""

import json
import os
import tempfile
from pathlib import Path

import numpy as np
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from gate.embedding.base import open_vectors, read_embedding
from gate.embedding.cache import Stored, VectorCache, mark_of
from gate.errors import GateError, InvalidInput, RetrieverFailed
from gate.fields import Section
from gate.golden.model import Query
from gate.paths import Paths
from gate.reported import model_warnings
from gate.retrievers.base import Given
from gate.retrievers.dense import DenseRetriever
from gate.snapshot.build import build_dense
from gate.world import World
from gate.yamlio import parse_yaml
from tests.snapshot.support import corpus_of, opened
from tests.web.embeddings import Embeddings, vector

SECRET = "sk-very-secret-key"


@pytest.fixture
def server():
    with Embeddings() as found:
        yield found


def read(server, **more):
    url = f"{server.url}/v1" if server else "http://localhost:1/v1"
    given = {"kind": "endpoint", "url": url, "model": "small", "key": "${KEY}", "retries": 0, **more}
    document, problems = parse_yaml(yaml.safe_dump({"embedding": given}).encode(), "c.yml"), []
    top = Section(document, "", document.value, problems)
    return read_embedding(top.section("embedding", top.mapping("embedding")), Paths(Path(), None)), problems


class Asking:
    """Asks one endpoint again and again, as run after run does."""

    def __init__(self, server, cache, variables=None):
        self.server, self.world = server, World({"KEY": SECRET} if variables is None else variables, cache)

    def __call__(self, *texts, width=0, **more):
        settings, problems = read(self.server, **more)
        assert not problems
        self.source = open_vectors(settings, Given(world=self.world))
        with self.source as source:
            found = source.of([Query(f"q{number}", text, {}) for number, text in enumerate(texts, 1)], width)
        self.notes, self.described = source.notes, dict(source.describe())
        return found


@pytest.fixture
def ask(server, tmp_path):
    return Asking(server, tmp_path)


def file_of(tmp_path):
    path, = (tmp_path / "embeddings").iterdir()
    return path


def test_vectors_belong_to_their_queries_whatever_the_order_of_the_answer(ask, server):
    found = ask("a", "b", "a", "ü\ud800", batch=2)
    assert np.array_equal(found, [vector(text) for text in ("a", "b", "a")] + [vector("ü?")]) and found.dtype == np.float32
    assert [asked.json["input"] for asked in server.asked] == [["a", "b"], ["ü?"]]
    assert server.asked[0].headers["authorization"] == f"Bearer {SECRET}" and server.asked[0].json["model"] == "small"
    assert ask.described == {"kind": "endpoint", "url": f"{server.url}/v1", "model": "small", "dimensions": 8,
                             "reported": "small-2026-01, version 2020-10-01"}
    assert ask.notes == ["embedding took 9 tokens in 2 requests"]


@pytest.mark.parametrize("encoding", ["float", "base64"])
def test_both_formats_give_the_same_vectors(ask, encoding):
    assert np.array_equal(ask("a", encoding_format=encoding), [vector("a")])


def test_an_unchanged_golden_set_costs_no_call_and_needs_no_secret(ask, server, tmp_path):
    first = ask("a", "b", revision="r1")
    described = ask.described
    again = Asking(server, tmp_path, {})
    assert np.array_equal(again("b", "a", revision="r1"), first[::-1]) and len(server.asked) == 1
    assert again.described == described and again.notes == []


def test_only_new_queries_are_embedded_and_one_old_one_is_checked(ask, server):
    ask("a", "b")
    found = ask("a", "b", "c")
    assert server.texts == ["a", "b", "c", "a"] and np.array_equal(found, [vector(text) for text in "abc"])
    assert ask.notes[0] == "1 query was embedded in this run; the vectors of 2 were kept from an earlier one" and len(ask.notes) == 2
    assert np.array_equal(ask("c", "d", verify=0), [vector(text) for text in "cd"]) and server.texts[4:] == ["d"]


@pytest.mark.parametrize("more", [{"model": "large"}, {"revision": "2"}, {"dimensions": 4}, {"query_prefix": "query: "},
                                  {"headers": {"X-Deployment": "b"}}])
def test_whatever_decides_a_vector_has_a_cache_of_its_own(ask, server, more):
    ask("a")
    found = ask("a", **more)
    assert len(server.asked) == 2
    assert np.array_equal(found, [vector(more.get("query_prefix", "") + "a", more.get("dimensions", 8))])


def test_another_address_is_another_model(ask, tmp_path):
    ask("a")
    with Embeddings() as other:
        other.salt = "x"
        assert np.array_equal(Asking(other, tmp_path)("a"), [vector("a", salt="x")])


def test_weights_that_change_under_the_same_name_are_noticed(ask, server):
    ask("a", "b")
    server.salt = "new weights"
    ask("a", "b", "c")
    assert ask.described["least_cosine"] == pytest.approx(vector("a") @ vector("a", salt=server.salt), abs=1e-6)
    ask("a", "b", verify=2)
    assert server.texts[-2:] == ["a", "b"] and ask.described["least_cosine"] < 0.999
    assert "gives other vectors than before" in model_warnings(None, {"embedding": ask.described})[0]


def test_rounding_is_no_change_of_weights(ask, server):
    ask("a", "b")
    server.change = lambda answer: answer | {"data": [item | {"embedding": [x + 1e-4 for x in item["embedding"]]}
                                                      for item in answer["data"]]}
    ask("a", "b", verify=2)
    assert len(server.asked) == 2 and "least_cosine" not in ask.described


def test_a_text_without_any_direction_is_like_itself(ask, server):
    server.change = lambda answer: answer | {"data": [item | {"embedding": [0.0] * 8} for item in answer["data"]]}
    ask("a")
    ask("a", verify=1)
    assert len(server.asked) == 2 and "least_cosine" not in ask.described
    server.change = lambda answer: answer
    ask("a", verify=1)
    assert ask.described["least_cosine"] == 0


def test_another_model_behind_the_same_name_is_noticed_when_it_is_asked(ask, server):
    ask("a")
    server.model = "small-2026-07"
    assert ask("a") is not None and ask.notes == [] and len(server.asked) == 1
    ask("a", probe=True)
    assert ask.notes[0].startswith("the embedding model calls itself small-2026-07, version 2020-10-01 now, and small-2026-01")
    assert server.texts == ["a", "probe"] and ask.described["reported"] == "small-2026-07, version 2020-10-01"
    ask("a")
    assert ask.described["reported"] == "small-2026-07, version 2020-10-01"  # known without a call


def test_a_model_with_other_dimensions_makes_all_of_them_anew(ask, server):
    ask("a", "b")
    server.dimensions = 5
    found = ask("a", "b", "c")
    assert np.array_equal(found, [vector(text, 5) for text in "abc"]) and "5 dimensions now and gave 8 before" in " ".join(ask.notes)
    calls = len(server.asked)
    assert ask("a", "c").shape == (2, 5) and len(server.asked) == calls


def test_what_a_wrong_model_gave_is_not_kept_for_documents_of_other_dimensions(ask, server):
    server.dimensions = 5
    ask("a", "b", width=8)
    server.dimensions = 8
    assert ask("a", "b", width=8).shape == (2, 8)
    assert "have 5 dimensions, those of the documents 8: all are made anew" in " ".join(ask.notes)
    calls = len(server.asked)
    assert ask("a", "b", width=8).shape == (2, 8) and len(server.asked) == calls


def test_a_model_that_was_wrong_once_is_asked_again_for_the_dimensions_of_the_documents(ask, server, tmp_path):
    np.save(tmp_path / "docs.npy", np.stack([vector("a"), vector("b")]))
    build_dense(corpus_of(tmp_path, ("a", "", "a"), ("b", "", "b")), tmp_path / "docs.npy", tmp_path / "snap", model="small")
    settings, _ = read(server)

    def asked():
        with DenseRetriever(opened(tmp_path / "snap"), open_vectors(settings, Given(world=ask.world))) as retriever:
            return dict(retriever.retrieve([Query("q1", "b", {})], 1))

    server.dimensions = 5
    with pytest.raises(InvalidInput, match="query vectors have 5 dimensions, documents 8"):
        asked()
    server.dimensions = 8
    assert asked()["q1"].docs == ["b"]


def test_what_was_embedded_before_a_failure_is_kept(ask, server):
    embed = server.answer
    server.answer = lambda asked, handler: embed(asked, handler) if "c" not in asked.json["input"] else (503, "overloaded")
    with pytest.raises(RetrieverFailed, match="could not be embedded: POST .*/v1/embeddings answered 503 .*overloaded"):
        ask("a", "b", "c", batch=2)
    server.answer = embed
    ask("a", "b", "c", verify=0)
    assert server.texts[-1:] == ["c"] and len(server.asked) == 3


def damage(data, how):
    head, _, body = data.partition(b"\n")
    head = json.loads(head)
    if how == "a bit":
        return data[:-3] + bytes([data[-3] ^ 1]) + data[-2:]
    if how == "half":
        return data[:len(data) // 2]
    if how == "nonsense":
        return b"nonsense"
    if how == "empty":
        return b""
    if how == "big-endian":
        head["type"], body = ">f4", body[:32] + np.frombuffer(body[32:], "<f4").astype(">f4").tobytes()
    if how == "another model's":
        head["key"] = "sha256:" + "0" * 64
    if how == "wrong dimensions":
        head["dimensions"] = 4
    if how == "reported":
        head["reported"] = "another model"
    if how == "NaN":
        from gate.embedding.cache import _digest

        body = body[:-4] + np.array([np.nan], "<f4").tobytes()
        head.pop("digest")
        head["digest"] = _digest(head, body)
    return json.dumps(head, sort_keys=True, separators=(",", ":")).encode() + b"\n" + body


@pytest.mark.parametrize("how", ["a bit", "half", "nonsense", "empty", "big-endian", "another model's", "wrong dimensions", "reported",
                                 "NaN"])
def test_a_cache_that_cannot_be_trusted_is_made_anew_and_said(ask, server, tmp_path, how):
    ask("a")
    whole = file_of(tmp_path).read_bytes()
    file_of(tmp_path).write_bytes(damage(whole, how))
    assert np.array_equal(ask("a"), [vector("a")]) and len(server.asked) == 2
    assert ask.notes[0].startswith("the cache of query vectors") and "was not used and is made anew: " in ask.notes[0]
    assert file_of(tmp_path).read_bytes() == whole


def test_the_same_vectors_make_the_same_file(ask, tmp_path):
    ask("a", "b")
    whole = file_of(tmp_path).read_bytes()
    file_of(tmp_path).unlink()
    ask("a", "b")
    assert file_of(tmp_path).read_bytes() == whole


def test_a_link_in_the_place_of_the_cache_is_not_followed(ask, server, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "embeddings").symlink_to(tmp_path / "elsewhere")
    assert np.array_equal(ask("a"), [vector("a")])
    assert "query vectors were not kept for the next run: embeddings is a link" in ask.notes and not any((tmp_path / "elsewhere").iterdir())


def test_a_cache_that_cannot_be_written_costs_only_the_next_run(server, tmp_path):
    (tmp_path / "file").write_text("")
    ask = Asking(server, tmp_path / "file")
    assert np.array_equal(ask("a"), [vector("a")]) and any("not kept for the next run" in note for note in ask.notes)


@pytest.mark.parametrize(("change", "message"), [
    (lambda a: a | {"data": a["data"][1:]}, "sent 2 texts and answered with 1 vector"), (lambda a: {"error": "x"}, "has no list `data`"),
    (lambda a: [1], "has no list `data`"), (lambda a: a | {"data": [a["data"][0]] * 2}, "has no `index` from 0 to 1 of its own"),
    (lambda a: a | {"data": [item | {"index": 7} for item in a["data"]]}, "has no `index`"),
    (lambda a: a | {"data": [1, 2]}, "has no `index`"),
    (lambda a: a | {"data": [a["data"][0], a["data"][1] | {"embedding": [1.0]}]}, "1 and 8 dimensions; all must have the same"),
    (lambda a: a | {"data": [item | {"embedding": []} for item in a["data"]]}, "is no list of numbers"),
    (lambda a: a | {"data": [item | {"embedding": ["1"]} for item in a["data"]]}, "is no list of numbers"),
    (lambda a: a | {"data": [item | {"embedding": [1e39]} for item in a["data"]]}, "numbers that float32 cannot"),
    (lambda a: a | {"data": [item | {"embedding": [10**400]} for item in a["data"]]}, "numbers that float32 cannot"),
    (lambda a: a | {"data": [item | {"embedding": "AAA"} for item in a["data"]]}, "no base64 of float32"),
    (lambda a: a | {"data": [item | {"embedding": "AADAfw=="} for item in a["data"]]}, "numbers that float32 cannot")])
def test_vectors_that_cannot_be_used_cannot_decide(ask, server, change, message):
    server.change = change
    with pytest.raises(RetrieverFailed) as error:
        ask("a", "b")
    assert message in str(error.value) and error.value.exit_code == 3


def test_dimensions_that_were_asked_for_must_come(ask, server):
    server.change = lambda answer: answer | {"data": [item | {"embedding": [1.0, 0.0]} for item in answer["data"]]}
    with pytest.raises(RetrieverFailed, match="vectors have 2 dimensions; 4 were asked for"):
        ask("a", dimensions=4)


def test_a_refused_key_is_named_and_never_shown(server, ask):
    server.answer = lambda asked, handler: (401, {"error": f"Incorrect key: {asked.headers['authorization']}"})
    with pytest.raises(RetrieverFailed, match="answered 401: it refuses the gate, which asked with KEY") as error:
        ask("a")
    assert SECRET not in str(error.value) + repr(ask.source) and "***" in str(error.value)


def test_a_reported_name_that_holds_the_secret_is_masked(server, ask, tmp_path):
    server.model = f"small for {SECRET}"
    ask("a")
    assert ask.described["reported"].startswith("small for ***") and SECRET.encode() not in file_of(tmp_path).read_bytes()


def test_a_missing_key_cannot_decide(server, tmp_path):
    with pytest.raises(GateError, match="`key` needs the variable KEY") as error:
        Asking(server, tmp_path, {})("a")
    assert error.value.exit_code == 3


@pytest.mark.parametrize(("more", "message"), [
    ({"key": "sk-abc"}, "`key` is written out; write ${NAME}"), ({"model": None}, "`model` is missing"), ({"batch": 0}, "`batch`"),
    ({"encoding_format": "int8"}, "must be one of float, base64"), ({"dimensions": 0}, "`dimensions`"), ({"verify": -1}, "`verify`"),
    ({"probe": "yes please"}, "`probe`"), ({"url": "http://h/{query}"}, "has {query} where it cannot be put in"),
    ({"functoin": "a:b"}, "unknown key `functoin`"), ({"kind": "endpont"}, "did you mean endpoint")])
def test_settings_that_cannot_work_are_faults(more, message):
    problems = read(None, **more)[1]
    assert any(message in problem for problem in problems), problems


@pytest.mark.parametrize(("before", "now", "warned"), [
    ({"embedding": {"reported": "a"}}, {"embedding": {"reported": "b"}}, 1),
    ({"embedding": {"reported": "a"}}, {"embedding": {"reported": "a"}}, 0),
    ({"embedding": {}}, {"embedding": {"reported": "b"}}, 0), ({"embedding": {"reported": "a"}}, {"embedding": {"model": "m"}}, 0),
    (None, {"embedding": {"reported": "b"}}, 0), (None, {"embedding": {"least_cosine": 0.5}}, 1),
    ({"embedding": {"reported": "a"}}, {"embedding": {"reported": "b", "least_cosine": 0.5}}, 2),
    ({"legs": {"x": {"embedding": {"reported": "a"}}}}, {"legs": {"x": {"embedding": {"reported": "b"}}}}, 1)])
def test_only_a_change_that_is_known_is_warned_of(before, now, warned):
    assert len(model_warnings(before, now)) == warned


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make files of other users")
def test_what_is_kept_belongs_to_whom_the_workspace_belongs(server, tmp_path):
    os.chown(tmp_path, 4321, 4321)
    Asking(server, tmp_path / "cache")("a")
    assert {place.stat().st_uid for place in (tmp_path / "cache").rglob("*")} == {4321} == {(tmp_path / "cache").stat().st_uid}


KEPT = Stored({}).joined([mark_of(text) for text in "abc"], np.array([vector(text) for text in "abc"]), "small")


@given(st.one_of(st.binary(max_size=300), st.tuples(st.integers(0, 10**6), st.integers(1, 255), st.integers(0, 10**6))))
def test_whatever_is_in_the_file_only_what_was_kept_is_believed(damage):
    with tempfile.TemporaryDirectory() as folder:
        cache = VectorCache(Path(folder), {"model": "small"})
        assert cache.save(KEPT) == ""
        whole = cache.path.read_bytes()
        if isinstance(damage, tuple):
            place, bit, cut = damage[0] % len(whole), damage[1], damage[2] % (2 * len(whole))
            damage = (whole[:place] + bytes([whole[place] ^ bit]) + whole[place + 1:])[:cut + 1]
        cache.path.write_bytes(damage)
        found, why = cache.load()
        # White space before a number of the line, for instance, changes nothing that is believed.
        assert (not found.rows and "was not used and is made anew" in why) or \
            (found.rows == KEPT.rows and np.array_equal(found.vectors, KEPT.vectors) and found.reported == "small")
