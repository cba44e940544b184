"""The badge says what main finds, and claims nothing that nobody measured."""

import xml.etree.ElementTree as xml

import pytest

from gate.reports.badge import badge


@pytest.mark.parametrize(("value", "verdict", "message", "color"), [
    (0.8123, "pass", "0.812", "brightgreen"), (0.8123, "accepted", "0.812", "brightgreen"), (0.5, "no-baseline", "0.500", "brightgreen"),
    (0.5, "fail", "0.500 failing", "red"), (0.5, "inconclusive", "0.500 open", "yellow"), (None, "pass", "unknown", "lightgrey"),
    (0.5, "cannot-decide", "unknown", "lightgrey"), (0.5, "", "unknown", "lightgrey")])
def test_what_it_says(value, verdict, message, color):
    endpoint, picture = badge("ndcg@10", value, verdict)
    assert endpoint == {"schemaVersion": 1, "label": "nDCG@10", "message": message, "color": color}
    drawn = xml.fromstring(picture)
    assert [text.text for text in drawn.iter("{http://www.w3.org/2000/svg}text")] == ["nDCG@10", message]


def test_a_hostile_name_is_inert():
    picture = badge("<script>x</script>\u202e", 0.5, "pass")[1]
    assert "<script" not in picture and "\u202e" not in picture and xml.fromstring(picture) is not None
