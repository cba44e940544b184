"""Colour says nothing that is not there without it."""

import re

import pytest

from gate.reports.paint import painted
from gate.reports.text import render_text
from gate.terminal import color_wanted
from tests.reports import build


@pytest.mark.parametrize(("environ", "terminal", "colour"), [
    ({}, True, True), ({}, False, False), ({"NO_COLOR": "1"}, True, False), ({"NO_COLOR": "1", "FORCE_COLOR": "1"}, True, False),
    ({"FORCE_COLOR": "1"}, False, True), ({"FORCE_COLOR": "0"}, False, False), ({"TERM": "dumb"}, True, False),
    ({"NO_COLOR": ""}, True, True)])
def test_who_wants_colour(environ, terminal, colour):
    assert color_wanted(environ, terminal) is colour


@pytest.mark.parametrize("name", build.EVERY)
def test_with_colour_every_report_has_the_same_characters(name):
    report = build.EVERY[name]()
    assert re.sub(r"\x1b\[[0-9;]*m", "", render_text(report, color=True)) == render_text(report)


@pytest.mark.parametrize(("line", "code", "what"), [
    ("  FAIL  drop: fell", "1;31", "FAIL"), ("  ok    must-hit: all", "32", "ok"), ("  open  drop: who knows", "33", "open"),
    ("Checks", "1", "Checks"), ("  nDCG@10  0.804  0.796  −0.008  −0.058 to +0.039", "31", "−0.008"),
    ("  hit@5    0.804  0.906  +0.102  −0.058 to +0.239", "32", "+0.102"), ("  q014   1 -> not found  ERR-1402", "36", "q014"),
    ("  note: see the log", "33", "  note:")])
def test_what_is_painted(line, code, what):
    assert f"\x1b[{code}m{what}\x1b[0m" in painted(line)


def test_no_change_and_the_ends_of_an_interval_stay_as_they_are():
    assert painted("  precision@5  0.204  0.204  0.000  −0.013 to +0.013") == "  precision@5  0.204  0.204  0.000  −0.013 to +0.013"
