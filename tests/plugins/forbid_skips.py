"""With GATE_FORBID_SKIPS=1 a skipped test is a failed one.

A skip is right on a laptop without an engine or a browser. In CI, which installs all of that, it would mean that
nobody looked, and the run would be green all the same.
"""

import os

import pytest

FORBIDDEN = os.environ.get("GATE_FORBID_SKIPS") == "1"


def _fail(report):
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
    report.outcome = "failed"
    report.longrepr = f"GATE_FORBID_SKIPS=1 allows no skips, but this was one: {reason}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if FORBIDDEN and report.skipped and not hasattr(report, "wasxfail"):
        _fail(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    report = yield
    if FORBIDDEN and report.skipped:
        _fail(report)
    return report
