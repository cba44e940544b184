"""docs/speed.md from what was measured."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date
from pathlib import Path
from statistics import median
from textwrap import fill
from typing import NamedTuple

from inputs import SIZES, size_of
from measuring import GROWTH, Results
from peer_list import METHODS, PEERS, RESAMPLES, Peer
from targets import TARGETS, Measured, Target, cpu, lap, wall
from timing import Run, ratios, spread

SCORING = ("numpy 0", "pytrec_eval", "ir_measures", "ranx")  # the other scripts score as the first does


class Facts(NamedTuple):
    """Under what it was measured."""

    day: str
    machine: str
    load: str
    versions: Mapping[str, str]
    command: str


def facts(versions: Mapping[str, str], command: str) -> Facts:
    """Of this machine, now."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        model = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())
        total = int(Path("/proc/meminfo").read_text().split()[1]) / 1024**2
        memory = f", {total:.0f} GiB of memory"
    except OSError:
        model, memory = platform.processor() or platform.machine(), ""
    return Facts(date.today().isoformat(), f"{os.cpu_count()} cores ({model}){memory}, {platform.system()}", f"{os.getloadavg()[0]:.1f}",
                 versions, command)


def rows(lines: Iterable[Sequence[object]]) -> str:
    first, *rest = [[str(cell) for cell in line] for line in lines]
    return "\n".join("| " + " | ".join(line) + " |" for line in (first, ["---"] * len(first), *rest))


def ratio(value: float) -> str:
    """``0.84``, and where it is small ``1/19``, which is easier to compare."""
    return f"{value:.2f}" if value > 0.11 else f"1/{1 / value:.0f}"


def seconds(value: float) -> str:
    """``12 ms``, ``1.3 s``."""
    if value >= 1.0:
        return f"{value:.1f} s" if value < 100 else f"{value:.0f} s"
    return f"{1000 * value:.0f} ms" if value >= 0.01 else f"{1000 * value:.2g} ms"


def _typical(runs: Sequence[Run], of: Callable[[Run], float]) -> float:
    return median(map(of, runs))


def _cell(target: Target, measured: Measured | None, limit: float | None) -> str:
    if limit is None:
        return "–"
    write = ratio if target.unit == "ratio" else f"{{:.0f}} {target.unit}".format
    aim = f"aim {write(limit)}"
    if measured is None:
        return f"not measured ({aim})"
    beside = f", processor time {write(measured.cpu)}" if measured.cpu is not None else ""
    return f"{'reached' if measured.value <= limit else '**not reached**'}: {write(measured.value)} ({aim}{beside})"


def targets(results: Results) -> str:
    sizes = ("S", "M", "L")
    lines = []
    for target in TARGETS:
        odd = next((size for size in target.limits if size not in sizes), None)
        name = target.what + (f" ({target.remark})" if target.remark else "")
        if odd:
            cell = _cell(target, target.measure(results, odd), target.limits[odd])
            lines.append([name, *([cell, "", ""] if odd == "any" else ["–", cell, "–"])])
        else:
            lines.append([name, *(_cell(target, target.measure(results, size), target.limits.get(size)) for size in sizes)])
    return rows([["our target", *sizes], *lines])


def _what(peer: Peer, size: str) -> str:
    drawn = peer.drawn(size)
    return peer.does + (f"; {drawn:,} resamples drawn, time of its statistics × {RESAMPLES / drawn:.0f}" if drawn != RESAMPLES else "")


def whole(results: Results, size: str) -> str:
    """One row a peer: times, memory, ratios of whole processes, and of scoring what is loaded already."""
    mine = results.compared(size)
    lines = [["**`compare --format json`**", seconds(_typical(mine, wall)), seconds(_typical(mine, cpu)),
              f"{median(r.peak for r in mine):.0f}", "1", "1", "1", len(mine),
              "six means with interval, p and McNemar's test; twelve tags; validation; decision"]]
    for peer in PEERS:
        versus = results.peers.get((size, peer.key))
        if versus is None:
            continue
        theirs, score = versus.theirs, lap("score")
        scored = (spread(ratios(versus.phases, theirs, score), ratio) if peer.key in SCORING else "–")
        drawn = "+" if peer.drawn(size) != RESAMPLES and peer.family in ("numpy", "scipy") else ""
        lines.append([peer.title, seconds(_typical(theirs, wall)), seconds(_typical(theirs, cpu)),
                      f"{median(r.peak for r in theirs):.0f}{drawn}", spread(ratios(versus.compare, theirs, wall), ratio),
                      spread(ratios(versus.compare, theirs, cpu), ratio), scored, len(theirs), _what(peer, size)])
    return rows([["", "time", "processor time", "peak MiB", "ours / theirs", "processor time", "scoring alone", "rounds", "what it does"],
                 *lines])


def statistics(results: Results) -> str:
    lines = []
    for size in SIZES:
        if size in results.statistics:
            lines.append([size, "**all of ours: 18 intervals and their p**", seconds(_typical(results.statistics[size], lap("statistics"))),
                          "", ""])
        for method in METHODS:
            if pair := results.methods.get((size, method.key)):
                mine, theirs = pair
                drawn = method.drawn(size)
                scaled = f" ({drawn:,} resamples, × {RESAMPLES / drawn:.0f})" if drawn != RESAMPLES and method.key != "t-test" else ""
                lines.append([size, method.title + scaled, seconds(_typical(theirs, lap("statistics"))),
                              f"{method.ours}: {seconds(_typical(mine, lap('statistics')))}",
                              spread(ratios(mine, theirs, lap("statistics")), ratio)])
    return rows([["size", "method, for nDCG alone", "time", "ours instead", "ours / theirs"], *lines])


def growth(results: Results) -> str:
    lines = []
    for names in GROWTH:
        for name in names:
            if runs := results.growth.get(name):
                size, took, used = size_of(name), _typical(runs, wall), _typical(runs, cpu)
                lines.append([f"{size.queries:,}", f"{size.depth:,}", seconds(took), seconds(used),
                              f"{1e6 * used / (size.queries * size.depth):.2g}", f"{median(r.peak for r in runs):.0f}"])
    return rows([["queries", "depth", "time", "processor time", "processor µs a result", "peak MiB"], *lines])


def _start(results: Results) -> str:
    ours, bare = results.start
    return (f"`retrieval-gate --help` takes {seconds(_typical(ours, wall))}, `python -c pass` {seconds(_typical(bare, wall))} "
            f"(rounds: {len(ours)}).")


def _head(results: Results, about: Facts) -> str:
    changed = ", ".join(f"{name} {n:,} of {SIZES[name].queries:,}" for name, n in results.changed.items())
    versions = ", ".join(f"{name} {version}" for name, version in about.versions.items())
    return "\n\n".join(fill(part, 145, break_long_words=False, break_on_hyphens=False) for part in (
        f"Written by `{about.command}`; every figure here was measured by it on {about.day}, on {about.machine}. Load of the machine at "
        f"the end: {about.load}. {versions}.",
        "The same work side by side: read a golden set and two runs, score six metrics of every query of both, and whatever statistics the "
        "peer has. The means of all of them were held against ours first and agree, to nine decimals or to what the peer prints. Programs "
        "took turns: **ratios are medians over rounds of ours / theirs, then least and most**. Times are medians, and hold for this "
        f"machine only. Queries with another nDCG@10: {changed}. What the sizes are, and why memory cannot read below about 15 MiB: "
        "[benchmarks/README.md](../benchmarks/README.md)."))


def written(results: Results, about: Facts) -> str:
    """The whole page; tables of what was not measured are left out."""
    parts = ["# How long it takes", _head(results, about), "## What we set out to reach",
             "The aims are our own. Ratios are of whole processes by the clock, with processor time beside; the smaller, the better.",
             targets(results)]
    sizes = [size for size in SIZES if results.compared(size)]
    for size in sizes:
        parts.append(f"## {size}: {SIZES[size].queries:,} queries × {SIZES[size].depth}")
        if size == "M-churn":
            parts.append("Every ranking differs from its baseline, so nothing can be saved on lines that are alike.")
        parts.append(whole(results, size))
    if sizes:
        parts.append(fill(
            "“Scoring alone” is the time for six metrics of both runs once they are loaded, for ranx with its tests. A “+” behind the "
            "memory: all 10,000 resamples at once would need a matrix that much larger than the one measured. Only the scripts and scipy "
            "have an interval; the other peers are compared on the work that they do.", 145))
    if results.statistics:
        parts += ["## Statistics on ready differences",
                  "One call in a fresh process; imports, and a call with other numbers, came before.", statistics(results)]
    if results.growth:
        parts += ["## Growth", "`compare --format json` alone. A result is one document of one ranking of the candidate.", growth(results)]
    if results.start[0]:
        parts += ["## To start at all", _start(results)]
    parts += ["## Not measured", "\n".join(f"- {why}" for why in results.skipped) if results.skipped else "Nothing was left out."]
    return "\n\n".join(parts) + "\n"
