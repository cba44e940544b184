"""What a run is compared with: a record, a run file, or the latest run on main."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gate.baseline.kind import is_record
from gate.errors import InvalidInput
from gate.golden.model import GoldenSet
from gate.reports.report import BaselineInfo
from gate.runs import Run, read_run
from gate.scoring.beside import Beside

if TYPE_CHECKING:
    from gate.baseline.record import Record
    from gate.scoring.metrics import Metric


@dataclass(frozen=True)
class Reference:
    """What the candidate is compared with: the run, the labels it was scored under (None for a plain run file), its story.

    ``plain``: a run file, of which nobody says how deep it was fetched.
    """

    run: Run
    labels: Mapping[str, str] | None = None
    info: BaselineInfo | None = None
    record: Record | None = None
    plain: bool = False


# Of a folder of reports, of a downloaded artifact of a baseline, and of a branch that keeps baselines.
_IN_FOLDERS = ("run.jsonl.gz", "record.json.gz", "baseline.json.gz")


def stored(path: Path) -> Path:
    """The file; of a folder the one in it that holds rankings."""
    if not path.is_dir():
        return path
    found = [path / name for name in _IN_FOLDERS if (path / name).is_file()]
    if not found:
        raise InvalidInput(f"{path}: is a folder without {' or '.join(_IN_FOLDERS)}", "name a run file, a record, a folder of reports "
                           "(--out, or the artifact retrieval-gate-report-…), or a downloaded artifact of a baseline")
    return found[0]


def load_reference(path: Path) -> Reference:
    """A run file or a record, told apart by content, or a folder with one."""
    path = stored(path)
    if is_record(path):
        from gate.baseline.record import read_record

        return reference_of(read_record(path))
    return Reference(read_run(path), plain=True)


def load_scored(paths: Sequence[Path], golden: GoldenSet, metrics: Sequence[Metric], unit: str, overlap: float,
                beside: Beside | None = None) -> list[Reference]:
    """The same for stored runs that will be scored by just these rules: run files are scored while they are read, side by side, and
    their rankings stay in them. Faults of all of them are listed together."""
    from gate.runfiles import read_files
    from gate.scoring.sheet import Sheet

    paths = [stored(path) for path in paths]
    records = [is_record(path) for path in paths]
    files = [path for path, record in zip(paths, records, strict=True) if not record]
    runs = iter(read_files(files, [Sheet(golden, metrics, unit, overlap, beside) for _ in files]))
    return [load_reference(path) if record else Reference(next(runs), plain=True) for path, record in zip(paths, records, strict=True)]


def reference_of(record: Record, info: BaselineInfo | None = None) -> Reference:
    """A record as the thing to compare with."""
    return Reference(record.run, dict(record.labels), info or baseline_info(record), record)


def baseline_info(record: Record, **more: Any) -> BaselineInfo:
    """What a report says about a record."""
    return replace(BaselineInfo(record.digest, record.commit, record.created, record.provenance.sentence()), **more)
