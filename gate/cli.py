"""The command line. Parsing only; each command's work is in :mod:`gate.commands`, imported when it is asked for, so that
``--help`` costs no more than Python itself."""

from __future__ import annotations

import argparse
import atexit
import gc
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from gate import __version__


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code (README, «Exit codes»). Without ``argv`` it is the whole process."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a terminal that cannot show a minus sign must not cost the verdict
    parser = build_parser()
    options = parser.parse_args(argv)
    if not getattr(options, "command", None):
        parser.print_help()
        return 2
    if argv is None and options.command in ("compare", "evaluate"):
        # Nothing here makes cycles worth a search, and the searches at exit go through all of numpy: an eighth of a short run.
        gc.disable()
        atexit.register(gc.freeze)
    return _guarded(options)


def _guarded(options: argparse.Namespace) -> int:
    """Run the command. Exit code 1 means a regression and nothing else, so whatever breaks must end with another."""
    from gate import commands, console
    from gate.errors import GateError

    try:
        return int(getattr(commands, options.command)(options))
    except GateError as error:
        console.tell(f"retrieval-gate: {error.verdict}\n{error.text()}")
        return error.exit_code
    except BrokenPipeError:
        # Whoever read our output has gone (`… | head`); Python would complain once more while closing stdout.
        sys.stdout = None
        return 3
    except KeyboardInterrupt:
        print("retrieval-gate: interrupted", file=sys.stderr)
        return 130
    except OSError as error:
        console.tell(f"retrieval-gate: invalid\n{error.filename or 'a file'}: {error.strerror or error}")
        return 2
    except Exception as error:
        import traceback

        console.tell(f"{traceback.format_exc()}retrieval-gate: cannot-decide\nthe gate itself broke ({type(error).__name__}); this is no "
                     "judgement. Please report it with the lines above.")
        return 3


def build_parser() -> argparse.ArgumentParser:
    """All commands and options."""
    parser = argparse.ArgumentParser(prog="retrieval-gate", description="Stops a code change from quietly making search worse.",
                                     formatter_class=_Help)
    parser.add_argument("--version", action="version", version=f"retrieval-gate {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")

    demo = _command(commands, "demo", "see a regression caught, on an example repository")
    demo.add_argument("--out", type=Path, metavar="DIR", default=Path("retrieval-gate-demo"), help="where reports are written")
    demo.add_argument("--change", default="tempting", help="which change of the example to gate (default: tempting)")

    run = _command(commands, "run", "run the configured retriever, and compare with a baseline")
    run.add_argument("--config", type=Path, metavar="FILE", default=Path("retrieval-gate.yml"))
    _tier(run)
    run.add_argument("--baseline", type=Path, metavar="RECORD", help="record or run file to compare with")
    _latest(run)
    run.add_argument("--record", type=Path, metavar="FILE",
                     help="also write this run as a record, for a later --baseline; asks the queries of all splits")
    run.add_argument("--resume", action="store_true", help="do not ask again what an interrupted run with the same --out had answered")
    _output(run)

    compare = _command(commands, "compare", "compare two runs")
    _golden(compare)
    compare.add_argument("--baseline", type=Path, required=True, metavar="RUN|RECORD")
    compare.add_argument("--candidate", type=Path, required=True, metavar="RUN|RECORD")
    _latest(compare)
    compare.add_argument("--config", type=Path, metavar="FILE", help="take policy and splits from this configuration")
    _tier(compare)
    _output(compare)

    history = _command(commands, "history", "metrics and tags of the records of main over time")
    _records(history)
    history.add_argument("--golden", type=Path, metavar="FILE", help="score all records anew under these labels; shows tags as well")
    history.add_argument("--metrics", metavar="LIST", help="with --golden: comma-separated, the first one by tag")
    history.add_argument("--format", choices=("text", "json", "html"), default="text")

    explain = _command(commands, "explain", "why one query moved between two runs")
    explain.add_argument("query", metavar="QUERY_ID")
    _golden(explain)
    explain.add_argument("--baseline", type=Path, required=True, metavar="RUN|RECORD")
    explain.add_argument("--candidate", type=Path, required=True, metavar="RUN|RECORD")
    explain.add_argument("--snapshot", type=Path, metavar="DIR", help="the frozen index: titles, chunk boundaries, words, vectors")
    explain.add_argument("-k", type=int, default=10, metavar="N", help="the top that counts (default: 10)")
    explain.add_argument("--format", choices=("text", "json"), default="text")

    evaluate = _command(commands, "evaluate", "score one run")
    _golden(evaluate)
    evaluate.add_argument("--run", type=Path, required=True, metavar="RUN|RECORD")
    evaluate.add_argument("--metrics", metavar="LIST", help="comma-separated, for instance ndcg@10,recall@5,rr")
    evaluate.add_argument("--unit", choices=("doc", "chunk"), default="doc", help="what a cutoff counts")
    evaluate.add_argument("--format", choices=("text", "json"), default="text")

    golden = _group(commands, "golden", "look after golden sets")
    plan = _command(golden, "plan", "say what a golden set can resolve, and how many queries it would take", "golden_plan")
    plan.add_argument("golden", type=Path, metavar="GOLDEN", help="golden.jsonl")
    plan.add_argument("--baseline", type=Path, metavar="RUN|RECORD", help="with --candidate: two runs of a typical change")
    plan.add_argument("--candidate", type=Path, metavar="RUN|RECORD")
    plan.add_argument("--repeats", type=Path, nargs="+", metavar="RUN|RECORD",
                      help="two or more runs of the same code: the noise floor, and a tolerance above it")
    plan.add_argument("--snapshot", type=Path, metavar="DIR", help="also say at how many of its documents a query points")
    plan.add_argument("--metric", default="ndcg@10", help="the metric that decides (default: ndcg@10)")
    plan.add_argument("--tolerance", type=float, default=0.02, help="the drop that matters (default: 0.02)")
    plan.add_argument("--format", choices=("text", "json"), default="text")

    snapshot = _group(commands, "snapshot", "build, verify and show frozen indexes")
    build = _command(snapshot, "build", "build a snapshot", "snapshot_build")
    build.add_argument("--kind", choices=("bm25", "dense"), required=True)
    build.add_argument("--corpus", type=Path, required=True, metavar="FILE|DIR", help="corpus.jsonl, or a folder of .md and .txt files")
    build.add_argument("--out", type=Path, required=True, metavar="DIR")
    build.add_argument("--ids", choices=("stem", "path"), default="stem",
                       help="a file's id is its name (stem) or its path in the folder (path), without the ending")
    build.add_argument("--vectors", type=Path, metavar="NPY", help="dense: one row a document, in corpus order")
    build.add_argument("--query-vectors", type=Path, metavar="NPY", help="dense: one row a query")
    build.add_argument("--queries", type=Path, metavar="JSONL", help="dense: ids of the query vectors, in row order")
    build.add_argument("--model", default="", metavar="NAME", help="dense: the embedding model")
    build.add_argument("--revision", default="", metavar="REV", help="dense: the model's revision")
    build.add_argument("--replace", action="store_true", help="an older snapshot at --out may go")
    verify = _command(snapshot, "verify", "check every file against the manifest", "snapshot_verify")
    verify.add_argument("directory", type=Path, metavar="DIR")
    verify.add_argument("--digest", help="the digest it must have")
    _command(snapshot, "show", "print what a snapshot is", "snapshot_show").add_argument("directory", type=Path, metavar="DIR")

    baseline = _group(commands, "baseline", "look at baseline records")
    show = _command(baseline, "show", "print a record, or the chain of several: what, when, who and why", "baseline_show")
    _records(show)
    check = _command(baseline, "verify", "check that a record is whole", "baseline_verify")
    check.add_argument("record", type=Path, metavar="RECORD")
    return parser


class _Help(argparse.HelpFormatter):
    """The usual layout. argparse makes a formatter for every option it is told of, and looks for the terminal each time; once is enough."""

    def __init__(self, prog: str, **layout: int) -> None:
        super().__init__(prog, width=_columns() - 2, **layout)


@lru_cache(maxsize=1)
def _columns() -> int:
    """As shutil.get_terminal_size has them, which costs more to import than all of the parser."""
    with suppress(ValueError):
        if (columns := int(os.environ.get("COLUMNS", 0))) > 0:
            return columns
    with suppress(ValueError, OSError, AttributeError):  # no terminal, or no output at all
        return os.get_terminal_size(sys.__stdout__.fileno()).columns or 80  # type: ignore[union-attr]
    return 80


def _command(group: argparse._SubParsersAction, name: str, text: str, function: str = "") -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = group.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".",
                                                      formatter_class=_Help)
    parser.set_defaults(command=function or name)
    return parser


def _group(commands: argparse._SubParsersAction, name: str, text: str) -> argparse._SubParsersAction:
    parser: argparse.ArgumentParser = commands.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".",
                                                         formatter_class=_Help)
    return parser.add_subparsers(title="commands", metavar="COMMAND", required=True)


def _golden(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--golden", type=Path, required=True, metavar="FILE", help="golden.jsonl")


def _records(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("records", type=Path, nargs="*", metavar="RECORD", help="record files, or folders of them")
    parser.add_argument("--repository", metavar="OWNER/NAME",
                        help="read the history of its baseline branch instead (GITHUB_TOKEN, GITHUB_API_URL)")
    parser.add_argument("--branch", default="retrieval-gate-baselines", help="the branch (default: retrieval-gate-baselines)")
    parser.add_argument("--gate", default="default", help="id of the gate (default: default)")


def _latest(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--latest", type=Path, metavar="RUN|RECORD", help="what main retrieves now: a second reference beside the baseline")


def _tier(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--tier", choices=("pr", "nightly", "release"), help="tier of the configuration (default: pr)")


def _output(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--out", type=Path, metavar="DIR", help="write report.json, comment.md, report.html, junit.xml, run.jsonl.gz")
    parser.add_argument("--format", choices=("text", "markdown", "json"), default="text", help="what is printed")


if __name__ == "__main__":
    sys.exit(main())
