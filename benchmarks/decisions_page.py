"""docs/decisions.md from what was measured."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from math import sqrt
from textwrap import fill
from typing import NamedTuple

import trials

CLASSES = ("must_catch", "should_catch", "must_pass", "improvement", "either", "bug_without_measurable_effect")
VERDICTS = ("fail", "inconclusive", "pass")
Results = Mapping[tuple[tuple[str, float], int], Counter[str]]


class Judged(NamedTuple):
    """One real run: its class and what the product said."""

    collection: str
    run: str
    truth: str
    verdict: str
    ranked: bool
    n: int
    changed: int
    delta: float
    lo: float | None
    hi: float | None

    @property
    def wrong(self) -> bool:
        return (self.truth == "must_catch" and self.verdict != "fail"
                or self.truth in ("must_pass", "improvement") and self.verdict == "fail")


def share(count: int, of: int) -> str:
    """``2.61 ± 0.22``: percent and the 95 % Monte Carlo error. Where it is 0 or 100 the normal error would be 0: rule of three."""
    p = count / of
    if count in (0, of):
        return f"{100 * p:.0f} {'+' if not count else '−'} {300 / of:.2g}"
    error = 196 * sqrt(p * (1 - p) / of)
    return f"{100 * p:.{2 if error < 0.5 else 1}f} ± {error:.{2 if error < 0.5 else 1}f}"


def rows(lines: Iterable[Iterable[object]]) -> str:
    first, *rest = [[str(cell) for cell in line] for line in lines]
    return "\n".join("| " + " | ".join(line) + " |" for line in (first, ["---"] * len(first), *rest))


def acceptance(table: list[Judged]) -> str:
    counts = Counter((row.truth, row.verdict) for row in table)
    plain = Counter(row.truth for row in table if row.delta <= -trials.POLICY.tolerance)
    below = Counter(row.truth for row in table if row.hi is not None and row.hi < 0)
    sums = Counter(row.truth for row in table)
    return rows([["class", "runs", *VERDICTS, "mean fell by 0.02", "interval below 0"],
                 *([f"`{truth}`", sums[truth], *(counts[truth, verdict] for verdict in VERDICTS), plain[truth], below[truth]]
                   for truth in CLASSES)])


def listed(table: Iterable[Judged]) -> str:
    lines = [[f"`{r.collection}` {r.run}", f"`{r.truth}`", r.verdict, r.n, r.changed, f"{r.delta:+.4f}",
              "none" if r.lo is None or r.hi is None else f"{r.lo:+.4f} to {r.hi:+.4f}"] for r in table]
    return rows([["run", "class", "verdict", "n", "changed", "delta", "95 % interval"], *lines]) if lines else "None."


def null_table(results: Results) -> str:
    lines = []
    for name in trials.NULLS:
        for n in trials.SIZES:
            c = results[(name, 0.0), n]
            lines.append([name, n, f"{c['changed'] / c['trials']:.0f}", *(share(c[rule], c["trials"]) for rule in
                          ("fail", "credible", "inconclusive", "pass", "threshold", "bootstrap", "t-test"))])
    return rows([["equal systems", "n", "changed", "**fail**", "credible drop alone", "inconclusive", "pass", "plain threshold",
                  "plain bootstrap", "plain t-test"], *lines])


def loss_table(results: Results) -> str:
    lines = []
    for kind in trials.KINDS:
        for loss in trials.LOSSES:
            for n in trials.SIZES:
                c = results[(kind, loss), n]
                lines.append([f"{100 * loss:.0f} points, {kind}", n, f"{c['changed'] / c['trials']:.0f}", *(share(c[rule], c["trials"])
                              for rule in ("fail", "inconclusive", "pass", "threshold", "bootstrap", "t-test"))])
    return rows([["true loss", "n", "changed", "**fail**", "inconclusive", "pass", "plain threshold", "plain bootstrap", "plain t-test"],
                 *lines])


def written(table: list[Judged], results: Results, dense: float) -> str:
    """The whole page; ``dense`` is the mean of the run that the losses alone are taken from.

    Figures in sentences are taken from the measurement as well. The text is folded at the end, so lines here may break anywhere.
    """

    def at(rule: str, name: str, n: int, loss: float = 0.0) -> str:
        c = results[(name, loss), n]
        return f"{share(c[rule], c['trials'])} %".replace(" ", "\u00a0")

    def most(rule: str, names: Iterable[str]) -> str:
        """The highest share among the trials of equal systems, and where it was."""
        name, n = max(((name, n) for name in names for n in trials.SIZES),
                      key=lambda cell: results[(cell[0], 0.0), cell[1]][rule] / results[(cell[0], 0.0), cell[1]]["trials"])
        return f"{at(rule, name, n)} (*{name}*, n = {n})"

    symmetric = [name for name in trials.NULLS if name != "skewed"]
    total = sum(results.values(), Counter())
    small = [row for row in table if row.truth == "should_catch" and row.verdict != "fail"]
    unseen = Counter(row.verdict for row in table if row.truth == "bug_without_measurable_effect")
    wrong = [row for row in table if row.wrong]
    still = (1 - trials.LOSSES[0] / dense) ** 50
    ranked, scored = sum(row.ranked for row in table), sum(not row.ranked for row in table)
    nulls, losses = results[(trials.NULLS[0], 0.0), 50]["trials"], results[(trials.KINDS[0], trials.LOSSES[0]), 50]["trials"]
    clear = sum(row.truth in ("must_catch", "must_pass", "improvement") for row in table)
    below = sum(row.delta > -trials.POLICY.tolerance for row in small)
    swaps = "; ".join(f"*{name}*: {about}, `{collection}`" for name, (about, collection, *_) in trials.PAIRS.items())
    return folded(f"""# How good the decisions are

Written by `python benchmarks/decisions.py`; every figure here was measured by it, on the public collections `squad2-dev`,
`xquad-en` and
`anthropic-docs`. The rule is the default one: nDCG@10, tolerance 0.02, 95 % interval, no floors. **Fail** is a credible drop
(interval below
0) of at least the tolerance; **pass** is a lower bound above minus the tolerance; everything else is **inconclusive**, which does not
block under `inconclusive: warn`.

## Real changes and real bugs

{len(table)} runs of real retrievers, each compared with the base of its family; the class comes from the measured effect, not from
ours.
{ranked} were compared as `retrieval-gate compare` does it; of {scored} only the scores of the queries are stored, and they got the
drop rule
on those. The last two columns are plain rules, for comparison: a mean that fell by 0.02, an interval below 0.

{acceptance(table)}

Disagreements, that is `must_catch` that did not fail and `must_pass` or `improvement` that did: {len(wrong) or "none"}.
{chr(10) + listed(wrong) + chr(10) if wrong else ""}
`should_catch` that did not fail ({len(small)}; in {below} of them the mean fell by less
than the tolerance):

{listed(small)}

## Two systems that are equal

{nulls:,} trials a row, in percent; ± is the 95 % Monte Carlo error; where nothing or everything was seen, + or −
3 / trials (the rule of three). *changed* is how many queries differ between the two in the mean. Every query is drawn, with
replacement, from a real collection.

- *few*, *many*, *very many*: two real runs, swapped for a random half of the queries ({swaps}).
- *repeated*: no swap. The dense run of `squad2-dev` measured {trials.REPLICATES} times with noise of {trials.JITTER} on every
similarity; each
  query of each side is one of these measurements.
- *skewed*: no swap. Real moves between dense and hybrid, small losses and large gains only, drawn so that they cancel in the mean.

The plain rules: the mean fell by 0.02; upper end of the percentile bootstrap below 0; one-sided paired t-test at 2.5 %.

{null_table(results)}

## True losses

{losses:,} trials a row, in percent. A random part of the queries finds no relevant document in the top 10 any more, so many that
nDCG@10
falls by the stated points in the mean. *alone*: nothing else changes. *amid*: at the same time dense and hybrid are swapped for
half of the
queries, so that many rankings change for no better or worse.

{loss_table(results)}

## What this says, and where the rule is weak

**Real runs.** {len(wrong) or "No"} disagreement{"s" if len(wrong) > 1 else ""} in {clear} runs whose class leaves no choice. Drops
smaller than the tolerance do not fail however certain they are: that is what a
tolerance is for, and a team that minds them has to set a smaller one. Of the {unseen.total()} bugs that these golden sets cannot see
{unseen["fail"]} failed, {unseen["inconclusive"]} were inconclusive and {unseen["pass"]} passed: a pass says nothing about what no
query asks for.

**False alarms.** With symmetric noise the most that failed was {most("fail", symmetric)}, with any {most("fail", trials.NULLS)}; α, what a
95 % interval allows, is 5 %. A fail is on one side of it, which has 2.5 %, and the
percentile bootstrap keeps that only roughly for 50 queries: it takes the spread of the sample for the spread of the truth, as if it
were known. The tolerance takes false alarms away where noise seldom reaches it (*few*, *repeated*,
from n = 150), and next to nothing where it often does (*many*, *very many*): there nearly every credible drop is larger than 0.02.
Where few queries changed the product leaves the bootstrap:
{at("fail", "few", 50)} against {at("bootstrap", "few", 50)} (*few*) and {at("fail", "repeated", 50)} against
{at("bootstrap", "repeated", 50)}
(*repeated*), n = 50. The most that the plain threshold raised was {most("threshold", trials.NULLS)}.

**Skewed noise** is the hard case for every rule that sees one sample: without its rare large gains it looks like a plain loss.
Ours failed in
{at("fail", "skewed", 50)} at n = 50 and {at("fail", "skewed", 300)} at 300, the t-test in {at("t-test", "skewed", 50)} and
{at("t-test", "skewed", 300)}. Read 2.5 % as what large sets come near to, not as a bound.

**Misses at 50 queries.** A loss of 5 points alone fails in {at("fail", "alone", 50, 0.05)} of the trials, where the t-test says
{at("t-test", "alone", 50, 0.05)}, the plain bootstrap {at("bootstrap", "alone", 50, 0.05)} and the threshold
{at("threshold", "alone", 50, 0.05)}; of 10 points in {at("fail", "alone", 50, 0.10)}, where they say
{at("t-test", "alone", 50, 0.10)},
{at("bootstrap", "alone", 50, 0.10)} and {at("threshold", "alone", 50, 0.10)}. That is the price of the careful bound for few changed
queries: of 50 queries, five that each lose a whole point do not fail, six do. Most of the rest is inconclusive, not passed.
Whoever has 50 queries and
wants losses stopped sets `inconclusive: fail`, a floor, or must-hit queries.

**Passes that should not be.** A loss of 2 points alone passes in {at("pass", "alone", 50, 0.02)} of the trials at n = 50. In
{100 * still:.0f} % no query of the 50 is among those that lost anything (reckoned, not counted), and without a changed query the
rule passes, though 50
unchanged queries do not rule out a loss of 0.02. At n = 150 it is {at("pass", "alone", 150, 0.02)}, at 300
{at("pass", "alone", 300, 0.02)};
for 5 points at n = 50 {at("pass", "alone", 50, 0.05)}.

**A loss of exactly the tolerance** can fail in about half of the trials at most, because the mean has to reach it:
{at("fail", "alone", 300, 0.02)} (*alone*) and {at("fail", "amid", 300, 0.02)} (*amid*) at n = 300. The plain t-test and bootstrap
have no tolerance and catch
more of *alone* ({at("t-test", "alone", 300, 0.02)} and {at("bootstrap", "alone", 300, 0.02)}). Amid other changes no rule but the
threshold
sees much, and the threshold cries as well about systems that are equal.

**How it was counted.** {total["trials"]:,} trials. The product's own functions decide every trial that is near a limit or in which
few queries
changed; where a normal approximation, corrected for skewness, leaves the limits {trials.MARGIN} standard errors away, its answer
is taken.
Of those, {total["audited"]:,} chosen at random were put to the product as well; {total["disagreed"] or "none"} differed. From
{trials.FEW} changed queries on
the plain bootstrap is the product's own interval (the limit of infinitely many resamples); below, it is drawn with 4,000. The
draws are from
three collections and with replacement: another collection has other noise, and other figures.
""")


def folded(text: str) -> str:
    """Every paragraph and list item in lines of 120; headings and tables as they are."""
    blocks = []
    for block in text.strip().split("\n\n"):
        if block.startswith(("|", "#")):
            blocks.append(block)
        elif block.strip():
            items = re.split(r"\n(?=- )", block)
            blocks.append("\n".join(fill(re.sub(r"[ \n]+", " ", item), 120, subsequent_indent="  " if item.startswith("- ") else "",
                                         break_long_words=False, break_on_hyphens=False) for item in items))
    return "\n\n".join(blocks) + "\n"
