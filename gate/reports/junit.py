"""JUnit XML: one test case a check, for the systems that collect those."""

from __future__ import annotations

from gate.policy import Check
from gate.reports.escape import clean, xml
from gate.reports.headline import headline
from gate.reports.problems import problems
from gate.reports.report import Report
from gate.reports.words import plain


def render_junit(report: Report) -> str:
    """``failure``: below the gate · ``error``: could not be evaluated · ``skipped``: inconclusive under warn."""
    from xml.etree import ElementTree as tree

    cases: list[tuple[str, str, str, str]] = []
    for check in report.checks:
        cases.append((check.name, *_outcome(report, check), check.sentence))
    if report.problems:
        text = "\n".join((*report.problems, *((f"What to do: {report.cure}",) if report.cure else ())))
        cases.append(("evaluation", "error", problems(report)[0].line, text))
    elif not report.checks:
        cases.append(("evaluation", "skipped" if report.exit_code == 0 else "error", plain(headline(report)), ""))
    suite = tree.Element("testsuite", name=xml(f"retrieval-gate {report.gate}"), tests=str(len(cases)))
    for kind, plural in (("failure", "failures"), ("error", "errors"), ("skipped", "skipped")):
        suite.set(plural, str(sum(case[1] == kind for case in cases)))
    suite.set("time", "0")
    seen: dict[str, int] = {}
    for name, kind, message, text in cases:
        name = clean(xml(name), 200)
        seen[name] = seen.get(name, 0) + 1
        # Two names may look alike once they are cleaned; readers drop or merge equal ones.
        unique = name if seen[name] == 1 else f"{name} ({seen[name]})"
        case = tree.SubElement(suite, "testcase", classname=xml(f"retrieval-gate.{report.gate}"), name=unique, time="0")
        if kind:
            tree.SubElement(case, kind, {"message": clean(xml(message), 1000)} | (
                {} if kind == "skipped" else {"type": kind})).text = xml(text)
    suites = tree.Element("testsuites")
    suites.append(suite)
    tree.indent(suites)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + tree.tostring(suites, encoding="unicode") + "\n"


def _outcome(report: Report, check: Check) -> tuple[str, str]:
    """Element and message of one check; no element for a check that passed or that an approval overruled."""
    if check.outcome == "fail":
        return ("", "") if report.verdict == "accepted" else ("failure", check.sentence)
    if check.outcome == "pass":
        return "", ""
    return ("failure" if report.verdict == "inconclusive" and report.exit_code else "skipped"), check.sentence
