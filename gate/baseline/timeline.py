"""``history.json``: what each run on the default branch has found, handed on from run to run beside the baseline. The one module that
writes and reads it.

It is there to be drawn. Nothing is decided by it, so that whatever is wrong with it costs a note and never a verdict.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from gate import jsonio
from gate.baseline.record import Record
from gate.errors import InvalidInput
from gate.history import DECIMALS, Point, baseline_point

HISTORY_FILE = "history.json"
SCHEMA = 1
# What is read; what is written stays well below.
MAX_BYTES = 1024**2
MOST_BYTES = 512 * 1024
MOST_POINTS = 200
# Of baselines that are older than those points.
MOST_BASELINES = 100
MOST_METRICS, MOST_TAGS = 24, 40
_NAME, _TEXT, _SPLITS = 100, 400, 8
_READ_POINTS = 4 * (MOST_POINTS + MOST_BASELINES)
_TEXTS = ("created", "commit", "why", "digest", "snapshot", "golden", "primary", "verdict", "run")


def with_point(points: Iterable[Point], point: Point) -> tuple[Point, ...]:
    """The points with one more at the end, and no more than are kept. Of one run there is one point, however often it is
    started again; and a run that finds at a commit just what another has found there before, as every night does, adds nothing."""
    new = _kept(point)
    others = [other for other in points if other.digest != new.digest and (not new.run or other.run != new.run)]
    same = next((other for other in others if _says(other) == _says(new)), None)
    if same is not None and not new.baseline:
        return _cut([other._replace(verdict=new.verdict) if other is same else other for other in others])
    if same is not None and not same.baseline:
        others.remove(same)
    return _cut([*others, new])


def with_baseline(points: Sequence[Point], record: Record, digest: str) -> tuple[Point, ...]:
    """The points, and the baseline in force among them: two runs at once may each have missed the other's."""
    if any(point.digest == digest for point in points):
        return tuple(points)
    place = next((row for row, point in enumerate(points) if point.created > record.created), len(points))
    return (*points[:place], _kept(baseline_point(record, digest)), *points[place:])


def merged(stored: Sequence[Point], points: Iterable[Point]) -> tuple[Point, ...]:
    """What another run has stored meanwhile, and behind it what of ``points`` it does not have."""
    known = {point.digest for point in stored}
    return (*stored, *(point for point in points if point.digest not in known))


def tells_more(points: Iterable[Point], stored: Sequence[Point], commit: str) -> bool:
    """Whether ``points`` hold something of a commit that is not stored, as when a night judges other splits than the push before it."""
    known = [_says(point) for point in stored if point.commit == commit]
    return any(_says(point) not in known for point in points if point.commit == commit)


def _says(point: Point) -> tuple[object, ...]:
    return (point.commit, dict(point.metrics), dict(point.tags), point.primary, point.splits, point.snapshot, point.golden)


def _kept(point: Point) -> Point:
    """As it will be read again: names and reasons of a bearable length, as many metrics and tags as are kept."""

    def means(given: Mapping[str, float], most: int) -> dict[str, float]:
        rounded = {name: round(float(mean), DECIMALS) for name, mean in given.items() if len(name) <= _NAME and jsonio.finite(mean)}
        return {name: rounded[name] for name in [name for name in rounded if _share(rounded[name])][:most]}

    texts = {name: getattr(point, name)[:_TEXT] for name in _TEXTS}
    return point._replace(**texts | {"created": texts["created"] if _time(texts["created"]) else ""},
                          metrics=means(point.metrics, MOST_METRICS), tags=means(point.tags, MOST_TAGS), splits=point.splits[:_SPLITS],
                          here=False)


def _cut(points: Sequence[Point]) -> tuple[Point, ...]:
    older = [point for point in points[:-MOST_POINTS] if point.baseline]
    return (*older[-MOST_BASELINES:], *points[-MOST_POINTS:])


# -- bytes -------------------------------------------------------------------------------------------------------------


def history_bytes(points: Iterable[Point], gate: str) -> bytes:
    """The file: a line a point, so that git stores only what is new. Of too many bytes the oldest go, baselines last."""
    kept = [(point, jsonio.dumps(_plain(point)).encode()) for point in _cut([_kept(point) for point in points])]
    spare = sum(len(line) + 2 for _, line in kept) - MOST_BYTES
    for baseline in (False, True):
        for item in [item for item in kept[:-1] if item[0].baseline is baseline] if spare > 0 else ():
            if spare > 0:
                kept.remove(item)
                spare -= len(item[1]) + 2
    head = f'{{"gate":{jsonio.dumps(gate)},"schema":{SCHEMA},"points":[\n'
    return head.encode() + b",\n".join(line for _, line in kept) + b"\n]}\n"


def _plain(point: Point) -> dict[str, Any]:
    """What says nothing is left out."""
    found = {key: value for key, value in point._asdict().items() if key != "here" and value not in ("", (), False)}
    return found | {"metrics": dict(point.metrics), "tags": dict(point.tags), **({"splits": list(point.splits)} if point.splits else {})}


def read_history(fetch: Callable[[], bytes | None], gate: str) -> tuple[Point, ...] | None:
    """The points of a file that ``fetch`` gives; None where there is none, as an older version of the gate left it. Raises
    :class:`InvalidInput` for everything that is not what we write. Keys that we do not know come from a later version with the same
    schema; they change nothing for us."""
    data = fetch()
    if data is None:
        return None
    if len(data) > MAX_BYTES:
        raise InvalidInput(f"{HISTORY_FILE}: {len(data)} bytes are more than the gate reads ({MAX_BYTES})")
    try:
        value = jsonio.loads(data.decode())
    except (UnicodeDecodeError, jsonio.NotJson) as fault:
        raise InvalidInput(f"{HISTORY_FILE}: is not JSON ({fault})") from None
    if not isinstance(value, dict) or type(value.get("schema")) is not int:
        raise InvalidInput(f"{HISTORY_FILE}: has no schema number")
    if value["schema"] != SCHEMA:
        raise InvalidInput(f"{HISTORY_FILE}: its schema is {value['schema']}, this gate knows {SCHEMA}")
    lines = value.get("points")
    if value.get("gate") != gate or not isinstance(lines, list) or len(lines) > _READ_POINTS:
        raise InvalidInput(f"{HISTORY_FILE}: is not the history of the gate {gate}")
    return tuple(_read(line, number) for number, line in enumerate(lines, 1))


def _read(value: Any, number: int) -> Point:
    wrong = _faults(value) if isinstance(value, dict) else ["object"]
    if wrong:
        raise InvalidInput(f"{HISTORY_FILE}: point {number} has no usable {', '.join(wrong)}")
    return Point(**{name: value.get(name, "") for name in _TEXTS}, baseline=value.get("baseline", False),
                 metrics={name: round(float(mean), DECIMALS) for name, mean in value["metrics"].items()},
                 tags={name: round(float(mean), DECIMALS) for name, mean in value["tags"].items()}, splits=tuple(value.get("splits", ())))


def _faults(value: dict[str, Any]) -> list[str]:
    wrong = [name for name in _TEXTS if not _short(value.get(name, ""), _TEXT)]
    if "created" not in wrong and not _time(value.get("created", "")):
        wrong.append("created")
    if type(value.get("baseline", False)) is not bool:
        wrong.append("baseline")
    splits = value.get("splits", [])
    if not isinstance(splits, list) or len(splits) > _SPLITS or not all(_short(name, _NAME) for name in splits):
        wrong.append("splits")
    for name, most in (("metrics", MOST_METRICS), ("tags", MOST_TAGS)):
        means = value.get(name)
        if not isinstance(means, dict) or len(means) > most or not all(_short(key, _NAME) and _share(mean) for key, mean in means.items()):
            wrong.append(name)
    return wrong


def _share(mean: Any) -> bool:
    """Every metric is one."""
    return jsonio.finite(mean) and 0 <= mean <= 1


def _time(text: str) -> bool:
    """ISO 8601, or "" where it is not known."""
    try:
        return not text or bool(datetime.fromisoformat(text))
    except ValueError:
        return False


def _short(text: Any, most: int) -> bool:
    return isinstance(text, str) and len(text) <= most
