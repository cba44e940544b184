"""What failures have in common: each cause leaves its trace, and what is harmless leaves none."""

import random
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import hypergeom

from gate import pipeline, references
from gate.golden.model import GoldenSet, Query, Span
from gate.golden.read import read_golden
from gate.patterns.find import find_patterns
from gate.policy import Policy
from gate.runs import Chunk, Ranking, Run
from gate.statistics.enrichment import enrichment_p
from tests.conftest import golden_set


@given(st.integers(1, 60).flatmap(lambda total: st.tuples(st.just(total), st.integers(0, total), st.integers(0, total))))
def test_enrichment_is_fishers_exact_test(table):
    total, group, having = table
    for hits in range(max(0, group + having - total), min(group, having) + 1):
        assert enrichment_p(hits, group, having, total) == pytest.approx(hypergeom.sf(hits - 1, total, having, group), abs=1e-9)


@pytest.mark.parametrize("table", [(-1, 2, 2, 4), (3, 2, 3, 4), (1, 5, 1, 4)])
def test_a_table_that_cannot_be_is_refused(table):
    with pytest.raises(ValueError):
        enrichment_p(*table)


def patterns(golden, before, after):
    runs = [Run({i: Ranking(list(docs)) for i, docs in side.items()}) for side in (before, after)]
    report = pipeline.assess(golden, runs[1], references.Reference(runs[0]), Policy())
    return find_patterns(golden, report.comparison, *runs)


def found_in(data, name, base, run):
    golden = read_golden(data / "collections" / name / "golden.jsonl")
    old, new = (references.load_reference(data / "runs" / name / f"{each}.jsonl.gz") for each in (base, run))
    report = pipeline.assess(golden, new.run, old, Policy(), plain=True)
    return find_patterns(golden, report.comparison, old.run, new.run)


@pytest.mark.parametrize(("name", "base", "run", "first"), [
    ("squad2-dev", "dense", "dense_idshift", "shifted"), ("xquad-en", "dense", "dense_idshift", "shifted"),
    ("squad2-dev", "dense", "dense_lost10pct", "vanished"), ("xquad-en", "dense", "dense_lost10pct", "vanished"),
    ("anthropic-docs", "dense", "dense_lost10pct", "vanished"), ("squad2-dev", "dense", "dense_lost2pct", "vanished"),
    ("xquad-en", "dense", "dense_lost2pct", "vanished"), ("anthropic-docs", "dense", "dense_lost2pct", "vanished"),
    ("squad2-dev", "dense", "dense_hnsw_lowef", "fewer-results"), ("xquad-en", "dense", "dense_hnsw_lowef", "fewer-results"),
    ("squad2-dev", "dense", "dense_dim64", "everywhere"), ("squad2-dev", "dense", "dense_trunc32", "everywhere"),
    ("xquad-en", "hybrid_rrf60", "hybrid_legbug_case", "tag len:short"), ("anthropic-docs", "dense", "dense_idshift", "shifted"),
    ("squad2-dev", "bm25", "bm25_querycase", "unmatched"), ("xquad-en", "bm25", "bm25_querycase", "unmatched"),
    ("squad2-dev", "bm25", "bm25_querynostem", "unmatched"), ("xquad-en", "bm25", "bm25_querynostem", "unmatched"),
    ("squad2-dev", "dense", "dense_dim192", "everywhere"), ("squad2-dev", "dense", "dense_queryinstr", "everywhere"),
    ("xquad-en", "dense", "dense_dim192", "everywhere"), ("xquad-en", "dense", "dense_queryinstr", "everywhere")])
def test_a_known_fault_of_a_real_retriever_is_named_first(data, name, base, run, first):
    assert found_in(data, name, base, run)[0].kind == first


@pytest.mark.parametrize("name", ["squad2-dev", "xquad-en", "anthropic-docs"])
@pytest.mark.parametrize("run", ["dense_f16", "dense_l2", "dense_hnsw_good", "dense_int8"])
def test_harmless_changes_of_real_retrievers_show_none(data, name, run):
    assert found_in(data, name, "dense", run) == ()


def test_other_stop_words_that_cost_nothing_show_none(data):
    assert found_in(data, "squad2-dev", "bm25", "bm25_nostopfilter") == ()


@pytest.mark.parametrize(("name", "run"), [("squad2-dev", "dense_lost10pct"), ("xquad-en", "dense_lost10pct"),
                                           ("xquad-en", "dense_idshift")])
def test_where_the_cause_is_known_nothing_else_is_given_as_one(data, name, run):
    assert [pattern.cause for pattern in found_in(data, name, "dense", run)[1:]] == []


GOLDEN = golden_set({f"q{n}": [f"d{n}"] for n in range(20)})
GOOD = {f"q{n}": [f"d{n}", f"x{n}", "x"] for n in range(20)}


def test_documents_that_are_returned_for_nobody_any_more():
    after = GOOD | {f"q{n}": [f"x{n}", "x"] for n in range(5)}
    pattern, *_ = patterns(GOLDEN, GOOD, after)
    assert (pattern.kind, pattern.queries) == ("vanished", ("q0", "q1", "q2", "q3", "q4"))
    assert "5 of 5 worse queries lost documents that this run returns for no query at all: d0, d1, d2, d3, d4." in pattern.seen
    assert "not in the index any more" in pattern.cause


def test_documents_with_spans_belong_to_their_queries():
    spans = [(Span("faq", 100 * n, 100 * n + 50), Span("manual", 100 * n, 100 * n + 50)) for n in range(20)]
    golden = GoldenSet(tuple(Query(f"q{n}", f"text {n}", {}, spans=spans[n]) for n in range(20)), path="golden.jsonl")

    def sides(after):
        good = {f"q{n}": Ranking(["faq", f"x{n}"], chunks=[Chunk("", 100 * n, 100 * n + 60), Chunk("", 0, 9)]) for n in range(20)}
        worse = {f"q{n}": Ranking([*after, f"x{n}"], chunks=[Chunk("", 9000, 9009)] * (len(after) + 1)) for n in range(6)}
        runs = Run(good), Run(good | worse)
        report = pipeline.assess(golden, runs[1], references.Reference(runs[0]), Policy())
        return {pattern.kind: pattern for pattern in find_patterns(golden, report.comparison, *runs)}

    assert "intruders" not in sides(["manual"])
    assert "without being relevant to them: y (6 times)" in sides(["manual", "y"])["intruders"].seen


def test_a_document_that_comes_into_the_top_of_many_queries():
    after = GOOD | {f"q{n}": ["boilerplate", f"d{n}", f"x{n}"] for n in range(6)}
    pattern = next(p for p in patterns(GOLDEN, GOOD, after) if p.kind == "intruders")
    assert len(pattern.queries) == 6 and "boilerplate (6 times)" in pattern.seen


def test_queries_that_the_search_no_longer_tells_apart():
    one = ["err", "x1", "x2", "x3"]
    pattern, *more = patterns(GOLDEN, GOOD, GOOD | {f"q{n}": one for n in range(6)})
    assert (pattern.kind, pattern.queries) == ("one-ranking", tuple(f"q{n}" for n in range(6)))
    assert "6 of 6 lost queries get one and the same top 10 now; before, each had its own." in pattern.seen
    assert "intruders" not in [p.kind for p in more]


def test_queries_that_had_one_ranking_before_are_nothing_new():
    before = GOOD | {f"q{n}": ["d0", "d1", "d2", "d3", "d4", "d5"] for n in range(6)}
    found = patterns(GOLDEN, before, before | {f"q{n}": ["err", "x1", "x2", "x3"] for n in range(6)})
    assert "one-ranking" not in [p.kind for p in found]


def test_ids_of_thousands_of_digits_take_no_time():
    golden = golden_set({f"q{n}": [f"{n}" + "1" * 9000 + "x"] for n in range(20)})
    good = {query.id: list(query.gains) for query in golden.queries}
    start = time.process_time()
    patterns(golden, good, {i: [doc[:-1] + "y" for doc in docs] for i, docs in good.items()})
    assert time.process_time() - start < 3


def test_a_neighbour_that_only_moved_up_is_no_shift():
    near = {f"q{n}": [f"d{n}", f"d{n + 1}"] for n in range(20)}
    assert "shifted" not in [p.kind for p in patterns(GOLDEN, near, near | {f"q{n}": [f"d{n + 1}", "z"] for n in range(5)})]
    assert patterns(GOLDEN, GOOD, GOOD | {f"q{n}": [f"d{n + 1}", f"x{n}"] for n in range(5)})[0].kind == "shifted"


def test_a_tag_and_exact_terms_are_named_when_they_stand_out():
    tagged = {f"q{n}": ("codes",) if n < 6 else ("prose",) for n in range(20)}
    golden = golden_set({f"q{n}": [f"d{n}"] for n in range(20)}, tags=tagged)
    golden = GoldenSet(tuple(q._replace(text="error ERR-100" if "codes" in q.tags else "where is the cat") for q in golden.queries))
    kinds = [p.kind for p in patterns(golden, GOOD, GOOD | {f"q{n}": [f"x{n}", f"d{n}"] for n in range(5)})]
    assert kinds[:1] == ["exact-terms"] and "tag codes" not in kinds  # the same queries


def test_a_trait_that_everybody_has_explains_nothing():
    golden = golden_set({f"q{n}": [f"d{n}"] for n in range(20)}, tags={f"q{n}": ("all",) for n in range(20)})
    assert patterns(golden, GOOD, GOOD | {f"q{n}": [f"x{n}", f"d{n}"] for n in range(4)}) == ()


def test_two_worse_queries_are_no_pattern():
    assert patterns(GOLDEN, GOOD, GOOD | {f"q{n}": ["x"] for n in range(2)}) == ()


def test_documents_of_blind_queries_are_not_named():
    golden = golden_set({f"q{n}": [f"d{n}"] for n in range(20)}, split={f"q{n}": "blind" for n in range(20)})
    found = (*patterns(golden, GOOD, GOOD | {f"q{n}": [f"x{n}", "x"] for n in range(5)}),
             *patterns(golden, GOOD, GOOD | {f"q{n}": ["boilerplate", f"d{n}"] for n in range(5)}))
    assert {p.kind for p in found} >= {"vanished", "intruders"}
    assert not any(name in p.seen for p in found for name in ("boilerplate", "d0", "d1"))


def test_of_a_very_long_set_a_sample_is_looked_at():
    many = {f"q{n}": [f"d{n}"] for n in range(5000)}
    before = {f"q{n}": [f"d{n}", "x"] for n in range(5000)}
    pattern, *_ = patterns(golden_set(many), before, before | {f"q{n}": ["x"] for n in range(0, 5000, 3)})
    assert pattern.kind == "vanished" and pattern.seen.startswith("Among the 400 worst queries and 667 others: ")
    assert "returns for none of these queries at all" in pattern.seen and len(pattern.queries) == 400


def scored(before, after):
    """Rankings with scores: (document, score) pairs."""
    runs = [Run({i: Ranking([doc for doc, _ in pairs], [score for _, score in pairs]) for i, pairs in side.items()})
            for side in (before, after)]
    report = pipeline.assess(GOLDEN, runs[1], references.Reference(runs[0]), Policy())
    return find_patterns(GOLDEN, report.comparison, *runs)


SCORED = {f"q{n}": [(f"d{n}", 9.0 + n / 100), (f"x{n}", 5.0), (f"y{n}", 4.0), (f"z{n}", 3.0)] for n in range(20)}


def test_scores_that_only_repeat_the_rank_say_nothing():
    by_rank = {f"q{n}": [(doc, 1 / rank) for rank, (doc, _) in enumerate(pairs, 1)] for n, pairs in enumerate(SCORED.values())}
    after = by_rank | {f"q{n}": [(f"new-{n}-{rank}", 1 / rank) for rank in range(1, 5)] for n in range(8)}
    assert "shifted" not in [pattern.kind for pattern in scored(by_rank, after)]


def test_equal_scores_under_other_names_are_ids_out_of_step():
    after = SCORED | {f"q{n}": [(f"{doc}-new", score) for doc, score in SCORED[f"q{n}"]] for n in range(8)}
    pattern, *more = scored(SCORED, after)
    assert pattern.kind == "shifted" and len(pattern.queries) == 8 and "same scores stand at the same ranks" in pattern.seen
    assert "renamed" in pattern.cause and not any(p.cause for p in more)


def test_a_part_of_the_query_that_is_no_longer_matched():
    after = SCORED | {f"q{n}": [(f"x{n}", 5.0), (f"y{n}", 4.0), (f"z{n}", 3.0), (f"d{n}", 2.0)] for n in range(8)}
    pattern, *_ = scored(SCORED, after)
    assert pattern.kind == "unmatched" and "lost a part of its score" in pattern.seen and "case, stemming" in pattern.cause


def test_a_credible_loss_that_nothing_sets_apart_says_what_touches_everything():
    after = SCORED | {f"q{n}": [(f"x{n}", 6.0), (f"y{n}", 5.5), (f"z{n}", 5.1), (f"d{n}", 5.0)] for n in range(0, 20, 2)}
    pattern, = scored(SCORED, after)
    assert pattern.kind == "everywhere" and "nearly every document has another score" in pattern.seen


def test_an_apostrophe_in_a_word_names_nothing_exactly():
    golden = golden_set({f"q{n}": [f"d{n}"] for n in range(40)})
    golden = GoldenSet(tuple(q._replace(text="what's the cat's name" if n < 8 else "where is the cat now") for n, q in
                             enumerate(golden.queries)))
    good = {f"q{n}": [f"d{n}", f"x{n}"] for n in range(40)}
    assert "exact-terms" not in [p.kind for p in patterns(golden, good, good | {f"q{n}": [f"x{n}", f"d{n}"] for n in range(8)})]


def noisy(run, rng, much):
    found = {}
    for i, ranking in run.rankings.items():
        scores = [score * (1 + rng.gauss(0, much)) for score in ranking.scores]
        order = sorted(range(len(scores)), key=lambda at: -scores[at])
        found[i] = Ranking([ranking.docs[at] for at in order], [scores[at] for at in order])
    return Run(found)


@pytest.mark.parametrize(("name", "base"), [("anthropic-docs", "dense"), ("anthropic-docs", "bm25"), ("squad2-dev", "dense")])
def test_noise_alone_has_no_pattern(data, name, base):
    """A search that moves on its own, by much, against itself: many queries are worse, as many are better."""
    golden, run = read_golden(data / "collections" / name / "golden.jsonl"), references.load_reference(
        data / "runs" / name / f"{base}.jsonl.gz").run
    told = 0
    for seed in range(10):
        rng = random.Random(seed)
        before, after = noisy(run, rng, 0.1), noisy(run, rng, 0.1)
        report = pipeline.assess(golden, after, references.Reference(before), Policy(), plain=True)
        told += bool(report.patterns)
    assert told <= 2


def test_renamed_documents_are_told_from_missing_ones():
    after = {i: [f"wiki/{doc}.md" for doc in docs] for i, docs in GOOD.items()}
    pattern, *more = patterns(GOLDEN, GOOD, after)
    assert pattern.kind == "renamed" and len(pattern.queries) == 20 and "wiki/d0.md" in pattern.seen and "other ids" in pattern.cause
    assert not any(p.cause for p in more)


def test_documents_that_fell_below_the_last_result_are_not_taken_for_renamed_ones():
    """With few results a document that a query loses is returned for no other either, and what comes instead is new."""
    after = GOOD | {f"q{n}": [f"other-{n}-{rank}" for rank in range(3)] for n in range(12)}
    assert not {"renamed", "vanished", "newcomers"} & {p.kind for p in patterns(GOLDEN, GOOD, after)}


def test_documents_that_are_new_in_the_index():
    after = {i: [f"copy of {docs[0]}", f"copy of {docs[1]}", *docs] for i, docs in GOOD.items()}
    pattern, *_ = patterns(GOLDEN, GOOD, after)
    assert pattern.kind == "newcomers" and "copy of d0" in pattern.seen and "near-duplicates" in pattern.cause


def test_one_document_in_the_way_of_all_is_the_cause():
    seen = {i: [*docs, "toc"] for i, docs in GOOD.items()}
    seen["q0"] = [*GOOD["q0"], *(f"pad{n}" for n in range(10)), "toc"]
    before = {i: [*docs[:3], *(f"pad{n}" for n in range(10)), *docs[3:]] for i, docs in seen.items()}
    pattern, *more = patterns(GOLDEN, before, {i: ["toc", *(doc for doc in docs if doc != "toc")] for i, docs in before.items()})
    assert pattern.kind == "intruders" and "toc (20 times)" in pattern.seen and "everywhere" not in [p.kind for p in more]


def test_what_touches_everything_is_no_cause_where_most_rankings_are_what_they_were():
    many = {f"q{n}": [f"d{n}"] for n in range(400)}
    before = {i: [*docs, *(f"{i}-{n}" for n in range(9))] for i, docs in many.items()}
    swapped = {i: [docs[1], docs[0], *docs[2:]] for i, docs in before.items()}
    assert patterns(golden_set(many), before, before | {i: swapped[i] for i in list(many)[:20]}) == ()
    pattern, = patterns(golden_set(many), before, swapped)
    assert pattern.kind == "everywhere" and "400 of 400 queries got worse and 400 rankings changed" in pattern.seen


def test_of_a_long_set_all_queries_are_counted_where_everything_is_touched():
    many = {f"q{n}": [f"d{n}"] for n in range(6000)}
    before = {i: [*docs, *(f"{i}-{n}" for n in range(9))] for i, docs in many.items()}
    after = {i: [docs[1], docs[0], *docs[2:]] if n % 6 == 0 else [docs[0], *docs[:0:-1]]
             for n, (i, docs) in enumerate(before.items())}
    pattern, = patterns(golden_set(many), before, after)
    assert pattern.kind == "everywhere"
    assert pattern.seen.startswith("1,000 of 6,000 queries got worse and about 100 % of all rankings changed")


def test_rankings_that_some_queries_shared_before_were_not_their_own():
    many = {f"q{n}": [f"d{n}", "d"] for n in range(30)}
    before = {i: [docs[0], *(f"{i}-{n}" for n in range(5))] for i, docs in many.items()} | {"q0": ["d", "x", "y"], "q1": ["d", "x", "y"]}
    found = {p.kind: p for p in patterns(golden_set(many), before, before | {f"q{n}": ["a", "b", "c"] for n in range(6)})}
    assert "6 of 6 lost queries get one and the same top 10 now; before, they had 5 different ones." in found["one-ranking"].seen


def test_a_document_that_came_up_once_is_named_without_a_count():
    many = {f"q{n}": [f"d{n}"] for n in range(30)}
    before = {i: [*docs, "x"] for i, docs in many.items()}
    found = {p.kind: p for p in patterns(golden_set(many), before, before | {f"q{n}": [f"new{n}", f"d{n}", "x"] for n in range(6)})}
    assert "returns for no query: new0, new1" in found["newcomers"].seen


@pytest.mark.parametrize("text, kind", [("crème brûlée", "accents"), ("καφές", "script"), ("β blocker", "script"), ("が", "script"),
                                        ("no\u00a0break", ""), ("and so on…", ""), ("½ litre", "")])
def test_letters_are_called_what_they_are(text, kind):
    queries = {f"q{n}": text if n < 10 else f"plain words {chr(97 + n % 26)}" for n in range(60)}
    golden = GoldenSet(tuple(Query(i, words, {f"d{i}": 1.0}) for i, words in queries.items()), "golden.jsonl")
    before = {i: [f"d{i}", "x", *(f"{i}-{n}" for n in range(5))] for i in queries}
    after = before | {f"q{n}": ["x", *(f"q{n}-{m}" for m in range(5)), f"dq{n}"] for n in range(10)}
    found = {p.kind: p.seen for p in patterns(golden, before, after)}
    assert (kind in found) if kind else not {"accents", "script"} & set(found)
    assert "have letters of another script than Latin" in found["script"] if kind == "script" else True
