"""``retrieval-gate demo``: the main job on a laptop, with the example repository and nothing else."""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from gate import __file__ as package_file
from gate import console, pipeline, references
from gate.baseline.making import input_metadata, make_record
from gate.baseline.record import Provenance
from gate.errors import InvalidInput
from gate.reports.files import write_reports
from gate.reports.text import render_text
from gate.runs import run_lines
from gate.settings import Settings, load_settings
from gate.world import World


def examples() -> Path:
    """The example repository beside the package."""
    folder = Path(package_file).resolve().parent.parent / "examples"
    if not (folder / "retrieval-gate.yml").is_file():
        raise InvalidInput("the example repository is not installed with this package", "run the demo from a checkout: make demo")
    return folder


def run_demo(out: Path, change: str = "tempting") -> int:
    """Evaluate the example before and after a change, print verdict and comment, write the reports. 0: the demo worked."""
    source = examples()
    changes = sorted(path.name for path in (source / "changes").iterdir() if path.is_dir())
    if change not in changes:
        raise InvalidInput(f"--change: {change!r} is not one of {', '.join(changes)}")
    with tempfile.TemporaryDirectory(prefix="retrieval-gate-demo-") as scratch:
        work = Path(scratch) / "wiki"
        shutil.copytree(source, work, ignore=shutil.ignore_patterns("__pycache__"))
        Path(scratch).chmod(0o755)  # the retriever may run as another user
        settings = load_settings(work / "retrieval-gate.yml")
        _say("main: asking every golden query …")
        before = _evaluated(settings)
        first = pipeline.assess(before.golden, before.run, None, settings.policy, splits=settings.splits)
        record = make_record(settings, before, first, Provenance("local"))
        _say(f"pull request «{change}»: the same queries, the same snapshot, the changed retriever …\n")
        shutil.copytree(work / "changes" / change, work, dirs_exist_ok=True)
        after = _evaluated(settings)
        around = pipeline.Circumstances(settings.gate, titles=after.titles, excerpts=after.excerpts,
                                        metadata=input_metadata(settings, after))
        report = pipeline.assess(after.golden, after.run, references.reference_of(record), settings.policy, around,
                                 splits=settings.splits)
        write_reports(report, out, run_lines(after.shown))
    console.show_report(lambda color, columns: render_text(report, color, columns))
    print()
    print((out / "comment.md").read_text(encoding="utf-8"))
    print(f"HTML report: {out / 'report.html'}")
    print(f"In a pull request this gate would end with exit code {report.exit_code} ({report.verdict}). "
          f"The demo itself worked, so it ends with 0.")
    return 0


def _evaluated(settings: Settings) -> pipeline.Evaluated:
    evaluated = pipeline.evaluate(settings, World(), everything=True)
    if evaluated.failure:
        raise evaluated.failure
    return evaluated


def _say(text: str) -> None:
    print(text, file=sys.stderr)
