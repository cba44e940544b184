"""The template engine, set up once for each context. Imported and started only when something is rendered."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jinja2 import Environment

_MOST_REMEMBERED = 65_536


def directory() -> Path:
    """``templates/`` of the checkout, or its copy inside an installed package."""
    import gate

    package = Path(gate.__file__).resolve().parent
    beside = package.parent / "templates"
    return beside if (beside / "comment.md.j2").is_file() else package / "_templates"


def _environment(**options: Any) -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    return Environment(loader=FileSystemLoader(directory()), undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True,
                       keep_trailing_newline=True, **options)


@lru_cache(maxsize=1)
def markdown() -> Environment:
    """Nothing is escaped by itself: every value of a Markdown template goes through a filter that names its place."""
    from gate import figures
    from gate.reports import escape, words

    def sentence(pieces: words.Sentence) -> str:
        return escape.at_start(escape.joined(escape.code(p, table=False) if isinstance(p, words.Name) else escape.inline(p)
                                             for p in pieces).strip())

    def prose(text: str, limit: int | None = None) -> str:
        return sentence(words.marked(escape.clean(text, limit)))

    # The same row is rendered again with every try to fit a budget.
    remember = lru_cache(maxsize=_MOST_REMEMBERED)
    environment = _environment(autoescape=False)
    environment.filters |= {"cell": remember(escape.cell), "code_cell": remember(escape.code), "prose": prose,
                            "code": lambda text, limit=None: escape.code(text, limit, table=False), "sentence": sentence,
                            "fenced": escape.fenced, "likely": words.likely,
                            "url": escape.url, "plural": figures.plural}
    return environment


@lru_cache(maxsize=1)
def html() -> Environment:
    """Everything is escaped by itself; ``visible`` makes control and bidi characters inert as well."""
    from markupsafe import Markup, escape

    from gate import figures
    from gate.reports import words
    from gate.reports.escape import clean, url

    def sentence(pieces: words.Sentence) -> Markup:
        return Markup("").join(Markup("<code>{}</code>").format(clean(p)) if isinstance(p, words.Name) else escape(_kept(p))
                               for p in pieces)

    def _kept(piece: str) -> str:
        return f"{' ' * piece[:1].isspace()}{clean(piece)}{' ' * piece[-1:].isspace()}" if piece.strip() else piece[:1]

    def prose(text: str) -> Markup:
        return sentence(words.marked(text))

    environment = _environment(autoescape=True)
    environment.filters |= {"sentence": sentence, "prose": prose, "visible": clean, "url": url, "plural": figures.plural,
                            "likely": words.likely, "grouped": "{:,}".format}
    return environment
