"""What is said of a run beside the metrics that were asked for: its candidate stage, outdated versions, what its top consists of."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate import pipeline, references
from gate.findings import findings
from gate.golden.model import GoldenSet, Query, Span, Version
from gate.policy import Policy, Protected
from gate.reports.headline import headline
from gate.reports.json_report import report_json
from gate.reports.words import plain
from gate.runs import Chunk, Ranking, Run
from gate.scoring.beside import extras, with_shown
from gate.scoring.metrics import Metric, parse_metric
from gate.scoring.score import score_run
from tests.conftest import golden_set, run_of


def scored(queries, rankings, metrics=("ndcg@10",), unit="doc"):
    golden = GoldenSet(tuple(queries), "golden.jsonl")
    asked = [parse_metric(m) for m in metrics]
    more = extras(asked[0], golden)
    return with_shown(score_run(golden, Run(rankings), asked, unit, beside=more, require_offsets=False), more)


def value(metric, asked, ranking, unit="doc"):
    return scored([asked], {"q": ranking}, [metric], unit).queries["q"].values.get(metric)


def query(relevant=("a",), i="q", **more):
    gains = {d: float(g) for d, g in relevant.items()} if isinstance(relevant, dict) else dict.fromkeys(relevant, 1.0)
    return Query(i, "question", gains, **more)


# --- candidate-recall@k


def test_candidate_recall_is_taken_over_candidates_and_never_over_the_results():
    found = Ranking(["A", "B", "C"], candidates=["x1", "C", "A", "x2"])
    assert value("candidate-recall@2", query("ABC"), found) == pytest.approx(1 / 3)
    assert value("candidate-recall@3", query("ABC"), found) == pytest.approx(2 / 3)
    assert value("candidate-recall@100", query("ABC"), Ranking(["A"], candidates=[])) == 0.0


def test_a_run_that_says_nothing_of_its_candidates_has_no_candidate_recall():
    assert value("candidate-recall@3", query("A"), Ranking(["A"])) is None


def test_in_a_run_with_candidates_leaving_them_out_for_a_query_lifts_no_mean():
    run = {"q": Ranking(["a"], candidates=["a"]), "p": Ranking(["a"])}
    found = scored([query(), query(i="p"), query(i="gone")], run, ["candidate-recall@5"])
    assert [s.values["candidate-recall@5"] for s in found.queries.values()] == [1.0, 0.0, 0.0]
    assert found.mean("candidate-recall@5") == pytest.approx(1 / 3)


def test_a_document_with_spans_counts_once_among_the_candidates_which_carry_no_offsets():
    asked = query(["b"], spans=(Span("d", 0, 9), Span("d", 20, 29), Span("e", 0, 9, 0.0)))
    assert value("candidate-recall@5", asked, Ranking([], candidates=["d"])) == 0.5
    assert value("candidate-recall@5", asked, Ranking([], candidates=["d", "d", "e", "b"])) == 1.0


def test_any_member_of_a_group_counts_once_among_the_candidates():
    asked = query(["a", "z"], groups=(("a", "b"),))
    assert value("candidate-recall@5", asked, Ranking([], candidates=["b", "a"])) == 0.5


def test_a_cutoff_over_candidates_counts_what_the_unit_says():
    found = Ranking(["x"], candidates=["x", "x", "a"])
    assert value("candidate-recall@2", query(), found, "doc") == 1.0 and value("candidate-recall@2", query(), found, "chunk") == 0.0


def test_a_cutoff_over_candidates_asks_for_no_depth_of_the_results():
    assert Metric("candidate-recall", 100).depth == 0 and Metric("latest", 7).depth == 7 and Metric("rr").depth == 0


names = st.sampled_from("abcdefgh")
asked_for = st.builds(
    lambda gains, cut, spans: query(gains, spans=tuple(Span(d, 0, 9, float(g)) for d, g in spans.items()),
                                    groups=tuple(g for g in (tuple("abcdefgh"[:cut]), tuple("abcdefgh"[cut:])) if set(g) & gains.keys())),
    st.dictionaries(names, st.integers(-1, 2), max_size=4), st.integers(0, 8),
    st.dictionaries(names, st.integers(0, 1), max_size=2)).filter(
        lambda q: any(s.grade > 0 for s in q.spans) or any(grade > 0 for _, grade in q.units.values()))
lists = st.lists(names | st.sampled_from(["x", "y"]), max_size=12)
units = st.sampled_from(["doc", "chunk"])


def without_repeats(docs):
    kept = []
    for doc in docs:
        if doc not in kept:
            kept.append(doc)
    return kept


def naive_candidate_recall(asked, candidates, k, unit):
    spanned = {span.doc for span in asked.spans}
    wanted = [{span.doc} for span in asked.spans if span.grade > 0]
    for doc in asked.gains:
        if doc not in spanned:
            members = next((set(g) - spanned for g in asked.groups if doc in g), {doc})
            if max(asked.gains[d] for d in members if d in asked.gains) > 0:
                wanted.append(members)
    kinds = {frozenset(kind) for kind in wanted}
    top = (candidates if unit == "chunk" else without_repeats(candidates))[:k]
    return sum(any(doc in top for doc in kind) for kind in kinds) / len(kinds)


@given(asked_for, lists, st.integers(1, 14), units)
def test_candidate_recall_agrees_with_going_through_the_list(asked, candidates, k, unit):
    found = value(f"candidate-recall@{k}", asked, Ranking([], candidates=candidates), unit)
    assert found == pytest.approx(naive_candidate_recall(asked, candidates, k, unit)) and 0.0 <= found <= 1.0


@given(asked_for, lists, st.randoms(use_true_random=False))
def test_renaming_documents_changes_no_candidate_recall(asked, candidates, random):
    order = list("abcdefgh")
    random.shuffle(order)
    name = dict(zip("abcdefgh", (f"z{d}" for d in order), strict=True)) | {"x": "x", "y": "y"}
    renamed = query({name[d]: g for d, g in asked.gains.items()}, spans=tuple(s._replace(doc=name[s.doc]) for s in asked.spans),
                    groups=tuple(tuple(sorted(name[d] for d in g)) for g in asked.groups))
    assert value("candidate-recall@3", renamed, Ranking([], candidates=[name[d] for d in candidates])) == pytest.approx(
        value("candidate-recall@3", asked, Ranking([], candidates=candidates)))


# --- latest@k

VERSIONS = (Version(("A",), ("A1", "A2")),)


@pytest.mark.parametrize("ranked, expected", [
    (["x1", "A1", "A"], [1.0, 0.0, 0.0]), (["x1", "A", "A1"], [1.0, 1.0, 1.0]), (["A2"], [0.0, 0.0, 0.0]), ([], [1.0, 1.0, 1.0]),
    (["x1", "x2", "x3", "A1"], [1.0, 1.0, 1.0])])
def test_an_outdated_version_must_not_stand_above_the_current_one_or_without_it(ranked, expected):
    assert [value(f"latest@{k}", query("A", versions=VERSIONS), Ranking(ranked)) for k in (1, 2, 3)] == expected


def test_a_query_that_asks_for_no_current_version_has_no_value():
    assert value("latest@5", query("A"), Ranking(["A1", "A"])) is None


def test_a_query_that_the_run_lacks_shows_nobody_an_outdated_version():
    assert scored([query("A", versions=VERSIONS)], {}, ["latest@5"]).mean("latest@5") == 1.0


def naive_latest(versions, ranked, k, unit):
    for version in versions:
        for doc in (ranked if unit == "chunk" else without_repeats(ranked))[:k]:
            if doc in version.current:
                break
            if doc in version.older:
                return 0.0
    return 1.0


@given(st.integers(1, 3), st.integers(1, 3), lists, st.integers(1, 14), units)
def test_latest_agrees_with_going_through_the_list(one, two, ranked, k, unit):
    versions = (Version(("a",), tuple("bcd"[:one])), Version(("e", "f"), tuple("gh"[:two])))
    found = value(f"latest@{k}", query("ae", versions=versions), Ranking(ranked), unit)
    assert found == naive_latest(versions, ranked, k, unit)
    renamed = tuple(Version(tuple(f"z{d}" for d in v.current), tuple(f"z{d}" for d in v.older)) for v in versions)
    assert found == value(f"latest@{k}", query(["za", "ze"], versions=renamed), Ranking([f"z{d}" for d in ranked]), unit)


# --- what the top consists of


def naive_top(asked, ranking, k):
    seen, repeated, unjudged, tied = [], 0, 0, 0
    judged = set(asked.gains) | {s.doc for s in asked.spans}
    for group in asked.groups:
        if set(group) & (set(asked.gains) - {s.doc for s in asked.spans}):
            judged |= set(group)
    for at, doc in enumerate(ranking.docs[:k]):
        alike = next((g for g in asked.groups if doc in g), (doc,))
        repeated += any(d in alike for d in seen)
        unjudged += doc not in judged
        tied += at > 0 and ranking.scores is not None and ranking.scores[at] == ranking.scores[at - 1]
        seen.append(doc)
    return len(seen), repeated, unjudged, tied


@given(asked_for, lists, st.booleans(), st.integers(1, 12))
def test_the_make_up_of_the_top_agrees_with_going_through_the_list(asked, docs, with_scores, k):
    ranking = Ranking(docs, [float(ord(d) % 3) for d in docs] if with_scores else None)
    top = scored([asked], {"q": ranking}, [f"ndcg@{k}"]).queries["q"].top
    assert (top.results, top.repeated, top.unjudged, top.tied) == naive_top(asked, ranking, k)
    assert top.neighbours == (max(top.results - 1, 0) if with_scores else 0)


def test_shares_are_over_all_results_together_and_nothing_has_no_share():
    run = {"q": Ranking(["a", "a", "x", "a"], [3.0, 3.0, 2.0, 1.0]), "p": Ranking([])}
    before, after = findings(scored([query(), query(i="p")], run)).top
    assert before is None and after == (0.5, 0.25, pytest.approx(1 / 3))
    assert findings(scored([query()], {"q": Ranking([])})).top[1] == (None, None, None)


def test_the_top_is_that_of_the_primary_metric_and_ten_where_it_has_no_cutoff():
    run = {"q": Ranking(["a", *"vwxyz"])}
    assert scored([query()], run, ["ndcg@3"]).k == 3 and scored([query()], run, ["ap"]).k == 10
    assert scored([query()], run, ["ndcg@3"]).queries["q"].top.results == 3


# --- both stages of two runs


def two_stages(old, new, relevant=None):
    """``{query: (results, candidates)}`` on both sides → a report."""
    golden = golden_set(relevant or dict.fromkeys(old, ["a"]))
    before, after = (Run({i: Ranking(list(docs), candidates=c if c is None else list(c)) for i, (docs, c) in side.items()})
                     for side in (old, new))
    return pipeline.assess(golden, after, references.Reference(before), Policy())


FOUND, DROPPED, UNSEEN = (["a", "x"], "ax"), (["x"], "xa"), (["x"], "xy")


def test_of_every_lost_query_it_is_said_which_stage_lost_it():
    report = two_stages({"p": FOUND, "q": FOUND, "r": FOUND}, {"p": DROPPED, "q": UNSEEN, "r": (["x"], None)})
    assert report.findings.stages.lost == {"p": "final", "q": "candidates", "r": None}
    value = report_json(report)
    assert {flip["id"]: flip["stage"] for flip in value["flips"]["lost"]} == {"p": "final", "q": "candidates", "r": None}
    assert value["stages"]["lost"] == {"candidates": 1, "final": 1, "unknown": 1}


def test_ceiling_and_loss_of_both_sides_are_over_the_same_queries():
    stages = two_stages({"p": FOUND, "q": FOUND, "r": DROPPED}, {"p": DROPPED, "q": UNSEEN, "r": DROPPED}).findings.stages
    assert (stages.n, stages.baseline.candidates, stages.candidate.candidates) == (3, 1.0, pytest.approx(2 / 3))
    assert stages.baseline.loss == pytest.approx(1 / 3) and stages.candidate.loss == pytest.approx(2 / 3)


def test_a_metric_that_nobody_asked_for_and_that_has_no_value_is_shown_nowhere():
    report = two_stages({"p": (["a"], None)}, {"p": (["x"], None)})
    assert report.findings.stages is None and "candidate-recall@100" not in report.comparison.metrics
    assert not {"candidate-recall@100", "latest@10"} & report_json(report)["metrics"].keys()
    assert "candidate-recall@100" in two_stages({"p": FOUND}, {"p": (["x"], None)}).comparison.metrics


def test_a_baseline_from_before_the_run_named_candidates_has_no_ceiling_and_no_zero():
    report = two_stages({"p": (["a"], None)}, {"p": FOUND})
    assert report.findings.stages.baseline is None and report.findings.stages.candidate.candidates == 1.0
    assert report_json(report)["metrics"]["candidate-recall@100"] | {"ci": None} == {
        "baseline": None, "candidate": None, "delta": None, "ci": None, "p_value": None, "q_value": None, "better": 0, "worse": 0, "n": 0}


def test_equal_results_from_other_candidates_are_not_identical_runs():
    assert not two_stages({"p": FOUND}, {"p": (["a", "x"], "axy")}).comparison.identical
    assert two_stages({"p": FOUND}, {"p": (["a", "x"], None)}).comparison.identical


def test_a_lost_candidate_stage_fails_the_metric_that_decides_though_the_results_are_the_same():
    golden = golden_set({f"q{i}": ["a"] for i in range(20)})
    runs = [Run({f"q{i}": Ranking(["a"], candidates=c) for i in range(20)}) for c in (["a"], ["x"])]
    policy = Policy(primary=parse_metric("candidate-recall@100"))
    assert pipeline.assess(golden, runs[1], references.Reference(runs[0]), policy).verdict == "fail"


def test_a_run_that_names_candidates_for_one_query_only_is_not_identical_to_one_that_names_them_for_all():
    golden = golden_set({f"q{i}": ["a"] for i in range(20)})
    full, one = [Run({f"q{i}": Ranking(["a"], candidates=["a"] if i < named else None) for i in range(20)}) for named in (20, 1)]
    report = pipeline.assess(golden, one, references.Reference(full), Policy(primary=parse_metric("candidate-recall@100")))
    assert not report.comparison.identical and report.comparison.main.delta == pytest.approx(-0.95) and report.verdict == "fail"


# --- rules on metrics without a value


@pytest.mark.parametrize("rule, name", [({"max_drop": {"candidate-recall@50": 0.1}}, "max-drop candidate-recall@50"),
                                        ({"floors": {"candidate-recall@50": 0.5}}, "floor candidate-recall@50")])
def test_a_rule_on_a_metric_that_a_side_has_no_value_of_fails_and_says_why(rule, name):
    golden = golden_set({"q": ["a"], "p": ["a"]})
    same = run_of({"q": ["a"], "p": ["a"]})
    report = pipeline.assess(golden, same, references.Reference(same), Policy(**rule))
    check = next(c for c in report.checks if c.name == name)
    assert check.outcome == "fail" and "o query" in check.sentence and report.exit_code == 1


def test_a_protected_tag_without_a_value_of_the_primary_metric_fails_and_says_why():
    versions = {f"q{i}": (Version(("a",), ("b",)),) for i in range(20)}
    golden = golden_set({f"q{i}": ["a"] for i in range(30)}, versions=versions, tags={"q25": ("x",), "q5": ("y",)})
    policy = Policy(primary=parse_metric("latest@5"), protected=(Protected("x", 0.02), Protected("y", 0.02)))
    run = run_of({f"q{i}": ["a"] for i in range(30)})
    report = pipeline.assess(golden, run, references.Reference(run), policy)
    checks = {c.name: c for c in report.checks}
    assert plain(headline(report)).startswith("No paired query with the protected tag x has")
    assert checks["protected x"].outcome == "fail" and "has a latest@5, so nothing guards it" in checks["protected x"].sentence
    assert checks["protected y"].outcome == "pass"


def test_identical_rankings_without_a_value_of_the_primary_metric_are_no_pass():
    golden, run = golden_set({"q": ["a"]}), run_of({"q": ["a"]})
    assert pipeline.assess(golden, run, references.Reference(run), Policy(primary=parse_metric("latest@5"))).verdict == "fail"


# --- outdated versions in a report


def test_queries_in_which_an_outdated_version_now_outranks_the_current_one_are_listed_new_ones_first():
    asked = [query("A", i=i, versions=VERSIONS) for i in ("p", "q", "r")] + [query("A", i="s")]
    before, after = ({"p": Ranking(["A1", "A"]), "q": Ranking(["A", "A1"]), "r": Ranking(["A"]), "s": Ranking(["A1", "A"])},
                     {"p": Ranking(["A1", "A"]), "q": Ranking(["x", "A2", "A"]), "r": Ranking(["A"]), "s": Ranking(["A1", "A"])})
    report = pipeline.assess(GoldenSet(tuple(asked)), Run(after), references.Reference(Run(before)), Policy())
    assert report_json(report)["versions"] == {
        "metric": "latest@10", "n": 3, "baseline": pytest.approx(2 / 3), "candidate": pytest.approx(1 / 3),
        "stale": [{"id": "q", "query": "question", "document": "A2", "rank": 2, "new": True},
                  {"id": "p", "query": "question", "document": "A1", "rank": 1, "new": False}]}
    assert report.comparison.metrics["latest@10"].n == 3


# --- refusals


def test_a_score_floor_counts_what_a_refusing_system_would_answer_and_decides_nothing():
    golden = GoldenSet((query(i="p"), query(i="q"), query(i="r"), Query("u", "?", {}, answerable=False),
                        Query("v", "?", {}, answerable=False), Query("w", "?", {}, answerable=False)))
    run = Run({"p": Ranking(["a"], [0.9]), "q": Ranking(["a"], [0.2]), "r": Ranking(["a"]), "u": Ranking(["x"], [0.5]),
               "v": Ranking(["x"], [0.4]), "w": Ranking(["x"])})
    report, plain = (pipeline.assess(golden, run, references.Reference(run), Policy(score_floor=floor)) for floor in (0.5, None))
    side = {"unanswerable": {"above": 1, "scored": 2, "unscored": 1}, "answerable": {"above": 1, "scored": 2, "unscored": 1}}
    value = report_json(report)["unanswerable"]
    assert (value["floor"], value["above"]) == (0.5, {"baseline": side, "candidate": side})
    assert report.checks == plain.checks and "floor" not in report_json(plain)["unanswerable"]


def test_chunk_offsets_do_not_disturb_what_is_counted_beside():
    found = scored([query()], {"q": Ranking(["a", "a"], chunks=[Chunk("a#1", 0, 5), Chunk("a#2", 5, 9)])}, ["ndcg@10"], "chunk")
    assert found.queries["q"].top.repeated == 1
