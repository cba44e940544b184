"""The real LangChain and LlamaIndex, installed through `requirements:` as a team would."""

import os
import subprocess
import sys

import pytest

from gate.retrievers.limits import Limits
from gate.retrievers.team.packages import Packages
from gate.retrievers.team.results import Keys
from gate.runs import Chunk

LIMITS = Limits(query_seconds=60, run_seconds=240, start_seconds=120, memory_mb=8192)


@pytest.fixture(scope="module")
def index():
    """The index of packages, asked by pip itself: only pip knows which one its settings name."""
    asked = subprocess.run([sys.executable, "-m", "pip", "index", "versions", "pip"], capture_output=True, text=True, timeout=120)
    if asked.returncode:
        pytest.skip("the index of packages cannot be reached")


needs_index = pytest.mark.usefixtures("index")

LANGCHAIN = """
    from langchain_core.documents import Document
    from langchain_core.embeddings import DeterministicFakeEmbedding
    from langchain_core.retrievers import BaseRetriever
    from langchain_core.vectorstores import InMemoryVectorStore

    def document(number):
        place = {"source": f"docs/{number}.md", "start_index": number}
        return Document(id=f"chunk-{number}", page_content=f"text {number}", metadata=place)

    DOCUMENTS = [document(number) for number in range(1, 9)]

    class Words(BaseRetriever):
        def _get_relevant_documents(self, query, *, run_manager=None):
            return sorted(DOCUMENTS, key=lambda document: document.page_content != query)

    def store(k):
        made = InMemoryVectorStore(DeterministicFakeEmbedding(size=32))
        made.add_documents(DOCUMENTS)
        return made.as_retriever(search_kwargs={"k": k})

    words, few, pairs = Words(), store(4), store(8).vectorstore.similarity_search_with_score
    asked = words.ainvoke
"""


@needs_index
@pytest.mark.timeout(600)
def test_retrievers_of_langchain_are_asked_as_they_are(shelf):
    team = shelf.team
    team.write("langchain-core\nnumpy\n", "requirements.txt")

    def ask(name, **more):
        packages = Packages(team.path / "requirements.txt", shelf.cache, os.environ, LIMITS)
        return team.ask(LANGCHAIN, count=2, depth=5, limits=LIMITS, function=f"search:{name}", packages=packages, **more)

    first = ask("words")
    assert [first[q].docs[0] for q in ("q1", "q2")] == ["chunk-1", "chunk-2"] and len(first["q1"].docs) == 5
    assert first["q2"].chunks[0] == Chunk("", 2, 8)
    assert team.last.describe()["packages"].keys() == {"langchain-core", "numpy"}
    assert {q: r.docs for q, r in ask("asked").items()} == {q: r.docs for q, r in first.items()}
    by_source = ask("few", keys=Keys("metadata.source"))
    assert by_source["q1"].docs[0] == "docs/1.md" and len(by_source["q1"].docs) == 4
    assert any("no query got more than 4 of the 5 results" in note for note in team.notes)
    scored = ask("pairs")
    assert scored["q1"].docs[0] == "chunk-1" and scored["q1"].scores[0] == pytest.approx(1.0) and len(scored["q1"].docs) == 5


LLAMAINDEX = """
    from llama_index.core.base.base_retriever import BaseRetriever
    from llama_index.core.schema import NodeRelationship, NodeWithScore, RelatedNodeInfo, TextNode

    def node(number):
        made = TextNode(id_=f"node-{number}", text=f"text {number}", start_char_idx=10 * number, end_char_idx=10 * number + 6,
                        metadata={"file_name": f"{number}.md"})
        made.relationships[NodeRelationship.SOURCE] = RelatedNodeInfo(node_id=f"document-{number}")
        return made

    NODES = [node(number) for number in range(1, 9)]

    class Words(BaseRetriever):
        def _retrieve(self, bundle):
            return [NodeWithScore(node=node, score=float(node.text == bundle.query_str))
                    for node in sorted(NODES, key=lambda node: node.text != bundle.query_str)]

    words = Words()
    def make():
        return words.aretrieve
"""


@needs_index
@pytest.mark.timeout(600)
def test_retrievers_of_llamaindex_are_asked_as_they_are(shelf):
    team = shelf.team
    team.write("llama-index-core\n", "requirements.txt")

    def ask(name, **more):
        packages = Packages(team.path / "requirements.txt", shelf.cache, os.environ, LIMITS)
        return team.ask(LLAMAINDEX, count=2, depth=5, limits=LIMITS, function=f"search:{name}", packages=packages, **more)

    first = ask("words")["q2"]
    assert (first.docs[0], first.scores[:2], first.chunks[0]) == ("document-2", [1.0, 0.0], Chunk("node-2", 20, 26))
    assert len(first.docs) == 5
    assert ask("make", factory=True)["q2"].docs == first.docs
    assert ask("words", keys=Keys("metadata.file_name", "node_id"))["q1"].docs[0] == "1.md"
