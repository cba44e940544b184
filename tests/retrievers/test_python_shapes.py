"""What a team's code may be besides a function of (query, n), and what the results of others' libraries mean. Objects shaped like those of
LangChain and LlamaIndex; the real ones are in test_frameworks.py."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.errors import InvalidInput, RetrieverFailed
from gate.retrievers.team.results import Keys, Unusable, at, converted
from gate.runs import Chunk
from gate.settings import parse_settings

LANGCHAIN = """
    class Document:
        def __init__(self, id=None, page_content="text", **metadata):
            self.id, self.page_content, self.metadata = id, page_content, metadata
    class Retriever:
        search_kwargs = {"k": 3}
        def invoke(self, query, config=None, **kwargs):
            assert config is None and not kwargs
            return [Document(f"{query}-{number}") for number in range(self.search_kwargs["k"])]
        async def ainvoke(self, query, config=None, **kwargs):
            return self.invoke(query, config)
    retriever = Retriever()
    invoke, ainvoke = retriever.invoke, retriever.ainvoke
"""


class Document:
    def __init__(self, id=None, page_content="text", **metadata):
        self.id, self.page_content, self.metadata = id, page_content, metadata


class Node:
    def __init__(self, node_id, ref_doc_id=None, start=None, end=None, **metadata):
        self.node_id, self.ref_doc_id, self.metadata = node_id, ref_doc_id, metadata
        self.start_char_idx, self.end_char_idx = start, end


class Scored:
    def __init__(self, node, score=None):
        self.node, self.score = node, score


class Point:
    """As vector databases return them."""

    def __init__(self, id, score, **payload):
        self.id, self.score, self.payload = id, score, payload


# who is asked


@pytest.mark.parametrize("name", ["retriever", "retriever.invoke", "ainvoke"])
def test_an_object_that_is_invoked_is_given_the_query_alone_and_that_is_said_once(team, name):
    found = team.ask(LANGCHAIN, count=2, depth=5, function=f"search:{name}")
    assert [ranking.docs for ranking in found.values()] == [["text 1-0", "text 1-1", "text 1-2"], ["text 2-0", "text 2-1", "text 2-2"]]
    assert team.notes == [f"no query got more than 3 of the 5 results that were asked for: `search:{name}` is not told how many are "
                          "wanted, so its own number (`k`, `similarity_top_k`) decides"]
    team.ask(LANGCHAIN, depth=2, function=f"search:{name}")
    assert team.notes == ["1 query got more than 2 results; the rest was cut"]


def test_an_object_that_retrieves_is_told_the_number_only_where_it_wants_one(team):
    source = """
        class Index:
            def retrieve(self, bundle):
                return [bundle]
        class Own:
            def retrieve(self, query, top_k=3):
                return [query] * top_k
        class Later:
            async def aretrieve(self, bundle):
                return [bundle, "b"]
        index, own, later = Index(), Own(), Later()
    """
    assert team.ask(source, function="search:index", depth=1)["q1"].docs == ["text 1"]
    assert len(team.ask(source, function="search:own", depth=7)["q1"].docs) == 7 and team.notes == []
    assert team.ask(source, function="search:later", depth=2)["q1"].docs == ["text 1", "b"]


def test_async_functions_share_one_loop_for_the_life_of_the_process(team):
    source = """
        import asyncio
        loops, lock, waiting = set(), None, []
        async def client():
            await asyncio.sleep(3600)
        async def retrieve(query, n):
            global lock
            lock = lock or asyncio.Lock()
            waiting.append(waiting[0] if waiting else asyncio.ensure_future(client()))
            loops.add(id(asyncio.get_running_loop()))
            async with lock:
                await asyncio.sleep(0)
            return [str(len(loops)), str(waiting[0].done())]
    """
    assert [ranking.docs for ranking in team.ask(source, count=3).values()] == [["1", "False"]] * 3


def test_what_an_async_function_raises_is_shown_without_the_loops_own_lines(team):
    source = "import asyncio\nasync def deep():\n    raise ValueError('no shard')\nasync def retrieve(query, n):\n    await deep()\n"
    assert team.ask(source)["q1"].error.split("\n") == [
        "the function raised ValueError: no shard (search.py:3).", "| search.py:5 in retrieve: await deep()",
        "| search.py:3 in deep: raise ValueError('no shard')", "| ValueError: no shard"]


FACTORY = """
    calls = []
    def make():
        calls.append(1)
        return lambda query, n: [query, str(len(calls))]
    async def later():
        return make()
    class Engine:
        def __call__(self, query, n):
            return ["engine"]
    def needs(path):
        return make()
    def nothing():
        pass
    def broken():
        raise OSError("no index here")
"""


@pytest.mark.parametrize(("name", "docs"), [("make", ["text 2", "1"]), ("later", ["text 2", "1"]), ("Engine", ["engine"])])
def test_a_factory_is_called_once_and_what_it_returns_is_asked(team, name, docs):
    assert team.ask(FACTORY, count=2, function=f"search:{name}", factory=True)["q2"].docs == docs


@pytest.mark.parametrize(("name", "factory", "words"), [
    ("needs", True, "`search:needs` must be callable without arguments, because `factory` is true"),
    ("nothing", True, "what `search:nothing` returned is None (NoneType), which cannot be called and has no `invoke` or `retrieve`"),
    ("calls", True, "`search:calls` cannot be called, and `factory` is true"),
    ("broken", True, "calling it once as a factory failed: OSError: no index here (search.py:16)"),
    ("make", False, "must accept two arguments"), ("Engine", False, "`search:Engine` is a class"),
    ("calls", False, "which cannot be called")])
def test_what_is_no_retriever_and_what_is_no_factory_is_told_before_the_first_query(team, name, factory, words):
    with pytest.raises(RetrieverFailed) as caught:
        team.ask(FACTORY, function=f"search:{name}", factory=factory)
    assert words in caught.value.problems[0]


# what came back


def read(results, n=10, **keys):
    return converted(results, n, Keys(**keys))


def test_an_id_of_a_langchain_document_is_its_own_or_in_its_metadata():
    assert read([Document("a"), (Document("b"), 0.5)][:1])["ranked"] == [{"doc": "a"}]
    assert read([(Document("b", source="x"), 0.5)])["ranked"] == [{"doc": "b", "score": 0.5}]
    assert read([Document(doc_id="d", source="s"), Document(doc_id="e")])["ranked"] == [{"doc": "d"}, {"doc": "e"}]
    assert read([Document(source="docs/a.md", start_index=7, page_content="twelve chars")])["ranked"] == [
        {"doc": "docs/a.md", "start": 7, "end": 19}]
    assert read([Document("a", start_index=-1)])["ranked"] == [{"doc": "a"}]


def test_the_first_document_decides_where_all_ids_are():
    with pytest.raises(Unusable, match="result 2 has no `id` to take its document id from; it has `page_content`, `metadata.source`"):
        read([Document("a"), Document(source="b")])


def test_a_node_of_llamaindex_names_its_document_its_chunk_and_its_place():
    assert read([Scored(Node("n1", "d1", 3, 9), 0.25), Scored(Node("n2", "d2", None, 9))])["ranked"] == [
        {"doc": "d1", "score": 0.25, "chunk": "n1", "start": 3, "end": 9}, {"doc": "d2", "chunk": "n2"}]
    assert read([Node("n1"), Scored(Node("n2"), 1)])["ranked"] == [{"doc": "n1"}, {"doc": "n2", "score": 1.0}]
    assert read([(Node("n1", "d1"), 2)])["ranked"] == [{"doc": "d1", "score": 2.0, "chunk": "n1"}]


def test_configured_keys_lead_through_attributes_and_mappings():
    assert read([Document("a", source={"page": 7})], id="metadata.source.page")["ranked"] == [{"doc": "7"}]
    assert read([Document("a", **{"source.path": "x.md"})], id="metadata.source.path")["ranked"] == [{"doc": "x.md"}]
    assert read([Scored(Node("n", "d", 1, 2, file="f.md", at=5, to=8), 1.0)], id="metadata.file", chunk="node_id", start="metadata.at",
                end="metadata.to")["ranked"] == [{"doc": "f.md", "score": 1.0, "chunk": "n", "start": 5, "end": 8}]
    assert read([Point(3, 0.5, doc="d3")], id="payload.doc")["ranked"] == [{"doc": "d3", "score": 0.5}]
    assert read([{"_id": "x", "_source": {"url": "u"}, "score": 2}], id="_source.url")["ranked"] == [{"doc": "u", "score": 2.0}]
    assert read(["plain", ("pair", 0.5)], id="metadata.source")["ranked"][0] == "plain"
    assert at({"a": {"b": None}}, "a.b") is at({"a": None}, "a.b.c") is at(object(), "a") is None


def test_dictionaries_of_search_engines_have_their_id_where_they_put_it():
    assert read([{"_id": "x"}, {"id": "y", "_id": "z"}, {"doc": "w", "id": "v"}])["ranked"] == [{"doc": "x"}, {"doc": "y"}, {"doc": "w"}]


@pytest.mark.parametrize(("result", "keys", "words"), [
    (Document(title="t", page=3), {}, "result 1 has none of `id`, `metadata.id`, `metadata.doc_id`, `metadata.source` to take its document "
     "id from; it has `page_content`, `metadata.title`, `metadata.page` (`retriever.id_key`)"),
    (Document("a", title="t"), {"id": "metadata.source"}, "has no `metadata.source` to take its document id from; it has `id`, "),
    ({"title": "t", "metadata": {"page": 3}}, {"id": "metadata.source"}, "it has `title`, `metadata.page` (`retriever.id_key`)"),
    ({f"k{i}": i for i in range(50)}, {}, "`k19` and 30 more (`retriever.id_key`)"), (Point(3, 0.5), {}, "is <tests."),
    (Document("a", source=["x"]), {"id": "metadata.source"}, "result 1 is ['x'] (list), not a document id"),
    (Document("a", flag=True), {"id": "metadata.flag"}, "result 1 is True (bool), not a document id"),
    (Document("a", at="here"), {"start": "metadata.at"}, "result 1 has the start 'here' (str), which is not a whole number"),
    (Scored(Node("n"), float("inf")), {}, "result 1 has the score inf (float), which is not a finite number"),
    (17, {"id": "x"}, "has no `x`")])
def test_a_result_without_an_id_is_told_with_the_keys_that_it_has(result, keys, words):
    with pytest.raises(Unusable) as caught:
        read([result], **keys)
    assert words in str(caught.value)


def test_keys_of_the_configuration_reach_the_process(team):
    text = "golden: g\nretriever:\n  kind: python\n  function: a:b\n  id_key: metadata.x\n  chunk_key: c\n  start_key: s\n  end_key: e\n"
    assert parse_settings(text.encode(), "c.yml", "c.yml").retriever.options.keys == Keys("metadata.x", "c", "s", "e")
    source = LANGCHAIN + "    def retrieve(query, n):\n        return [Document('a', source=query), Document('b', page=1)][:n]\n"
    assert team.ask(source, depth=1, keys=Keys("metadata.source"))["q1"].docs == ["text 1"]
    assert team.last.describe() == {"kind": "python", "function": "search:retrieve", "id_key": "metadata.source"}
    assert "it has `id`, `page_content`, `metadata.page` (`retriever.id_key`)" in team.ask(source, keys=Keys("metadata.source"))["q1"].error


LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.binary(max_size=3) | st.just(10**400) | \
    st.builds(Document, st.none() | st.text(max_size=3)) | st.builds(Node, st.text(max_size=3), st.none() | st.text(max_size=3),
                                                                    st.none() | st.integers(), st.none() | st.integers())
RESULTS = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=4) | st.tuples(inner, inner) | st.builds(Scored, inner, inner) |
                       st.dictionaries(st.sampled_from(["doc", "id", "score", "chunk", "start", "metadata", "ranked", "candidates", "ms"]),
                                       inner, max_size=4), max_leaves=12)


@given(RESULTS, st.sampled_from([Keys(), Keys("metadata.id", "chunk", "start", "score"), Keys("doc.id.score")]))
def test_whatever_is_returned_becomes_an_answer_of_ids_or_a_told_fault(result, keys):
    try:
        answer = converted(result, 5, keys)
    except Unusable as fault:
        assert str(fault)
        return
    json.dumps(answer, allow_nan=False)
    docs = [one if isinstance(one, str) else one["doc"] for one in answer["ranked"]]
    assert len(docs) <= 5 and all(isinstance(doc, str) and doc for doc in (*docs, *answer.get("candidates", ())))


# two stages


@pytest.mark.parametrize("expression", [
    "{'ranked': ['a', 'b'], 'candidates': ['c', ('a', 0.5), {'doc': 'b'}], 'cost': 0.25, 'ms': 3}",
    "__import__('types').SimpleNamespace(ranked=['a', 'b'], candidates=['c', 'a', 'b'], cost=0.25, ms=3)"])
def test_a_two_stage_answer_brings_its_candidates_cost_and_time(team, expression):
    ranking = team.ask(f"def retrieve(query, n):\n    return {expression}\n", depth=1)["q1"]
    assert (ranking.docs, ranking.candidates, ranking.cost, ranking.ms) == (["a"], ["c", "a", "b"], 0.25, 3.0)


@pytest.mark.parametrize(("expression", "words"), [
    ("{'ranked': 'abc'}", "the function returned as `ranked` 'abc' (str), not a list"),
    ("{'ranked': [], 'candidtes': []}", "the unknown key 'candidtes' (str); known are ranked, candidates, cost, ms"),
    ("{'ranked': [], 'candidates': 'abc'}", "the function returned the candidates 'abc' (str), not a list"),
    ("{'ranked': [], 'candidates': ['a', 7]}", "of the candidates, result 2 is 7 (int), not a document id"),
    ("{'ranked': [], 'candidates': ['a'] * 10_001}", "the function returned 10001 candidates; at most 10000 are kept"),
    ("{'ranked': [], 'candidates': ['a' * 20_000]}", "an id of 20000 characters"),
    ("{'ranked': [], 'cost': 'much'}", "the function returned the cost 'much' (str), which is not a finite number"),
    ("{'ranked': [], 'cost': -1}", "`cost` is -1, and must not be negative"),
    ("{'ranked': [], 'ms': float('nan')}", "the function returned the ms nan (float)")])
def test_what_a_two_stage_answer_has_wrong_is_that_querys_error(team, expression, words):
    ranking = team.ask(f"def retrieve(query, n):\n    return {expression}\n")["q1"]
    assert words in ranking.error and ranking.candidates is None


def test_building_without_requirements_is_a_fault_of_the_settings():
    with pytest.raises(InvalidInput, match="6: `build` allows that packages of `requirements` are built"):
        parse_settings(b"golden: g\nretriever:\n  kind: python\n  function: a:b\n\n  build: true\n", "c.yml", "c.yml")


def test_places_in_their_text_become_chunks_of_the_ranking(team):
    source = LANGCHAIN + "    def retrieve(query, n):\n        return [Document('a', start_index=2), Document('b')]\n"
    assert team.ask(source)["q1"].chunks == [Chunk("", 2, 6), Chunk()]
