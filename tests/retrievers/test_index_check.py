"""A running engine's index is the frozen one, or the run stops before the first question."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.errors import InvalidInput
from gate.retrievers.engines.ann_loss import AnnLoss
from gate.retrievers.engines.hits import Hit, ranking_of
from gate.retrievers.engines.index_check import check_index, sample_rows
from gate.retrievers.engines.index_load import batches, loadable
from gate.snapshot.build import build_bm25
from gate.snapshot.chunking import Chunking
from gate.snapshot.corpus import read_corpus
from gate.snapshot.manifest import read_manifest
from gate.snapshot.reader import Snapshot
from tests.retrievers.frozen import Held, dense_snapshot

RANDOM = np.random.default_rng(7)
VECTORS = {f"d{n:03}": RANDOM.normal(size=8).astype(np.float32) for n in range(300)}


@pytest.fixture(scope="module")
def frozen(tmp_path_factory):
    return dense_snapshot(tmp_path_factory.mktemp("frozen"), VECTORS)


def faults(snapshot, level, engine) -> str:
    with pytest.raises(InvalidInput) as caught:
        check_index(snapshot, level, engine)
    assert caught.value.exit_code == 2
    return str(caught.value)


def test_the_frozen_index_passes_at_every_level_without_a_word(frozen):
    assert check_index(frozen, "", Held(VECTORS)) == ("vectors", ())
    for level in ("vectors", "ids", "count"):
        assert check_index(frozen, level, Held(VECTORS)) == (level, ())


def test_missing_unknown_and_doubled_units_are_counted_and_a_few_are_named(frozen):
    held = {unit: vector for unit, vector in VECTORS.items() if unit not in ("d003", "d100")} | {"zz": VECTORS["d000"]}
    told = faults(frozen, "ids", Held(held))
    assert "holds 299 units, the snapshot 300" in told and "lacks 2 of them: 'd003', 'd100'" in told
    assert "1 are unknown to the snapshot: 'zz'" in told and "What to do: load the index anew" in told
    assert "1 are there more than once: 'd007'" in faults(frozen, "ids", Held(VECTORS, [*VECTORS, "d007"]))
    assert "lacks 300 of them: 'd000', 'd001', 'd002', 'd003', 'd004', …" in faults(frozen, "", Held({}))


def test_a_count_sees_only_counts(frozen):
    assert "holds 299 units, the snapshot 300" in faults(frozen, "count", Held(dict(list(VECTORS.items())[1:])))
    check_index(frozen, "count", Held({f"x{n}": 0 for n in range(300)}))


def test_vectors_of_another_model_are_told_from_what_fewer_bits_lose(frozen):
    check_index(frozen, "vectors", Held({unit: vector.astype(np.float16) for unit, vector in VECTORS.items()}))
    check_index(frozen, "vectors", Held({unit: vector * 3 for unit, vector in VECTORS.items()}))  # cosine: the engine may normalise
    other = {unit: vector + RANDOM.normal(size=8) * 0.3 for unit, vector in VECTORS.items()}
    assert "sampled vectors are not the snapshot's" in faults(frozen, "", Held(other))
    assert "its vectors have 4 dimensions, the snapshot's 8" in faults(frozen, "", Held({u: v[:4] for u, v in VECTORS.items()}))
    zeros = {unit: vector * 0 for unit, vector in VECTORS.items()}
    assert "256 of 256 sampled vectors are not" in faults(frozen, "", Held(zeros))
    check_index(frozen, "ids", Held(other))


def test_a_unit_without_a_vector_is_a_fault(frozen):
    held = Held(VECTORS)
    held.vectors = lambda ids: {}
    assert "256 of 256 sampled units have no vector" in faults(frozen, "", held)


def test_under_dot_product_the_length_counts(tmp_path):
    frozen = dense_snapshot(tmp_path, VECTORS, similarity="dot")
    check_index(frozen, "", Held(VECTORS))
    assert "are not the snapshot's" in faults(frozen, "", Held({unit: vector * 1.1 for unit, vector in VECTORS.items()}))


def test_what_cannot_be_compared_is_said(frozen, tmp_path, write):
    checked = check_index(None, "", Held(VECTORS))
    assert checked.level == "none" and "no `snapshot:` is configured" in checked.notes[0]
    assert "there is no snapshot to compare table docs with" in faults(None, "ids", Held(VECTORS))
    assert "`check: none`" in check_index(frozen, "none", Held({})).notes[0]
    corpus = write("corpus.jsonl", *({"_id": unit, "text": "a text"} for unit in VECTORS))
    lexical = Snapshot(tmp_path / "bm25", build_bm25(read_corpus(corpus), tmp_path / "bm25"))
    assert check_index(lexical, "", Held(VECTORS)).level == "ids"
    assert "the bm25 snapshot holds none" in faults(lexical, "vectors", Held(VECTORS))
    with pytest.raises(InvalidInput, match="the snapshot holds no vectors"):
        loadable(lexical)


def test_the_sample_is_always_the_same_and_grows_by_adding(frozen):
    small, large = sample_rows(frozen.ids, 20), sample_rows(frozen.ids, 100)
    assert small == sample_rows(frozen.ids, 20) and set(small) < set(large) and len(large) == 100 and large == sorted(large)


@pytest.mark.parametrize("size", [1, 7, 300, 1000])
def test_batches_bring_every_unit_with_its_vector(frozen, size):
    seen = {unit["id"]: row for units, rows in batches(frozen, size) for unit, row in zip(units, rows, strict=True)}
    assert seen.keys() == VECTORS.keys() and all(np.array_equal(seen[unit], VECTORS[unit]) for unit in seen)


HITS = st.lists(st.builds(Hit, st.text("abc", min_size=1, max_size=3), st.sampled_from([0.1, 0.5, 0.9])), unique_by=lambda hit: hit.id)


@given(HITS, st.randoms())
def test_equal_scores_are_ordered_by_id_whatever_order_the_engine_gave(hits, random):
    shuffled = random.sample(hits, len(hits))
    assert ranking_of(shuffled) == ranking_of(hits)
    scores = ranking_of(hits).scores
    assert scores == sorted(scores, reverse=True)


def test_what_approximate_search_lost_is_told_in_one_sentence():
    loss = AnnLoss()
    assert loss.notes() == []
    full = [Hit("a", .9), Hit("b", .8)]
    loss.add(full, full)
    loss.add([Hit("a", .9), Hit("c", .8 - 1e-9)], full)  # as good as b: which of two equal ones comes is no loss
    assert loss.notes() == ["approximate search returned everything that exact search does, in all 2 queries"]
    loss.add([Hit("a", .9), Hit("d", .2)], full)
    loss.add([], full)
    note, = loss.notes()
    assert "returned 62.50 % of what exact search does; 2 of 4 queries lack something" in note


def test_units_that_are_parts_of_documents_need_the_setting_that_names_the_document(tmp_path, frozen):
    (tmp_path / "corpus.jsonl").write_text('{"_id": "bees", "text": "some honey and some more of it"}\n')
    corpus = read_corpus(tmp_path / "corpus.jsonl", Chunking("fixed", size=2))
    build_bm25(corpus, tmp_path / "snapshot")
    parts = Snapshot(tmp_path / "snapshot", read_manifest(tmp_path / "snapshot"))
    assert len(parts.ids) > 1 and set(parts.docs) == {"bees"}
    note, = check_index(parts, "ids", Held({}, parts.ids), "document").notes
    assert repr(parts.ids[0]) in note and "'bees'" in note and "`retriever.document`" in note
    assert check_index(parts, "ids", Held({}, parts.ids)).notes == () == check_index(frozen, "ids", Held(VECTORS), "document").notes
