"""Who is measured beside us: what each one does, where it is run, and how it is called."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, NamedTuple

from timing import Side, last_line, nothing

HERE = Path(__file__).resolve().parent
RESAMPLES = 10_000
PRINTED = 5.1e-5  # trec_eval prints four decimals
EXACT = 1e-9
# Pinned, so that figures of two days are of the same programs; numba and scipy are what ranx and pytrec_eval compute with.
NUMPY, SCIPY = "numpy==2.4.6", "scipy==1.17.1"
PINS = {"pytrec_eval": ("pytrec_eval-terrier==0.5.11", NUMPY, SCIPY), "ir_measures": ("ir-measures==0.4.3", "pytrec_eval-terrier==0.5.11",
        NUMPY, SCIPY), "ranx": ("ranx==0.3.21", "numba==0.68.1", NUMPY, SCIPY), "scipy": (SCIPY, NUMPY), "choices": ()}


class Tools(NamedTuple):
    """What to start: ``gate`` and ``python`` of the repository's environment, ``peers``: the Python of the peers' one."""

    gate: str
    python: str
    peers: str
    trec_eval: str | None


class Peer(NamedTuple):
    """``sizes`` are those it is run at, ``slow`` those only on demand; ``resamples`` of a size where it draws fewer than 10,000.

    ``command`` takes the tools, the folder and the resamples; ``read`` gets the means of both runs out of what it prints. ``trec``: it
    reads the TREC files.
    """

    key: str
    title: str
    does: str
    command: Callable[[Tools, str, int], list[str]]
    sizes: tuple[str, ...]
    slow: tuple[str, ...] = ()
    resamples: dict[str, int] = {}
    read: Callable[[IO[str]], dict[str, Any]] = last_line
    trec: bool = False
    tolerance: float = EXACT

    @property
    def family(self) -> str:
        """What ``--peers`` takes and what has to be installed."""
        return self.key.partition(" ")[0]

    def drawn(self, size: str) -> int:
        return self.resamples.get(size, RESAMPLES)

    def factor(self, size: str) -> float:
        return RESAMPLES / self.drawn(size)

    def side(self, tools: Tools, folder: Path, size: str) -> Side:
        return Side(self.command(tools, str(folder), self.drawn(size)), self.read)


def _script(name: str, *more: str, resampling: bool = False) -> Callable[[Tools, str, int], list[str]]:
    return lambda tools, folder, n: [tools.peers, str(HERE / "peers" / name), folder, *([str(n)] if resampling else []), *more]


def _numpy(intervals: int) -> Callable[[Tools, str, int], list[str]]:
    return lambda tools, folder, n: [tools.python, str(HERE / "numpy_script.py"), folder, str(intervals), str(n)]


_TREC_NAMES = {"ndcg_cut_10": "ndcg@10", "recall_5": "recall@5", "recall_10": "recall@10", "success_5": "hit@5", "recip_rank": "rr",
               "P_5": "precision@5"}


def _trec_eval(tools: Tools, folder: str, n: int) -> list[str]:
    """Both runs, one after the other, with -q, because a paired comparison needs every query."""
    measures = "-m ndcg_cut.10 -m recall.5,10 -m success.5 -m recip_rank -m P.5"
    both = f'for run in baseline candidate; do "$0" -q {measures} "$1/qrels.trec" "$1/$run.trec" || exit 1; done'
    return ["sh", "-c", both, str(tools.trec_eval), folder]


def read_trec_eval(file: IO[str]) -> dict[str, Any]:
    """The means of two runs from ``measure  all  value``, and nothing of the lines of single queries."""
    found: list[dict[str, float]] = [{}, {}]
    for line in file:
        if "\tall\t" in line:
            name, _, value = line.split()
            means = found[0] if _TREC_NAMES[name] not in found[0] else found[1]
            means[_TREC_NAMES[name]] = float(value)
    return {"baseline": found[0], "candidate": found[1]}


ALL = ("S", "M", "L")
PEERS = (
    Peer("numpy 0", "articles' script, scoring alone", "six means of both runs", _numpy(0), (*ALL, "M-churn")),
    Peer("numpy 1", "articles' script, 1 interval", "and a bootstrap interval of nDCG", _numpy(1), (*ALL, "M-churn"),
         resamples={"L": 1_000}),
    Peer("numpy 6", "articles' script, 6 intervals", "and of all six", _numpy(6), ("S", "M")),
    Peer("choices", "standard library, `random.choices`", "nDCG and its bootstrap interval", _script("with_choices.py", resampling=True),
         ALL, resamples={"M": 300, "L": 30}),
    Peer("scipy", "articles' scoring, scipy.stats", "six means; of nDCG `bootstrap` and `ttest_rel`",
         _script("with_scipy.py", resampling=True), ALL, resamples={"L": 1_000}),
    Peer("pytrec_eval", "pytrec_eval", "six measures of every query; no statistics", _script("with_pytrec_eval.py"), ALL),
    Peer("ir_measures", "ir_measures", "six measures of every query; no statistics", _script("with_ir_measures.py"), ALL),
    Peer("ranx", "ranx.compare, t-test, warm numba cache", "six means and t-tests; no interval", _script("with_ranx.py"), ALL, trec=True),
    Peer("ranx cold", "ranx.compare, empty numba cache", "the same, compiling first", _script("with_ranx.py", "--cold"), ("S",), trec=True),
    Peer("trec_eval", "trec_eval (C), both runs", "six measures of every query; no statistics", _trec_eval, ("S", "M"), slow=("L",),
         read=read_trec_eval, trec=True, tolerance=PRINTED),
)


class Method(NamedTuple):
    """A statistic on ready differences of nDCG and the one of ours that answers the same question (``interval`` or ``p``)."""

    key: str
    title: str
    ours: str
    sizes: tuple[str, ...]
    resamples: dict[str, int] = {}

    def drawn(self, size: str) -> int:
        return self.resamples.get(size, RESAMPLES)

    def factor(self, size: str) -> float:
        return RESAMPLES / self.drawn(size)

    def side(self, tools: Tools, folder: Path, size: str) -> Side:
        script = str(HERE / "peers" / "statistics_theirs.py")
        return Side([tools.peers, script, str(folder), self.key, str(self.drawn(size))], last_line)


METHODS = (
    Method("gather", "numpy, all resamples as one matrix of indices", "interval", ALL, {"L": 1_000}),
    Method("choices", "standard library, `random.choices`", "interval", ALL, {"M": 300, "L": 30}),
    Method("bootstrap", "`scipy.stats.bootstrap`, percentile", "interval", ALL, {"L": 1_000}),
    Method("permutation", "`scipy.stats.permutation_test`, sign flips", "p", ALL, {"L": 1_000}),
    Method("t-test", "`scipy.stats.ttest_1samp`, what ranx tests with", "p", ALL),
)


def ours(tools: Tools, folder: Path, *more: str) -> Side:
    return Side([tools.python, str(HERE / "peers" / "ours.py"), str(folder), *more], last_line)


def our_statistics(tools: Tools, folder: Path, what: str) -> Side:
    return Side([tools.python, str(HERE / "peers" / "statistics_ours.py"), str(folder), what], last_line)


def compare(tools: Tools, folder: Path, *more: str, read: Callable[[IO[str]], dict[str, Any]] = nothing) -> Side:
    """As a user calls it. Exit codes 0, 1 and 4 are verdicts."""
    command = [tools.gate, "compare", "--golden", f"{folder}/golden.jsonl", "--baseline", f"{folder}/baseline.jsonl",
               "--candidate", f"{folder}/candidate.jsonl", "--format", "json", *more]
    return Side(command, read, (0, 1, 4))


def read_report(file: IO[str]) -> dict[str, Any]:
    """The means that ``compare --format json`` prints, as the scripts of peers/ tell theirs."""
    report = json.load(file)
    return {side: {name: metric[side] for name, metric in report["metrics"].items()} for side in ("baseline", "candidate")} | {
        "intervals": [report["primary"]["ci"]], "changed": report["primary"]["changed"], "n": report["primary"]["n"]}
