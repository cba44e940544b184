"""The command line. Parsing only; each command's work is in :mod:`gate.commands`, :mod:`gate.looking` or
:mod:`gate.snapshot.commands`, imported when it is asked for, so that ``--help`` costs no more than Python itself."""

from __future__ import annotations

import argparse
import atexit
import gc
import os
import sys
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from gate import __version__
from gate.terminal import columns

_HOMES = dict.fromkeys(("evaluate", "history", "explain", "golden_plan"), "gate.looking")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code (README, «Exit codes»). Without ``argv`` it is the whole process."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors=_lenient(stream.encoding))  # a terminal that cannot show a sign must not cost the verdict
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


def _lenient(encoding: str) -> str:
    """The way of a stream with what it cannot write: a minus becomes a hyphen, not a question mark that hides a loss."""
    if encoding.lower().replace("-", "") in ("utf8", "utf16", "utf32"):
        return "replace"
    import codecs

    from gate.reports.cells import PLAIN

    def plainly(fault: UnicodeError) -> tuple[str, int]:
        assert isinstance(fault, UnicodeEncodeError)
        return "".join(PLAIN.get(char, "?") for char in fault.object[fault.start:fault.end]), fault.end

    codecs.register_error("gate-plainly", plainly)
    return "gate-plainly"


def _guarded(options: argparse.Namespace) -> int:
    """Run the command. Exit code 1 means a regression and nothing else, so whatever breaks must end with another."""
    from importlib import import_module

    from gate import console
    from gate.errors import GateError

    home = _HOMES.get(options.command) or ("gate.snapshot.commands" if options.command.startswith("snapshot_") else "gate.commands")
    try:
        return int(getattr(import_module(home), options.command)(options))
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
    _history(run)
    run.add_argument("--resume", action="store_true", help="do not ask again what an interrupted run with the same --out had answered")
    _output(run)

    compare = _command(commands, "compare", "compare two runs")
    _golden(compare)
    compare.add_argument("--baseline", type=Path, required=True, metavar="RUN|RECORD")
    compare.add_argument("--candidate", type=Path, required=True, metavar="RUN|RECORD")
    _latest(compare)
    compare.add_argument("--config", type=Path, metavar="FILE", help="take policy and splits from this configuration")
    _history(compare)
    _tier(compare)
    _output(compare)

    history = _command(commands, "history", "metrics and tags of the records of main over time")
    _records(history)
    history.add_argument("--golden", type=Path, metavar="FILE", help="score all records anew under these labels; shows tags as well")
    history.add_argument("--metrics", metavar="LIST", help="with --golden: comma-separated, the first one by tag")
    history.add_argument("--format", choices=("text", "json", "html"), default="text")

    explain = _command(commands, "explain", "why one query moved between two runs")
    explain.add_argument("query", metavar="QUERY_ID")
    explain.add_argument("--config", type=Path, metavar="FILE", help="take golden set, snapshot and rules from this configuration")
    _tier(explain)
    explain.add_argument("--golden", type=Path, metavar="FILE", help="golden.jsonl (default: the configuration's)")
    explain.add_argument("--baseline", type=Path, required=True, metavar="RUN|RECORD|DIR",
                         help="DIR: a folder of reports, or a downloaded artifact")
    explain.add_argument("--candidate", type=Path, required=True, metavar="RUN|RECORD|DIR")
    explain.add_argument("--snapshot", type=Path, metavar="DIR",
                         help="the frozen index: titles, chunk boundaries, words, vectors (default: the configuration's)")
    explain.add_argument("-k", type=int, metavar="N", help="the top that counts (default: the primary metric's cutoff, or 10)")
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

    snapshot = _group(commands, "snapshot", "cut corpora; build, fetch, verify and show frozen indexes")
    _build(_command(snapshot, "build", "build a snapshot", "snapshot_build"))
    cut = _command(snapshot, "cut", "write the units of a corpus in its order, as whoever embeds them needs them", "snapshot_cut")
    cut.add_argument("--out", type=Path, required=True, metavar="FILE", help="a JSON line a unit")
    _corpus(cut)
    verify = _command(snapshot, "verify", "check every file against the manifest", "snapshot_verify")
    verify.add_argument("directory", type=Path, metavar="DIR")
    verify.add_argument("--digest", help="the digest it must have")
    verify.add_argument("--corpus", type=Path, metavar="FILE|DIR", help="also check that it was built from this corpus")
    fetch = _command(snapshot, "fetch", "fetch and verify the snapshot of a configuration, and print its folder", "snapshot_fetch")
    fetch.add_argument("--config", type=Path, metavar="FILE", default=Path("retrieval-gate.yml"))
    _command(snapshot, "show", "print what a snapshot is", "snapshot_show").add_argument("directory", type=Path, metavar="DIR")

    baseline = _group(commands, "baseline", "look at baseline records")
    show = _command(baseline, "show", "print a record, or the chain of several: what, when, who and why", "baseline_show")
    _records(show)
    check = _command(baseline, "verify", "check that a record is whole", "baseline_verify")
    check.add_argument("record", type=Path, metavar="RECORD")
    return parser


def _corpus(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--corpus", type=Path, required=True, metavar="FILE|DIR", help="corpus.jsonl, or a folder of .md and .txt files")
    parser.add_argument("--ids", choices=("stem", "path"), default="stem",
                        help="a file's id is its name (stem) or its path in the folder (path), without the ending")
    cut = parser.add_argument_group("how documents are cut")
    cut.add_argument("--chunker", choices=("none", "heading", "fixed"), help="default: heading for a folder, none for lines")
    cut.add_argument("--level", type=int, metavar="N", help="heading: sections begin at headings of level 1 to N (default: 2)")
    cut.add_argument("--doc", choices=("section", "document"), help="heading: what a result is called (default: section)")
    cut.add_argument("--max-size", type=int, metavar="N", help="heading: cut a longer section into windows")
    cut.add_argument("--size", type=int, metavar="N", help="fixed: length of a window")
    cut.add_argument("--overlap", type=int, metavar="N", help="what a window shares with the next (default: 0)")
    cut.add_argument("--by", choices=("words", "chars"), help="what is counted (default: words)")


def _build(build: argparse.ArgumentParser) -> None:
    build.add_argument("--kind", choices=("bm25", "dense", "hybrid", "files"), required=True)
    build.add_argument("--out", type=Path, required=True, metavar="DIR")
    build.add_argument("--replace", action="store_true", help="an older snapshot at --out may go")
    build.add_argument("--without-text", action="store_true", help="dense: keep titles and texts out; ids, offsets and vectors only")
    _corpus(build)
    lexical = build.add_argument_group("bm25")
    lexical.add_argument("--k1", type=float, metavar="X", help="default: 1.5")
    lexical.add_argument("--b", type=float, metavar="X", help="default: 0.75")
    lexical.add_argument("--method", choices=("lucene", "robertson", "atire"), help="default: lucene")
    dense = build.add_argument_group("embeddings")
    dense.add_argument("--vectors", type=Path, metavar="NPY", help="dense: one row a unit, in corpus order")
    dense.add_argument("--query-vectors", type=Path, metavar="NPY", help="one row a query")
    dense.add_argument("--queries", type=Path, metavar="JSONL", help="ids of the query vectors, in row order")
    dense.add_argument("--embed-function", default="", metavar="MODULE:FUNCTION", help="dense: makes the vectors, of a list of texts")
    dense.add_argument("--embed-cache", type=Path, metavar="FILE", help="dense: keeps them: unchanged texts are not embedded again")
    dense.add_argument("--model", default="", metavar="NAME", help="the embedding model")
    dense.add_argument("--revision", default="", metavar="REV", help="the model's revision")
    dense.add_argument("--similarity", choices=("cosine", "dot"), help="dense: default cosine")
    dense.add_argument("--passage-prefix", default="", metavar="TEXT", help="what stands before a text when it is embedded")
    dense.add_argument("--query-prefix", default="", metavar="TEXT", help="what stands before a query")
    dense.add_argument("--normalised", action="store_true", help="dense: the vectors have length 1; checked")
    files = build.add_argument_group("files of an engine")
    files.add_argument("--add", action="append", metavar="PATH[=NAME]", help="a file, or a folder with all that is in it")
    files.add_argument("--engine", default="", metavar="TEXT", help="the engine and its version, for instance \"pgvector 0.8.5\"")
    files.add_argument("--index", action="append", metavar="KEY=VALUE", help="a parameter of its index")


class _Help(argparse.HelpFormatter):
    """The usual layout. argparse makes a formatter for every option it is told of, and looks for the terminal each time; once is enough."""

    def __init__(self, prog: str, **layout: int) -> None:
        super().__init__(prog, width=_width() - 2, **layout)


@lru_cache(maxsize=1)
def _width() -> int:
    return columns(os.environ, True) or 80


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


def _history(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--history", type=Path, nargs="+", metavar="RECORD",
                        help="earlier records, or folders of them: report.html draws how they led to this run")


def _tier(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--tier", choices=("pr", "nightly", "release"), help="tier of the configuration (default: pr)")


def _output(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--out", type=Path, metavar="DIR", help="write report.json, comment.md, report.html, junit.xml, run.jsonl.gz")
    parser.add_argument("--format", choices=("text", "markdown", "json"), default="text", help="what is printed")


if __name__ == "__main__":
    sys.exit(main())
