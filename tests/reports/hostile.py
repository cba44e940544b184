"""A report in which everything that others wrote is hostile."""

from __future__ import annotations

from dataclasses import replace

from gate.baseline.approval import Condition, Eligibility
from gate.history import Point, leading_to
from gate.latest import Latest
from gate.policy import Policy, Protected
from gate.reports.report import BaselineInfo, InputChange, Report
from tests.reports import build
from tests.reports.rendered import HOSTILE


def report(texts=HOSTILE, **more) -> Report:
    """Every text is a query, an id, a tag, a document, a title, a note, a problem, a reason, a setting."""
    notes = tuple(texts)
    # A golden set with text that is not Unicode cannot be digested; it can still come from titles, errors and reviews.
    texts = [text.replace("\ud800", "") if text.strip() else f"blank{n}" for n, text in enumerate(texts)]
    lines = [build.q(f"{text} {n}", 1, None, text, [text, "plain"], doc=f"{text} doc") for n, text in enumerate(texts)]
    lines += [build.q(f"{text} up {n}", None, 2, text, [text]) for n, text in enumerate(texts[:9])]
    titles = {f"new-{line.id}-1": f"{line.text} \ud800" for line in lines}
    approval = Eligibility(False, tuple(Condition("x", n % 2 == 0, t, t) for n, t in enumerate(texts)), 1,
                           texts[0], texts[0], True, texts[0], texts[0])
    policy = Policy(protected=tuple(Protected(t, 0.1) for t in texts[:3]), must_hit=(lines[0].id, lines[1].id))
    made = build.make(lines, policy, titles=titles, changes=[InputChange(t, t, t, False) for t in texts], approval=approval,
                      unanswerable=[f"u {t} {n}" for n, t in enumerate(texts)],
                      old_labels={f"gone {t}": "0" * 12 for t in texts} | {line.id: "0" * 12 for line in lines})
    keys = ("head_sha", "run_id", "run_attempt", "run_url", "golden_version", "snapshot_digest", "policy_digest", "retriever")
    metadata = build.METADATA | {key: texts[n % len(texts)] for n, key in enumerate(keys)}
    if made.comparison is not None:
        made = replace(made, latest=Latest(made.comparison, BaselineInfo(*texts[11:16]), 0.0, 0.0, 1, made.comparison.lost))
    past = [Point(*texts[n:n + 2], n < 3, texts[n + 2], texts[n + 3], dict.fromkeys(map(str, made.policy.all_metrics), n / 9),
                  dict.fromkeys(texts, n / 9), texts[n], texts[n], str(made.policy.primary), ("dev",), texts[n + 4], texts[n])
            for n in range(5)]
    return replace(made, notes=notes, warnings=notes[:5], metadata=metadata, baseline_info=BaselineInfo(*texts[5:10], 3.0, 2.0),
                   **({"history": leading_to(past, made)} | more))


def beside(texts=HOSTILE) -> list[Report]:
    """Reports of two stages in which an outdated document and an unjudged one have hostile names."""
    named = [text.replace("\ud800", "") for text in texts if text.strip()]
    return [build.two_stages((text, f"{text} too")) for text in named[::7]]


def stopped(texts=HOSTILE) -> Report:
    """The same for a run that came to no judgement."""
    return replace(build.stopped("invalid", 2, list(texts), texts[3]), notes=tuple(texts), warnings=tuple(texts)[:5])
