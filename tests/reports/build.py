"""Builds Reports from a few lines, through the real scoring, comparison and policy.

A world is a list of :func:`q` lines: id, text, tags, and the rank of the relevant document before and after (None: not found).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from gate.baseline.approval import Condition, Eligibility
from gate.golden.model import GoldenSet, Query, Version
from gate.history import Point, leading_to
from gate.pipeline import Circumstances, assess
from gate.policy import Policy
from gate.references import Reference
from gate.reported import model_warnings
from gate.reports.report import BaselineInfo, InputChange, Report
from gate.runs import Ranking, Run
from gate.usage import Cost, Latency

HEAD = "8f3c2a9d41e07b65c1d2e3f4a5b6c7d8e9f00112"
BASE = "1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e"
MAIN = "c0ffee11223344556677889900aabbccddeeff00"
DEPTH = 20


@dataclass(frozen=True)
class Line:
    id: str
    text: str
    tags: tuple[str, ...]
    before: int | None
    after: int | None
    doc: str


def q(id: str, before: int | None = 1, after: int | None = 1, text: str = "", tags: Sequence[str] = (), doc: str = "") -> Line:
    return Line(id, text or f"question {id}", tuple(tags), before, after, doc or f"doc-{id}")


def ranking(line: Line, rank: int | None, side: str, score: float = 9.0) -> Ranking:
    """Twenty documents with the relevant one at ``rank``; the others are named after the side, so that rankings differ."""
    docs = [f"{side}-{line.id}-{i}" for i in range(1, DEPTH + 1)]
    if rank is not None:
        docs[rank - 1] = line.doc
    return Ranking(docs, [score - i / 10 for i in range(DEPTH)])


def golden_of(lines: Sequence[Line], unanswerable: Sequence[str] = ()) -> GoldenSet:
    queries = [Query(id=line.id, text=line.text, gains={line.doc: 1.0}, tags=line.tags, line=n)
               for n, line in enumerate(lines, 1)]
    queries += [Query(id=i, text=f"nothing answers {i}", gains={}, answerable=False, line=len(lines) + n)
                for n, i in enumerate(unanswerable, 1)]
    return GoldenSet(tuple(queries), path="golden.jsonl", version="1.4.0")


def runs_of(lines: Sequence[Line], unanswerable: Sequence[str] = ()) -> tuple[Run, Run]:
    before = {line.id: ranking(line, line.before, "old") for line in lines}
    # A query whose rank did not move keeps its whole ranking.
    after = {line.id: before[line.id] if line.before == line.after else ranking(line, line.after, "new") for line in lines}
    for n, i in enumerate(unanswerable):
        before[i], after[i] = Ranking([f"x{n}"], [3.0 + n]), Ranking([f"x{n}"], [3.5 + n])
    return Run(before), Run(after)


LATENCY, COST = Latency(11.2, 40.0, 12.9, 44.1), Cost(0.0012, 0.0034)
METADATA = {"head_sha": HEAD, "base_sha": BASE, "run_url": "https://github.com/acme/wiki/actions/runs/77/attempts/1",
            "run_id": "77", "run_attempt": 1, "pull_request": 12,
            "golden_version": "1.4.0", "golden_digest": "sha256:" + "a1" * 32,
            "snapshot_digest": "sha256:" + "b2" * 32, "corpus_digest": "sha256:" + "c3" * 32,
            "policy_digest": "sha256:" + "d4" * 32, "retriever": {"kind": "python", "function": "search.retriever:retrieve"},
            "versions": {"gate": "0.1.0"}, "depth": DEPTH, "seed": 0}
BASELINE = BaselineInfo(digest="sha256:" + "e5" * 32, commit=BASE, created="2026-03-01T08:00:00Z",
                        provenance="approved by alice in pull request #7: better synonyms",
                        url=f"https://github.com/acme/wiki/commit/{BASE}", age_days=12.4, expires_in_days=77.6)


def make(lines: Sequence[Line], policy: Policy | None = None, *, unanswerable: Sequence[str] = (),
         changes: Sequence[InputChange] = (), old_labels: dict[str, str] | None = None,
         approval: Eligibility | None = None, titles: dict[str, str] | None = None, **more: Any) -> Report:
    """Compare and decide, as every road of the gate does; ``more`` are fields of the Report."""
    before, after = runs_of(lines, unanswerable)
    report = assess(golden_of(lines, unanswerable), after, Reference(before, old_labels, BASELINE), policy or Policy(),
                    Circumstances("wiki-search", approval, tuple(changes), metadata=METADATA, titles=titles or {}))
    return replace(report, **({"latency": LATENCY, "cost": COST} | more))


def stopped(verdict: str, exit_code: int, problems: Sequence[str], cure: str, **more: Any) -> Report:
    """A run that came to no judgement."""
    return Report(gate="wiki-search", verdict=verdict, exit_code=exit_code, policy=Policy(), problems=tuple(problems), cure=cure,
                  **({"metadata": METADATA} | more))


def first_adoption(lines: Sequence[Line], policy: Policy | None = None, **more: Any) -> Report:
    """No baseline anywhere yet."""
    around = Circumstances("wiki-search", metadata=METADATA)
    report = assess(golden_of(lines), runs_of(lines)[1], None, policy or Policy(), around)
    return replace(report, **more)


# --- one world for every verdict --------------------------------------------------------------------------------------

_WORDS = ("reset the vpn token", "who approves a purchase", "restart the gateway in Lyon", "leave carried over to next year",
          "close a customer account", "backup window of the database", "rotate a service key", "badge for a visitor")


def _lines(moves: dict[int, tuple[int | None, int | None]], n: int = 60) -> list[Line]:
    lines = []
    for i in range(n):
        before, after = moves.get(i, (1 + i % 3, 1 + i % 3))
        exact = i < 18
        text = f"ERR-{4400 + i}" if exact else f"{_WORDS[i % len(_WORDS)]} ({i})"
        tags = ("exact-term",) if exact else ("paraphrase", "policy") if i % 4 == 0 else ("paraphrase",)
        lines.append(q(f"q{i:03d}", before, after, text, tags + (("rare",) if i in (20, 40) else ())))
    return lines


TITLES = {f"new-q{i:03d}-{rank}": f"Runbook {i}, part {rank}" for i in range(60) for rank in range(1, 4)}
DROP = dict.fromkeys(range(9), (1, None)) | {9: (2, 14), 10: (1, 6), 30: (12, 3), 31: (4, 1)}
NOT_YET = Eligibility(
    False, (Condition("label", True, "The label `baseline-update` is set."),
            Condition("labeller", True, "It was set by bob, who has write access and is not the author."),
            Condition("review", False, "No approving review of the head commit 8f3c2a9 was found.",
                      "a reviewer with write access approves this commit")), 12, HEAD, "baseline-update", True)
APPROVED = Eligibility(True, (*NOT_YET.conditions[:2],
                              Condition("review", True, "bob approved the head commit 8f3c2a9 and said why.")),
                       12, HEAD, "baseline-update", True, "bob", "codes are now found by the code index; see #11", 501, 601)
CHANGES = (InputChange("policy tolerance", "0.02", "0.05", True), InputChange("golden set: queries added", "", "4"),
           InputChange("chunker", "words:200", "words:400"))


def failing(**more: Any) -> Report:
    return make(_lines(DROP), Policy(floors={"recall@5": 0.9}), unanswerable=["u1", "u2"], titles=TITLES, **more)


def accepted(**more: Any) -> Report:
    return make(_lines(DROP), approval=APPROVED, changes=CHANGES, **more)


def passing(**more: Any) -> Report:
    return make(_lines({30: (2, 1), 31: (3, 4)}), **more)


def gaining(**more: Any) -> Report:
    return make(_lines(dict.fromkeys(range(12), (None, 1))), **more)


def inconclusive(**more: Any) -> Report:
    return make(_lines({3: (1, None), 4: (1, None), 20: (1, 3), 33: (5, 1), 34: (1, 2)}), **more)


def identical(**more: Any) -> Report:
    return make(_lines({}), **more)


def beside(moves: dict[int, tuple[int | None, int | None, int | None]], **more: Any) -> Report:
    """Main has moved on from its baseline and nobody has approved that: ranks in the baseline, in main's latest run and now."""
    lines = _lines({i: (before, after) for i, (before, _, after) in moves.items()})
    runs: dict[str, dict[str, Ranking]] = {"old": {}, "main": {}, "new": {}}
    for i, line in enumerate(lines):
        last: tuple[Any, Ranking] | None = None
        for side, rank in zip(runs, moves.get(i, (line.before,) * 3), strict=True):
            # What did not move keeps its whole ranking.
            last = last if last and last[0] == rank else (rank, ranking(line, rank, side))
            runs[side][line.id] = last[1]
    latest = Reference(Run(runs["main"]), None, BaselineInfo(digest="sha256:" + "f6" * 32, commit=MAIN, created="2026-03-12T08:00:00Z"))
    return assess(golden_of(lines), Run(runs["new"]), Reference(Run(runs["old"]), None, BASELINE), Policy(),
                  Circumstances("wiki-search", metadata=METADATA, titles=TITLES, **more), latest=latest)


def relapsing(**more: Any) -> Report:
    """Main had gained eight queries, nobody locked them in, and this change loses them again."""
    return beside(dict.fromkeys(range(10, 18), (None, 1, None)) | {30: (2, 2, 1)}, **more)


def slipping(**more: Any) -> Report:
    """Main has lost seven queries already; this change takes little more, and makes it a credible drop of the tolerance no less."""
    return beside(dict.fromkeys(range(7), (1, None, None)) | {7: (1, 1, 2)}, **more)


def behind(**more: Any) -> Report:
    """Main is red, and this change has no part in it."""
    return beside(dict.fromkeys(range(9), (1, None, None)), **more)


def ahead(**more: Any) -> Report:
    """Main is ahead of its baseline, and this change goes on a little."""
    return beside(dict.fromkeys(range(12), (None, 1, 1)) | {12: (None, None, 2), 13: (3, 3, 2)}, **more)


def cannot_decide() -> Report:
    return stopped("cannot-decide", 3, ["The artifact `retrieval-gate-baseline` of run 61 has expired (2026-02-27)."],
                   "start the workflow by hand on the default branch (Actions → Retrieval gate → Run workflow); it makes a new "
                   "baseline.")


def invalid() -> Report:
    return stopped("invalid", 2, ["golden.jsonl:14: not valid JSON (Expecting ',' delimiter at column 31)",
                                  "golden.jsonl:20: `relevant` is missing"], "fix these lines")


def no_baseline() -> Report:
    return first_adoption(_lines({}))


LOCAL = {key: value for key, value in METADATA.items() if key not in ("run_url", "run_id", "run_attempt", "pull_request", "head_sha",
                                                                      "base_sha")}
RAISED = """the function raised an error
| Traceback (most recent call last):
|   File "/wiki/search/retriever.py", line 12, in retrieve
|     return index[query]
|            ~~~~~^^^^^^^
| KeyError: 'vpn ``` | @octocat'"""


def traceback() -> Report:
    head = "candidate: the retriever failed on 2 of 60 queries; max_errors is 0"
    return stopped("cannot-decide", 3, [head, f"query 'q001': {RAISED}", f"query 'q002': {RAISED}"], "fix the retriever")


def local() -> Report:
    """Somebody's terminal, not CI."""
    return failing(metadata=LOCAL)


def local_first() -> Report:
    return first_adoption(_lines({}), metadata=LOCAL)


def emptied(n: int = 3, **more: Any) -> Report:
    """A candidate that returns nothing at all for the first ``n`` queries, one of which the baseline did not answer either."""
    lines = [q(f"q{i:03d}", 2 if i else None, 2) for i in range(20)]
    before, after = runs_of(lines)
    after.rankings.update({line.id: Ranking([]) for line in lines[:n]})
    before.rankings["q000"] = Ranking([])
    return replace(assess(golden_of(lines), after, Reference(before, None, BASELINE), Policy(),
                          Circumstances("wiki-search", metadata=METADATA)), **more)


def two_stages(docs: Sequence[str] = ("leave-2023", "note-7"), **more: Any) -> Report:
    """Candidates on both sides, an outdated version that came up, unjudged documents, scores with ties and a score floor. ``docs``: names
    of an outdated and of an unjudged document."""
    lines = _lines(dict.fromkeys(range(8), (1, None)) | {20: (1, 2)})
    before, after = runs_of(lines, ["u1", "u2"])
    golden = golden_of(lines, ["u1", "u2"])
    golden = GoldenSet(tuple(query._replace(gains={**query.gains, f"old-{query.id}-9": 0.0},
                                            versions=(Version(tuple(query.gains), (docs[0],)),) if query.id in ("q020", "q021") else ())
                             if query.answerable else query for query in golden.queries), golden.path, golden.version)
    for run in (before, after):
        for line in lines:
            found = run.rankings[line.id]
            run.rankings[line.id] = replace(found, candidates=list(found.docs))
    for line in lines[:5]:
        after.rankings[line.id].candidates.append(line.doc)
    after.rankings["q020"].docs[0] = docs[0]
    after.rankings["q020"].scores[1] = after.rankings["q020"].scores[0]
    for line in lines[30:36]:
        found = after.rankings[line.id]
        after.rankings[line.id] = replace(found, docs=[docs[1], *(d for d in found.docs if d != f"old-{line.id}-1")][:DEPTH])
    return replace(assess(golden, after, Reference(before, None, BASELINE), Policy(score_floor=3.2),
                          Circumstances("wiki-search", metadata=METADATA)), **({"latency": LATENCY} | more))


def unjudged(**more: Any) -> Report:
    """A drop that only documents make which nobody has judged."""
    lines = _lines({})
    before, after = runs_of(lines)
    golden = golden_of(lines)
    golden = GoldenSet(tuple(query._replace(gains={**query.gains, "known-to-be-wrong": 0.0}) for query in golden.queries),
                       golden.path, golden.version)
    for n, line in enumerate(lines):
        before.rankings[line.id] = Ranking(["known-to-be-wrong"] * (line.before - 1) + [line.doc])
        after.rankings[line.id] = before.rankings[line.id] if n >= 24 else Ranking([f"handbook-{n % 5}", *before.rankings[line.id].docs])
    return replace(assess(golden, after, Reference(before, None, BASELINE), Policy(), Circumstances("wiki-search", metadata=METADATA)),
                   **more)


def warned(**more: Any) -> Report:
    """Nothing moved but the model behind the search, as it says itself."""
    made = identical(**more)
    return replace(made, warnings=tuple(model_warnings({"embedding": {"reported": "small-2026-01"}},
                                                       {"embedding": {"reported": "small-2026-07", "least_cosine": 0.93}})))


def remembered(**more: Any) -> Report:
    """The default branch has lost a little every week, and one loss was approved; then the golden set grew."""
    report = failing(**more)
    assert report.candidate is not None
    names = [str(metric) for metric in report.candidate.metrics]
    points = []
    for day in range(1, 15):
        level = 0.97 - 0.004 * day
        baseline = {1: "bootstrapped by the first run on the default branch",
                    9: "approved by bob in pull request #9: codes are now found by the code index"}.get(day, "")
        points.append(Point(f"2026-02-{day:02}T08:00:00Z", f"{day:040x}", bool(baseline), baseline, f"sha256:{day:064x}",
                            dict.fromkeys(names, level),
                            {"exact-term": level - 0.01 * day, "paraphrase": level, "policy": level, "gone": 0.5},
                            "sha256:" + "5a" * 32, "sha256:g1" if day < 12 else "sha256:g2", "ndcg@10", ("dev",),
                            "fail" if day == 8 else "accepted" if day == 9 else "pass", str(day)))
    return replace(report, history=leading_to(points, report))


EVERY = {"fail": failing, "accepted": accepted, "pass": passing, "gain": gaining, "inconclusive": inconclusive,
         "identical": identical, "relapsing": relapsing, "slipping": slipping, "behind": behind, "ahead": ahead,
         "cannot-decide": cannot_decide, "invalid": invalid, "no-baseline": no_baseline,
         "traceback": traceback, "local": local, "local-first": local_first, "emptied": emptied,
         "two-stages": two_stages, "unjudged": unjudged, "warned": warned}
