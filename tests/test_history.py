"""Records of main over time: slow decay is visible, and fixed labels are none."""

import json
from dataclasses import replace

import pytest

from gate.baseline.record import Provenance, Record, pack, unpack
from gate.baseline.timeline import history_bytes
from gate.cli import main
from gate.errors import InvalidInput
from gate.golden.model import GoldenSet, Query
from gate.golden.read import read_golden
from gate.history import History, Point, history_of
from gate.reports.historical import history_text, sparkline
from gate.reports.history_page import history_page, history_part
from gate.reports.html import render_html
from gate.runs import Ranking
from gate.scoring.metrics import parse_metric
from tests.conftest import golden_set
from tests.reports import build

METRICS = [parse_metric("ndcg@10"), parse_metric("hit@5")]
IDS = [f"q{n}" for n in range(24)]
GOLDEN = golden_set({i: [f"d{i}"] for i in IDS}, tags={i: ("codes",) if n < 12 else ("prose",) for n, i in enumerate(IDS)})


def record(day, lost=(), *, kind="latest", ids=IDS, **more):
    rankings = {i: Ranking(["x"] if i in lost else [f"d{i}", "x"]) for i in ids}
    why = {"approved": Provenance("approved", pull_request=7, approver="maya", reason="a better chunker")}.get(kind, Provenance(kind))
    hits = 1 - len(set(lost) & set(ids)) / len(ids)
    return Record("docs", rankings, "sha256:g", created=f"2026-01-{day:02}T00:00:00Z", commit=f"{day:040x}", provenance=why,
                  **({"depth": 10, "metrics": {"ndcg@10": hits, "hit@5": hits}} | more))


DECAY = [record(1, kind="bootstrap"), *(record(2 + n, IDS[:n]) for n in range(1, 9)), record(12, IDS[:10], kind="approved")]


def test_points_come_in_the_order_of_time_each_once():
    found = history_of([DECAY[3], DECAY[0], DECAY[3], DECAY[1]])
    assert [point.created[8:10] for point in found.points] == ["01", "03", "05"]
    assert [point.baseline for point in found.points] == [True, False, False]


def test_slow_decay_is_seen_in_the_tag_that_it_happens_in():
    found = history_of(DECAY, GOLDEN, METRICS)
    assert found.since["ndcg@10"].delta == pytest.approx(-10 / 24) and found.since["ndcg@10"].ci.hi < 0
    assert found.tags_since["codes"].delta == pytest.approx(-10 / 12) and found.tags_since["codes"].q_value < 0.05
    assert found.tags_since["prose"].delta == 0
    assert [round(point.tags["codes"], 3) for point in found.points][:3] == [1.0, round(11 / 12, 3), round(10 / 12, 3)]


def test_a_label_that_was_fixed_since_is_no_change():
    other = golden_set({i: ["x"] for i in IDS})
    found = history_of(DECAY, other, METRICS)
    assert found.since["hit@5"].delta == 0 and found.points[0].metrics["hit@5"] == found.points[-1].metrics["hit@5"] == 1.0


def test_a_record_whose_rankings_end_before_a_metric_does_has_no_value_of_it_and_a_larger_depth_is_no_gain():
    def found_at(day, rank, depth):
        rankings = {i: Ranking([*(f"x{n}" for n in range(1, rank)), f"d{i}", *(f"y{n}" for n in range(10))][:depth]) for i in IDS}
        return replace(record(day), rankings=rankings, depth=depth)

    found = history_of([found_at(1, 7, 5), found_at(2, 7, 10), found_at(3, 8, 10)], GOLDEN, METRICS)
    assert [sorted(point.metrics) for point in found.points] == [["hit@5"], ["hit@5", "ndcg@10"], ["hit@5", "ndcg@10"]]
    assert found.since["ndcg@10"].delta < 0 and found.tags_since["codes"].delta < 0 and found.points[0].tags == {}
    assert "1 record has no value of a metric that looks deeper than the results reach." in history_text(found)
    assert "ndcg@10" not in history_of([found_at(1, 7, 10), found_at(2, 7, 5)], GOLDEN, METRICS).since
    alone = history_of([found_at(1, 7, 5), found_at(2, 7, 10)], GOLDEN, METRICS)
    row, = [line for line in history_text(alone).splitlines() if "nDCG@10" in line]
    assert "ndcg@10" not in alone.since and alone.tags_since == {} and row.split()[-1] == "—"


def test_only_queries_that_all_have_answered_count():
    found = history_of([record(1, ids=IDS[:20]), record(2, IDS[:5])], GOLDEN, METRICS)
    assert (found.n, found.left_out) == (20, 4)
    assert "over 20 queries; 4 queries answered by some of them only are left out" in history_text(found)


def test_only_queries_that_a_mean_can_hold_are_counted():
    golden = GoldenSet((*GOLDEN.queries, Query("none", "who wins", {}, answerable=False)), path="golden.jsonl")
    failed = record(2, IDS[1:3], ids=[*IDS, "none"])
    failed.rankings["q1"] = Ranking([], error="timeout")
    found = history_of([record(1, ["q1"], ids=[*IDS, "none"]), failed], golden, METRICS)
    assert (found.n, found.left_out, found.since["hit@5"].n) == (23, 1, 23)
    # q1 failed: without it, one query of 23 was lost and nothing was gained.
    assert [point.metrics["hit@5"] for point in found.points] == [1.0, pytest.approx(22 / 23)]
    with pytest.raises(InvalidInput, match="no query is answered by all 2 records"):
        history_of([record(1, ids=["none"]), record(2, ids=["none"])], golden, METRICS)


def test_what_the_records_say_themselves_is_not_called_paired():
    policy = {"primary": "ndcg@10"}
    found = history_of([record(1, policy=policy), record(2, IDS[:3], policy=policy)])
    assert list(found.points[-1].metrics) == ["ndcg@10", "hit@5"] and found.primary == "ndcg@10"
    stored = [unpack(pack(record(day, policy=policy)), "record") for day in (1, 2)]  # a file has its keys in the order of the alphabet
    assert history_of(stored).primary == "ndcg@10"
    assert "paired query by query" not in history_page(found)
    assert "paired query by query" in history_page(history_of(DECAY, GOLDEN, METRICS))


def test_work_does_not_grow_with_queries_times_tags():
    looked = []

    class Tags(tuple):
        def __contains__(self, tag):
            looked.append(tag)
            return super().__contains__(tag)

    golden = GoldenSet(tuple(query._replace(tags=Tags([f"tag{n}"])) for n, query in enumerate(GOLDEN.queries)), path="golden.jsonl")
    found = history_of([record(1), record(2, IDS[:3])], golden, METRICS)
    assert len(found.tags_since) == 24 and found.points[-1].tags["tag0"] == 0.0 and found.points[-1].tags["tag9"] == 1.0
    assert len(looked) < 24 * 24


def test_without_a_golden_set_the_means_are_those_of_the_records():
    found = history_of(DECAY)
    assert not found.tags_since and found.points[-1].metrics["ndcg@10"] == pytest.approx(14 / 24)
    assert "give --golden" in history_text(found)


def test_records_that_do_not_belong_together_are_refused():
    with pytest.raises(InvalidInput, match="of several gates: docs, wiki"):
        history_of([DECAY[0], Record("wiki", {}, "sha256:g")])
    with pytest.raises(InvalidInput, match="no query is answered by all 2 records"):
        history_of([record(1, ids=["q1"]), record(2, ids=["q2"])], GOLDEN, METRICS)
    with pytest.raises(InvalidInput, match="no record"):
        history_of([])


@pytest.mark.parametrize(("values", "line"), [([0, 1], "▁█"), ([1, 1, 1], "▄▄▄"), ([0.0, None, 1.0], "▁ █"), ([], "")])
def test_a_line_of_characters(values, line):
    assert sparkline(values) == line
    assert len(sparkline([0.1 * n for n in range(500)])) == 60


@pytest.fixture
def folder(tmp_path, write):
    for number, one in enumerate(DECAY):
        (tmp_path / f"{number}.json.gz").write_bytes(pack(one))
    write("golden.jsonl", *({"id": q.id, "query": q.text, "relevant": list(q.gains), "tags": list(q.tags)} for q in GOLDEN.queries))
    return tmp_path


def test_the_command_tells_it_in_words_as_json_and_as_a_page(folder, capsys):
    assert main(["history", str(folder), "--golden", str(folder / "golden.jsonl")]) == 0
    text = capsys.readouterr().out
    assert "10 records, 2 baselines among them" in text and "approved by maya in pull request #7: a better chunker" in text
    assert "codes" in text and "█" in text
    assert main(["history", str(folder), "--golden", str(folder / "golden.jsonl"), "--format", "json", "--metrics", "hit@5"]) == 0
    value = json.loads(capsys.readouterr().out)
    assert value["primary"] == "hit@5" and len(value["points"]) == 10 and value["tags"]["codes"]["delta"] < 0
    assert main(["history", str(folder), "--format", "html"]) == 0
    assert "<!doctype html>" in capsys.readouterr().out


@pytest.mark.parametrize("options", [[], ["--metrics", "hit@5"], ["--golden", "g", "--metrics", "nonsense@5"]])
def test_options_that_make_no_sense_are_named(folder, capsys, options):
    assert main(["history", *([str(folder)] if options else []), *options]) == 2
    assert capsys.readouterr().err


def test_the_page_marks_baselines_with_their_reasons_and_is_inert():
    hostile = "<script>alert(1)</script>\u202e"
    page = history_page(history_of([*DECAY, record(20, IDS[:9], kind="latest", snapshot_digest="sha256:s")], GOLDEN, METRICS))
    assert page.count('class="baseline"') == 2 * 4 and "a better chunker" in page and "another snapshot" in page
    assert "has fallen" in page and "<script" not in page
    bad = Record("docs", DECAY[0].rankings, "sha256:g", created=hostile, commit=hostile, provenance=Provenance("local"),
                 metrics={"ndcg@10": 1.0})
    assert "<script" not in history_page(history_of([bad])) and "\u202e" not in history_page(history_of([bad]))


def test_real_runs_make_a_history(data):
    golden = read_golden(data / "collections" / "squad2-dev" / "golden.jsonl")
    from gate.runs import read_run

    runs = [read_run(data / "runs" / "squad2-dev" / f"{name}.jsonl.gz") for name in ("dense", "dense_dim192", "dense_dim64")]
    found = history_of([Record("docs", dict(run.rankings), "sha256:g", created=str(at), provenance=Provenance("latest"))
                        for at, run in enumerate(runs)], golden, METRICS)
    assert found.since["ndcg@10"].ci.hi < 0 and found.since["ndcg@10"].n == 400


@pytest.fixture
def two_runs(folder, write):
    def told(*lost):
        return [{"id": i, "ranked": ["x"] if i in lost else [f"d{i}", "x"]} for i in IDS]

    write("old.jsonl", *told(*IDS[:10]))
    write("new.jsonl", *told(*IDS[:11]))
    records = folder / "records"
    records.mkdir()
    for path in folder.glob("*.json.gz"):
        path.rename(records / path.name)
    return folder


def compared(folder, *more):
    return main(["compare", "--golden", str(folder / "golden.jsonl"), "--baseline", str(folder / "old.jsonl"), "--candidate",
                 str(folder / "new.jsonl"), *map(str, more)])


def test_a_report_on_a_command_line_draws_the_records_that_led_to_it_scored_as_it_is(two_runs, capsys):
    out = two_runs / "out"
    code = compared(two_runs, "--out", out)
    plain = (out / "report.html").read_text()
    assert compared(two_runs, "--out", out, "--history", two_runs / "records") == code and 'id="history"' not in plain
    part = (out / "report.html").read_text().split('<h2 id="history">')[1].split('id="origin"')[0]
    assert "10 records, from 2026-01-01 to 2026-01-12" in part
    assert "scored anew under today&#39;s labels, over 24 queries" in part and "a better chunker" in part
    assert part.count('class="here"') >= 5 and "0.583 → 0.542" not in part and "→ 0.542 (−0.458; 95 % interval" in part
    # The value of this run is that of the report itself.
    assert json.loads((out / "report.json").read_text())["metrics"]["hit@5"]["candidate"] == pytest.approx(13 / 24)


def test_the_configured_retrievers_report_has_it_too_and_records_of_another_gate_are_refused(two_runs, write, capsys):
    config = write("retrieval-gate.yml")
    config.write_text("gate: docs\ngolden: golden.jsonl\nretriever: {kind: run, file: new.jsonl}\ndepth: 10\n")
    line = ["run", "--config", str(config), "--history", str(two_runs / "records")]
    assert main([*line, "--out", str(two_runs / "out")]) == 0
    assert 'class="here"' in (two_runs / "out" / "report.html").read_text()
    assert main(line) == 2 and "drawn in report.html" in capsys.readouterr().err
    config.write_text(config.read_text().replace("gate: docs", "gate: wiki"))
    assert main([*line, "--out", str(two_runs / "out")]) == 2 and "records of the gate docs, not of wiki" in capsys.readouterr().err


def test_records_that_share_no_query_with_the_run_cost_a_note_and_no_verdict(two_runs):
    for path in (two_runs / "records").iterdir():
        path.unlink()
    for day in (1, 2):
        (two_runs / "records" / f"{day}.json.gz").write_bytes(pack(record(day, ids=[f"other{day}"])))
    code = compared(two_runs, "--out", two_runs / "out")
    assert compared(two_runs, "--out", two_runs / "out", "--history", two_runs / "records") == code
    assert "there is no history: " in str(json.loads((two_runs / "out" / "report.json").read_text())["notes"])
    assert compared(two_runs, "--out", two_runs / "out", "--history", two_runs / "nothing") == 2


@pytest.mark.parametrize("command", ["history", "baseline show", "compare"])
def test_a_runs_history_is_no_record_and_not_called_a_damaged_one(two_runs, command, capsys):
    path = two_runs / "history.json"
    path.write_bytes(history_bytes([Point("", "c", False, "", "", {"hit@5": 0.5}, {}, "s", "g")], "docs"))
    code = compared(two_runs, "--out", two_runs / "out", "--history", path) if command == "compare" else main([*command.split(), str(path)])
    said = capsys.readouterr().err
    assert code == 2 and "not a record (it holds no rankings)" in said and "latest.json.gz" in said and "damaged" not in said


def test_a_report_says_what_its_change_does_to_the_run_before_and_not_what_main_has_gained():
    points = [Point(f"2026-01-0{n}", f"{n}" * 40, n == 1, "first", "", {"hit@5": mean}, {}, "s", "g", here=n == 3)
              for n, mean in ((1, 0.5), (2, 0.9), (3, 0.8000004))]
    line, = history_part(History("docs", "hit@5", tuple(points))).metrics
    assert (line.first, line.last, line.delta) == ("0.900", "0.800", "−0.100") and line.ahead
    still = points[:2] + [points[2]._replace(metrics={"hit@5": 0.9000004})]
    assert history_part(History("docs", "hit@5", tuple(still))).metrics[0].delta == "0.000"  # what was stored is rounded


def test_tags_of_a_report_are_said_to_come_in_the_order_that_they_come_in():
    points = [Point(f"2026-01-0{n}", f"{n}" * 40, n == 1, "first", "", {"hit@5": 0.9}, {"decay": decay, "now": now}, "s", "g", here=n == 3)
              for n, decay, now in ((1, 0.9, 0.9), (2, 0.6, 0.9), (3, 0.6, 0.8))]
    history = History("docs", "hit@5", tuple(points))
    assert [(line.name, line.delta) for line in history_part(history).tags] == [("decay", "0.000"), ("now", "−0.100")]
    part = render_html(replace(build.failing(), history=history)).split('id="history"')[1]
    assert "What has moved most since its first point comes first." in part and "largest change first" not in part


def test_of_a_metric_that_no_run_before_had_no_change_is_told():
    points = [Point(f"2026-01-0{n}", f"{n}" * 40, n == 1, "", "", {"hit@5": 0.9}, {}, "s", "g") for n in (1, 2)]
    points.append(points[0]._replace(baseline=False, metrics={"hit@5": 0.9, "rr@10": 0.5}, here=True))
    assert [line.name for line in history_part(History("docs", "hit@5", tuple(points))).metrics] == ["hit@5"]
    row, = [line for line in history_text(History("docs", "hit@5", tuple(points))).splitlines() if "RR@10" in line]
    assert row.split()[2:] == ["0.500", "0.500", "—"]


def test_a_report_lists_the_newest_changes_of_an_index_that_is_made_anew_every_day():
    points = [Point("2026-01-01", f"{n}", False, "", "", {"hit@5": 0.9}, {}, f"s{n}", "g", here=n == 199) for n in range(200)]
    part = render_html(replace(build.failing(), history=History("docs", "hit@5", tuple(points)))).split('id="history"')[1]
    assert part.count("</code>: another snapshot</li>") == 50 and "The newest 50 of 199." in part
    assert history_page(History("docs", "hit@5", tuple(points))).count("</code>: another snapshot</li>") == 199
