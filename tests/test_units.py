"""Gold units that are not documents: spans, equivalence groups, and what a cutoff counts."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gate.errors import InvalidInput
from gate.golden.model import GoldenSet, Query, Span
from gate.runs import Chunk, Ranking, Run
from gate.scoring.metrics import parse_metric
from gate.scoring.score import score_run

METRICS = ("ndcg@10", "ndcg-exp@5", "recall@1", "recall@5", "precision@1", "precision@5", "rr", "rr@3", "ap", "ap@2", "hit@3",
           "recall-cap@1", "recall-cap@5", "r-precision", "judged@5", "span-coverage@1", "span-coverage@5")


def query(relevant=(), spans=(), groups=(), name="q"):
    """``relevant``: ids or grades; ``spans``: (doc, start, end[, grade])."""
    gains = {d: float(g) for d, g in relevant.items()} if isinstance(relevant, dict) else dict.fromkeys(relevant, 1.0)
    return Query(name, "question", gains, tuple(Span(*span) for span in spans), line=1, groups=tuple(tuple(sorted(g)) for g in groups))


def ranking(items):
    """Items are documents, or (doc, start, end)."""
    pairs = [(item, Chunk()) if isinstance(item, str) else (item[0], Chunk("", *item[1:])) for item in items]
    return Ranking([doc for doc, _ in pairs], chunks=[chunk for _, chunk in pairs])


def values(asked, items, metrics=METRICS, **more):
    scored = score_run(GoldenSet((asked,), "golden.jsonl"), Run({"q": ranking(items)}), [parse_metric(m) for m in metrics],
                       **{"require_offsets": False} | more)
    return scored.queries["q"].values


def value(metric, asked, items, **more):
    return values(asked, items, [metric], **more)[metric]


# --- spans


def test_two_chunks_that_hold_the_same_passage_find_it_once():
    asked = query(spans=[("d", 100, 120)])
    found = values(asked, [("d", 0, 130), ("d", 90, 220)], unit="chunk")
    assert found["ndcg@10"] == found["recall@5"] == found["ap"] == found["rr"] == found["r-precision"] == 1.0
    assert found["precision@5"] == 0.2


def test_a_query_with_spans_only_has_a_score():
    scored = score_run(GoldenSet((query(spans=[("d", 0, 10)]),)), Run({"q": ranking([("x", 0, 9), ("d", 0, 10)])}), [parse_metric("rr")])
    assert scored.mean("rr") == 0.5 and scored.excluded.undefined == () and scored.queries["q"].first_rank == 2


def test_a_query_whose_spans_are_all_worthless_is_undefined():
    scored = score_run(GoldenSet((query(spans=[("d", 0, 10, 0.0)]),)), Run({"q": ranking([("d", 0, 10)])}), [parse_metric("rr")])
    assert scored.excluded.undefined == ("q",)


@pytest.mark.parametrize("start, end, found", [(0, 150, 1.0), (0, 149, 0.0), (150, 400, 1.0), (151, 400, 0.0), (100, 200, 1.0),
                                               (120, 170, 1.0), (120, 169, 0.0), (200, 300, 0.0), (0, 100, 0.0), (150, 150, 0.0)])
def test_a_chunk_finds_a_span_when_it_holds_at_least_half_of_it(start, end, found):
    assert value("hit@1", query(spans=[("d", 100, 200)]), [("d", start, end)]) == found


@pytest.mark.parametrize("overlap, end, found", [(1.0, 200, 1.0), (1.0, 199, 0.0), (0.55, 155, 1.0), (0.55, 154, 0.0), (0.01, 101, 1.0)])
def test_how_much_of_a_span_a_chunk_must_hold_can_be_set(overlap, end, found):
    assert value("hit@1", query(spans=[("d", 100, 200)]), [("d", 0, end)], overlap=overlap) == found


@pytest.mark.parametrize("overlap", [0.0, -1.0, 1.01, float("nan")])
def test_a_share_of_nothing_or_of_more_than_everything_is_refused(overlap):
    with pytest.raises(ValueError, match="overlap"):
        value("hit@1", query(["a"]), ["a"], overlap=overlap)


def test_the_same_characters_of_another_document_find_nothing():
    assert value("hit@1", query(spans=[("d", 0, 10)]), [("e", 0, 10)]) == 0.0


def test_a_span_is_found_by_one_chunk_alone_and_covered_by_all_of_them():
    asked, chunks = query(spans=[("d", 100, 200)]), [("d", 50, 130), ("x", 0, 9), ("d", 160, 300)]
    found = values(asked, chunks, ("recall@5", "span-coverage@1", "span-coverage@2", "span-coverage@3", "span-coverage@50"), unit="chunk")
    assert found == {"recall@5": 0.0, "span-coverage@1": 0.3, "span-coverage@2": 0.3, "span-coverage@3": 0.7, "span-coverage@50": 0.7}


def test_overlapping_chunks_do_not_cover_a_character_twice():
    asked = query(spans=[("d", 0, 100)])
    assert value("span-coverage@9", asked, [("d", 0, 60), ("d", 40, 80), ("d", 10, 20), ("d", 0, 60)]) == 0.8
    assert value("span-coverage@9", asked, [("d", 10, 20), ("d", 30, 40), ("d", 50, 60), ("d", 15, 55), ("d", 0, 500)]) == 1.0


def test_spans_count_alike_in_coverage_however_long_they_are():
    asked = query(spans=[("d", 0, 10), ("e", 0, 1000)])
    assert value("span-coverage@1", asked, [("d", 0, 10)]) == 0.5


def test_coverage_is_undefined_for_a_query_without_spans_and_its_mean_is_over_the_others():
    golden = GoldenSet((query(["a"], name="docs"), query(spans=[("d", 0, 10)], name="spans"), query(spans=[("d", 0, 10)], name="missing")))
    scored = score_run(golden, Run({"docs": ranking(["a"]), "spans": ranking([("d", 0, 10)])}),
                       [parse_metric("span-coverage@5"), parse_metric("hit@5")])
    assert scored.queries["docs"].values == {"hit@5": 1.0}
    assert scored.queries["missing"].values == {"hit@5": 0.0, "span-coverage@5": 0.0}
    assert scored.mean("span-coverage@5") == 0.5 and scored.mean("hit@5") == pytest.approx(2 / 3)
    assert scored.mean("span-coverage@5", ["docs"]) is None
    assert [m for m in METRICS if parse_metric(m).partial] == ["span-coverage@1", "span-coverage@5"]


def test_a_chunk_that_holds_several_spans_finds_them_all_and_nothing_exceeds_one():
    asked = query(spans=[("d", 0, 10), ("d", 20, 30), ("d", 40, 50, 2.0)])
    found = values(asked, [("d", 0, 100), "x", "y", "z", "v"], unit="chunk")
    assert found["recall@1"] == found["precision@1"] == found["recall-cap@1"] == found["ndcg@10"] == found["ap"] == 1.0
    assert found["precision@5"] == 0.6 and max(found.values()) == 1.0


def test_one_chunk_with_two_spans_is_worth_two_neighbouring_chunks_with_one_each():
    asked = query(spans=[("d", 0, 10), ("d", 20, 30), ("e", 0, 9, 3.0)])
    together = values(asked, ["x", ("d", 0, 30), ("e", 0, 9)], ("ndcg@10", "ap"), unit="chunk")
    apart = values(asked, ["x", ("d", 0, 10), ("e", 0, 9), ("d", 20, 30)], ("ndcg@10", "ap"), unit="chunk")
    assert together == apart
    assert together["ndcg@10"] == pytest.approx((1 / 1.5849625 + 3 / 2 + 1 / 2.3219281) / (3 + 1 / 1.5849625 + 1 / 2))
    assert together["ap"] == pytest.approx((1 / 2 + 2 / 3 + 3 / 4) / 3)


def test_a_document_with_spans_is_found_by_covering_them_and_others_stay_documents():
    asked = query(["d", "e"], spans=[("d", 0, 10)])
    assert value("recall@5", asked, [("d", 500, 600), ("e", 0, 5)]) == 0.5
    assert value("recall@5", asked, [("d", 0, 10)]) == 0.5
    assert value("recall@5", asked, [("e", 700, 701), ("d", 0, 10)]) == 1.0


def test_every_chunk_of_a_document_with_spans_is_judged():
    assert value("judged@2", query(spans=[("d", 0, 10)]), [("d", 500, 600), ("x", 0, 10)]) == 0.5


def test_a_result_without_offsets_covers_no_span():
    assert value("hit@2", query(spans=[("d", 0, 10)]), ["d", ("x", 0, 3)]) == 0.0


def test_a_run_without_any_offset_cannot_be_judged_by_spans():
    golden = GoldenSet((query(["a"], name="docs"), query(spans=[("d", 0, 10)])), "golden.jsonl")
    for found in (Ranking(["d"]), ranking(["d"])):
        with pytest.raises(InvalidInput, match=r"main: no result has chunk offsets .* 1 golden query has spans \(golden.jsonl:1: 'q'\)"):
            score_run(golden, Run({"docs": Ranking(["a"]), "q": found}, "main"), [parse_metric("hit@5")])
    old = score_run(golden, Run({"docs": Ranking(["a"]), "q": Ranking(["d"])}), [parse_metric("hit@5")], require_offsets=False)
    assert old.mean("hit@5") == 0.5


def test_a_run_that_found_nothing_scores_zero_and_is_not_blamed_for_its_format():
    golden = GoldenSet((query(spans=[("d", 0, 10)]),))
    assert score_run(golden, Run({"q": Ranking([])}), [parse_metric("ndcg@10")]).mean("ndcg@10") == 0.0


# --- equivalence groups


def test_any_member_of_a_group_counts_once_and_repeats_are_neutral():
    asked = query(["a", "z"], groups=[("a", "b", "c")])
    found = values(asked, ["b", "a", "c", "z"], ("recall@1", "recall@5", "precision@5", "rr", "ap", "ndcg@10", "judged@5"))
    assert found == {"recall@1": 0.5, "recall@5": 1.0, "precision@5": 0.4, "rr": 1.0, "ap": 0.75, "judged@5": 0.8,
                     "ndcg@10": pytest.approx((1 + 1 / 2.3219281) / (1 + 1 / 1.5849625))}


def test_a_group_is_worth_the_largest_grade_of_any_member():
    asked = query({"a": 1, "b": 3, "z": 2}, groups=[("a", "b", "c")])
    assert value("ndcg@2", asked, ["c", "z"]) == 1.0
    assert value("recall@1", query({"a": -1, "b": 1}, groups=[("a", "b")]), ["a"]) == 1.0


def test_a_group_of_worthless_documents_is_judged_and_no_unit():
    asked = query({"a": 0, "z": 1}, groups=[("a", "b")])
    assert values(asked, ["b", "z"], ("recall@1", "recall@2", "judged@2")) == {"recall@1": 0.0, "recall@2": 1.0, "judged@2": 1.0}


def test_without_its_group_the_same_ranking_is_a_miss():
    assert value("hit@5", query(["a"]), ["b"]) == 0.0 and value("hit@5", query(["a"], groups=[("a", "b")]), ["b"]) == 1.0


def test_a_document_with_spans_leaves_its_group():
    asked = query(["d", "e"], spans=[("d", 0, 10)], groups=[("d", "e", "f")])
    assert value("recall@5", asked, ["f", ("d", 500, 600)]) == 0.5  # f for e; the wrong part of d is nothing
    assert value("recall@5", asked, ["f", ("d", 0, 10)]) == 1.0


# --- what a cutoff counts


def test_with_chunks_the_cutoff_comes_first_and_then_the_mapping_to_units():
    chunks = [("a", 0, 9), ("a", 10, 19), ("a", 20, 29), ("b", 0, 9)]
    for asked in (query(["b"]), query(spans=[("b", 0, 9)]), query(["c"], groups=[("b", "c")])):
        assert value("hit@3", asked, chunks, unit="chunk") == 0.0 and value("hit@4", asked, chunks, unit="chunk") == 1.0
        assert value("rr", asked, chunks, unit="chunk") == 0.25
        assert value("hit@2", asked, chunks, unit="doc") == 1.0 and value("rr", asked, chunks, unit="doc") == 0.5


def test_a_chunk_far_below_does_not_have_the_rank_of_its_documents_first_chunk():
    asked = query(spans=[("a", 100, 110)])
    assert value("rr", asked, [("a", 0, 9), ("b", 0, 9), ("c", 0, 9), ("a", 100, 110)], unit="doc") == pytest.approx(1 / 3)
    assert value("rr", asked, [("a", 0, 9), ("a", 100, 110), ("b", 0, 9), ("c", 0, 9)], unit="doc") == 1.0


# --- properties

names = st.sampled_from("abcdef")
offsets = st.tuples(names, st.integers(0, 30), st.integers(1, 20)).map(lambda t: (t[0], t[1], t[1] + t[2]))
queries = st.builds(
    lambda relevant, spans, cut, grades: query(relevant, [(*span, float(g)) for span, g in zip(spans, grades, strict=False)],
                                               [g for g in (list("abcdef")[:cut], list("abcdef")[cut:]) if set(g) & relevant.keys()]),
    st.dictionaries(names, st.integers(-1, 3), max_size=4), st.lists(offsets, max_size=4, unique=True), st.integers(0, 6),
    st.lists(st.integers(0, 3), min_size=4, max_size=4)).filter(
        lambda q: any(s.grade > 0 for s in q.spans) or any(grade > 0 for _, grade in q.units.values()))
rankings = st.lists(offsets | names, max_size=12)
units = st.sampled_from(["doc", "chunk"])


@given(queries, rankings, units, st.sampled_from([0.1, 0.5, 1.0]))
def test_every_value_lies_between_zero_and_one_whatever_is_ranked(asked, items, unit, overlap):
    found = values(asked, items, unit=unit, overlap=overlap)
    assert all(0.0 <= number <= 1.0 + 1e-12 for number in found.values())
    assert ("span-coverage@1" in found) == any(s.grade > 0 for s in asked.spans)


@given(queries, rankings, units, st.randoms(use_true_random=False))
def test_renaming_documents_changes_nothing(asked, items, unit, random):
    new = list("uvwxyz")
    random.shuffle(new)
    name = dict(zip("abcdef", new, strict=True))
    renamed = query({name[d]: g for d, g in asked.gains.items()}, [(name[s.doc], *s[1:]) for s in asked.spans],
                    [[name[d] for d in g] for g in asked.groups])
    moved = [name[i] if isinstance(i, str) else (name[i[0]], *i[1:]) for i in items]
    assert values(renamed, moved, unit=unit) == pytest.approx(values(asked, items, unit=unit), abs=1e-12)


@given(queries, st.lists(offsets, min_size=5, max_size=8), rankings)
def test_what_comes_below_the_cutoff_changes_nothing(asked, items, junk):
    cut = ("ndcg-exp@5", "recall@5", "precision@5", "rr@3", "hit@3", "recall-cap@5", "judged@5", "span-coverage@5", "ap@2")
    assert values(asked, items + junk, cut, unit="chunk") == values(asked, items, cut, unit="chunk")


@given(queries, rankings, st.sampled_from(["span-coverage", "recall", "hit"]), units)
def test_a_larger_cutoff_never_finds_or_covers_less(asked, items, family, unit):
    found = values(asked, items, [f"{family}@{k}" for k in range(1, 14)], unit=unit)
    assert list(found.values()) == sorted(found.values())


@given(queries, rankings.filter(bool), st.data())
def test_putting_something_better_in_place_of_a_result_that_finds_nothing_never_lowers_a_value(asked, items, data):
    """Moving a result up past one that finds nothing at all: an ``x`` that nobody judged."""
    at = data.draw(st.integers(0, len(items) - 1))
    before = [*items[:at], "x", *items[at:]]
    after = [*items[:at + 1], "x", *items[at + 1:]]
    low, high = (values(asked, ranked, unit="chunk") for ranked in (before, after))
    assert all(high[name] >= low[name] - 1e-12 for name in low)


@settings(max_examples=60)
@given(queries, rankings)
def test_one_chunk_that_holds_more_is_never_worse(asked, items):
    wider = [item if isinstance(item, str) else (item[0], 0, 60) for item in items]
    low, high = (values(asked, ranked, unit="chunk") for ranked in (items, wider))
    assert all(high[name] >= low[name] - 1e-12 for name in low)


@given(st.dictionaries(names, st.integers(-1, 3), min_size=1).filter(lambda g: max(g.values()) > 0), st.lists(names, max_size=10), units)
def test_groups_that_nothing_else_belongs_to_change_nothing(relevant, docs, unit):
    alone = query(relevant, groups=[(doc, f"copy of {doc}") for doc in relevant])
    assert values(alone, docs, unit=unit) == pytest.approx(values(query(relevant), docs, unit=unit), abs=1e-12)


@given(st.dictionaries(names, st.integers(-1, 3), min_size=1).filter(lambda g: max(g.values()) > 0),
       st.lists(names, max_size=6, unique=True), units)
def test_spans_over_whole_documents_are_the_documents(relevant, docs, unit):
    spans = query(spans=[(doc, 0, 100, float(grade)) for doc, grade in relevant.items()])
    found = values(spans, [(doc, 0, 100) for doc in docs], unit=unit)
    assert {name: number for name, number in found.items() if not name.startswith("span-coverage")} == pytest.approx(
        values(query(relevant), docs, unit=unit), abs=1e-12)


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60)).map(sorted), max_size=10), st.integers(0, 30), st.integers(1, 30))
def test_coverage_is_what_a_set_of_characters_says(chunks, start, length):
    covered = set().union(*(range(a, b) for a, b in chunks)) & set(range(start, start + length))
    found = value("span-coverage@10", query(spans=[("d", start, start + length)]), [("d", a, b) for a, b in chunks], unit="chunk")
    assert found == len(covered) / length


@settings(max_examples=60, deadline=None)
@given(queries, st.lists(names, max_size=6, unique=True))
def test_trec_eval_agrees_once_groups_are_written_as_one_document(asked, docs):
    pytrec_eval = pytest.importorskip("pytrec_eval")
    plain = asked._replace(spans=())
    units_of = plain.units
    qrels = {unit: int(grade) for unit, grade in units_of.values()}
    if not any(grade > 0 for grade in qrels.values()):
        return
    seen: set[str] = set()
    ranked = {}
    for place, doc in enumerate(docs):
        unit = units_of.get(doc, (doc,))[0]
        ranked[unit if unit not in seen else f"repeat {place}"] = float(len(docs) - place)
        seen.add(unit)
    names_of = {"ndcg@10": "ndcg_cut_10", "recall@5": "recall_5", "precision@5": "P_5", "rr": "recip_rank", "ap": "map",
                "r-precision": "Rprec"}
    ours = values(plain, docs, names_of)
    if not ranked:
        assert set(ours.values()) == {0.0}
        return
    oracle = pytrec_eval.RelevanceEvaluator({"q": qrels}, set(names_of.values())).evaluate({"q": ranked})["q"]
    assert ours == pytest.approx({name: oracle[theirs] for name, theirs in names_of.items()}, abs=1e-9)


def test_a_metric_that_is_undefined_for_some_queries_is_compared_over_the_others():
    from gate.comparison import compare

    golden = GoldenSet((query(["a"], name="docs")._replace(tags=("t",)), query(spans=[("d", 0, 10)])._replace(tags=("t",))))
    metrics = [parse_metric("hit@1"), parse_metric("span-coverage@1")]
    before, after = (score_run(golden, Run({"docs": ranking(["a"]), "q": ranking([("d", 0, end)])}), metrics) for end in (10, 4))
    for primary in metrics:
        found = compare(golden, before, after, primary)
        assert (found.metrics["hit@1"].n, found.metrics["hit@1"].delta) == (2, -0.5)
        assert (found.metrics["span-coverage@1"].n, found.metrics["span-coverage@1"].delta) == (1, -0.6)
        assert found.tags["t"]["span-coverage@1"].n == 1 and [c.id for c in found.lost] == ["q"]
