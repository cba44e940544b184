"""Coordinates of the drawings and the values behind a query's page."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.golden.model import Query, Span
from gate.reports.curve import HEIGHT, LEFT, WIDTH, curve
from gate.reports.histogram import histogram
from gate.reports.pages import Names, Reader, gold_of, listing
from gate.reports.shifts import bins_of, shifts
from gate.reports.tiles import tiles
from gate.runs import Chunk, Ranking
from gate.scoring.units import ranked_units
from tests.reports import build
from tests.reports.build import q

RANK = st.none() | st.integers(1, 1000)
DOCS = st.lists(st.sampled_from([f"d{n}" for n in range(30)]), max_size=40)


@given(st.lists(st.floats(-1, 1), max_size=300))
def test_every_query_is_in_one_part_of_the_sorted_plot_and_all_of_it_is_inside(deltas):
    found = curve(deltas)
    changed = [delta for delta in deltas if abs(delta) > 1e-12]
    assert (found is None) == (not changed)
    if found:
        assert (found.worse.count, found.better.count) == (sum(d < 0 for d in changed), sum(d > 0 for d in changed))
        assert found.same == len(deltas) - len(changed) and (found.gap is None) == (found.same == 0)
        numbers = [float(x) for path in (found.worse.path, found.better.path) for x in re.findall(r"-?[\d.]+", path)]
        assert all(-0.1 <= number <= WIDTH for number in numbers)
        assert all(0 <= y <= HEIGHT for y, _ in found.ticks) and LEFT <= found.worse.x1 <= found.better.x1 <= WIDTH


def test_a_hundred_thousand_queries_make_a_short_outline_that_keeps_the_extremes():
    found = curve([-1.0] + [-0.001] * 50_000 + [0.001] * 49_998 + [1.0])
    assert len(found.worse.path) + len(found.better.path) < 50_000
    assert "V" in found.worse.path and "210.0" in found.worse.path and "10.0" in found.better.path


@given(st.lists(st.tuples(RANK, RANK), max_size=100), st.none() | st.integers(1, 60))
def test_every_query_is_counted_once_by_both_of_its_ranks(pairs, k):
    found = shifts(pairs, k)
    assert (found is None) == all(before is now is None for before, now in pairs)
    if found:
        cells = [cell for _, row in found.rows for cell in row]
        assert sum(cell.count for cell in cells) == len(pairs)
        assert all(len(row) == len(found.names) for _, row in found.rows) and all((cell.shade > 0) == (cell.count > 0) for cell in cells)
        far = [(a or 10**9, b or 10**9) for a, b in pairs]
        assert found.worse <= sum(b > a for a, b in far) and found.better <= sum(b < a for a, b in far)


@given(st.integers(1, 2000), st.none() | st.integers(1, 60))
def test_bins_of_ranks_leave_no_rank_out_and_none_crosses_the_cutoff(deepest, k):
    bins = bins_of(max(deepest, k or 1), k)
    assert bins[0][0] == 1 and all(a[1] + 1 == b[0] for a, b in zip(bins, bins[1:], strict=False)) and bins[-1][1] >= deepest
    assert k is None or k in {last for _, last in bins}


def test_a_cell_names_its_queries_as_the_search_field_takes_them():
    (cell,) = [cell for _, row in shifts([(7, None), (1, 1)], 10).rows for cell in row if cell.side == "worse" and cell.count]
    assert (cell.before, cell.now, cell.label) == ("6-10", "none", "1 query: rank 6–10 before, not found now")


@given(st.lists(st.floats(0, 1e6), max_size=50), st.lists(st.floats(0, 1e6), max_size=50))
def test_times_of_any_size_have_a_histogram_inside_its_frame(before, now):
    found = histogram(before, now, ((None, None), (None, None)))
    assert (found is None) == (not now)
    if found:
        assert (found.before is None) == (not before) and found.now.n == len(now)
        for side in filter(None, (found.before, found.now)):
            assert side.bars and all(0 <= x <= WIDTH and y >= 0 and h > 0 for x, y, _, h in side.bars)


def test_median_and_95th_percentile_stand_where_the_axis_says():
    found = histogram([10, 20], [10, 40, 100], ((10, 20), (10, 100)))
    places = {label: x for x, label in found.ticks}
    assert found.now.marks == ((places["10 ms"], "p50"), (places["100 ms"], "p95"))
    assert found.before.marks[1][0] == places["20 ms"]


@given(DOCS, st.sampled_from(["doc", "chunk"]))
def test_a_listing_counts_ranks_as_the_metrics_do(docs, unit):
    found = listing(Ranking(docs), unit)
    units = ranked_units(Ranking(docs), unit)
    assert [docs[at] for at in found.at] == units == list(found.keys)
    assert list(found.ranks) == list(range(1, len(units) + 1))


@given(DOCS, DOCS)
def test_a_page_says_of_every_document_where_the_other_side_has_it(before, after):
    names = Names()
    query = Query("q", "text", {"d1": 1.0, "d2": 2.0, "d3": 0.0})
    page = Reader(names, "doc", 0.5, 20).page(query, Ranking(before), Ranking(after), False)
    known, sides = list(names.index), [ranked_units(Ranking(docs), "doc") for docs in (before, after)]
    for key, here, there in (("b", *sides), ("c", *reversed(sides))):
        shown = [known[n] for n in page[key]["d"]]
        ranks = page[key].get("r", range(1, len(shown) + 1))
        assert [here[rank - 1] for rank in ranks] == shown and set(here[:20]) <= set(shown)
        assert page[key]["o"] == [there.index(doc) + 1 if doc in there else 0 for doc in shown] and page[key]["n"] == len(here)
        assert {shown[n]: grade for n, grade in page[key].get("g", [])} == {doc: query.gains[doc] for doc in shown if doc in query.gains}
    assert [row[1:4] for row in page["gold"]] == [[grade, *(side.index(doc) + 1 if doc in side else 0 for side in sides)]
                                                  for doc, grade in (("d2", 2.0), ("d1", 1.0))]


def test_what_is_relevant_below_the_fold_is_shown_with_its_rank():
    docs = [f"x{n}" for n in range(99)] + ["a"]
    page = Reader(Names(), "doc", 0.5, 20).page(Query("q", "text", {"a": 1.0}), None, Ranking(docs), False)
    assert page["c"]["r"] == [*range(1, 21), 100] and page["c"]["n"] == 100 and page["c"]["g"] == [[20, 1.0]] and "b" not in page


def test_documents_that_answer_alike_are_one_row_and_the_first_of_them_earns_it():
    query = Query("q", "text", {"a": 1.0}, groups=(("a", "copy", "mirror"),))
    assert [gold.docs for gold in gold_of(query)] == [("a", "copy", "mirror")]
    names = Names()
    page = Reader(names, "doc", 0.5, 20).page(query, Ranking(["x", "a"]), Ranking(["mirror", "a"]), False)
    assert page["gold"] == [[names.index["a"], 1.0, 2, 1, -1, -1, 3]] and page["c"]["g"] == [[0, 1.0]]


@pytest.mark.parametrize(("overlap", "rank"), [(0.5, 1), (0.9, 2)])
def test_a_span_is_found_by_the_first_chunk_that_holds_enough_of_it(overlap, rank):
    query = Query("q", "text", {"a": 1.0}, spans=(Span("a", 100, 200),))
    ranking = Ranking(["a", "a", "a"], chunks=[Chunk("1", 0, 160), Chunk("2", 90, 210), Chunk("3")])
    page = Reader(Names(), "chunk", overlap, 20).page(query, None, ranking, False)
    assert page["gold"][0][3] == rank and page["gold"][0][7:] == [100, 200] and page["c"]["g"] == [[rank - 1, 1.0]]


def test_the_largest_figures_count_queries():
    assert [(tile.value, tile.name) for tile in tiles(build.failing())] == [
        ("▼ 10", "queries lost their answer"), ("▲ 1", "query found its answer"), ("2", "changed otherwise"), ("47", "unchanged"),
        ("−0.153", "nDCG@10: 0.734 → 0.580")]
    assert [tile.side for tile in tiles(build.failing())] == ["worse", "better", "", "", "worse"]
    alone = tiles(build.first_adoption([q("a", None, 1), q("b", None, None), q("c", None, 12)]))
    assert [tile.value for tile in alone][:3] == ["3", "1", "2"] and tiles(build.invalid()) == []
