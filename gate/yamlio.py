"""YAML as data only, with the line of every key, so that a configuration error can say where it is."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gate.errors import InvalidInput

MAX_BYTES = 1024**2
_MAX_NODES = 50_000
_MAX_DEPTH = 20
# A number in base 60 or 16 may be as long as the file; working it out, or only printing it, takes a minute or fails.
_MAX_NUMBER = 100
_NUMBERS = ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")


@dataclass(frozen=True)
class Document:
    """A parsed mapping. ``lines`` maps a dotted path (``retriever.kind``, ``must_hit.0``) to its line."""

    value: dict[str, Any]
    lines: dict[str, int]
    name: str

    def at(self, path: str, message: str) -> str:
        """``file:line: message`` for a dotted path; the nearest known parent gives the line when the key is absent."""
        line = next((self.lines[p] for p in _parents(path) if p in self.lines), 1)
        return f"{self.name}:{line}: {message}"


def _parents(path: str) -> list[str]:
    parts = path.split(".")
    return [".".join(parts[:n]) for n in range(len(parts), 0, -1)]


def load_yaml(path: Path) -> Document:
    """Read a YAML file; raises :class:`InvalidInput` naming file and line."""
    try:
        with open(path, "rb") as stream:
            data = stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise InvalidInput(f"{path}: cannot be read ({error.strerror})") from None
    return parse_yaml(data, str(path))


def parse_yaml(data: bytes, name: str) -> Document:
    """Parse a mapping of plain values. No tags, no aliases, no duplicate keys, bounded size."""
    import yaml

    if len(data) > MAX_BYTES:
        raise InvalidInput(f"{name}: larger than {MAX_BYTES} bytes")
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        text = data.decode("utf-8-sig")
        for token in yaml.scan(text, Loader=loader):
            # An alias can make a small file unfold into gigabytes, and a configuration has no use for one.
            if isinstance(token, (yaml.AliasToken, yaml.AnchorToken)):
                raise InvalidInput(f"{name}:{token.start_mark.line + 1}: anchors and aliases are not accepted")
        root = yaml.compose(text, Loader=loader)
    except UnicodeDecodeError:
        raise InvalidInput(f"{name}: not UTF-8", "save the file as UTF-8") from None
    except yaml.MarkedYAMLError as error:
        line = (error.problem_mark or error.context_mark).line + 1 if (error.problem_mark or error.context_mark) else 1
        raise InvalidInput(f"{name}:{line}: not valid YAML ({error.problem})") from None
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise InvalidInput(f"{name}: not valid YAML ({type(error).__name__})") from None
    if root is None:
        return Document({}, {}, name)
    builder = _Builder(yaml, loader(""), name)
    value = builder.build(root, "", 0)
    if builder.problems:
        raise InvalidInput(builder.problems)
    if not isinstance(value, dict):
        raise InvalidInput(f"{name}:1: a mapping (`key: value`) is expected at the top")
    return Document(value, builder.lines, name)


class _Builder:
    def __init__(self, yaml: Any, constructor: Any, name: str) -> None:
        self.yaml, self.constructor, self.name = yaml, constructor, name
        self.lines: dict[str, int] = {}
        self.problems: list[str] = []
        self.nodes = 0

    def build(self, node: Any, path: str, depth: int) -> Any:
        line = node.start_mark.line + 1
        self.nodes += 1
        if depth > _MAX_DEPTH or self.nodes > _MAX_NODES:
            raise InvalidInput(f"{self.name}:{line}: too large or nested too deeply for a configuration")
        if path:
            self.lines.setdefault(path, line)
        if not isinstance(node, self.yaml.ScalarNode) and node.tag not in ("tag:yaml.org,2002:map", "tag:yaml.org,2002:seq"):
            self.problems.append(f"{self.name}:{line}: tag {node.tag} is not accepted")
        if isinstance(node, self.yaml.MappingNode):
            return self._mapping(node, path, depth)
        if isinstance(node, self.yaml.SequenceNode):
            return [self.build(child, f"{path}.{i}".lstrip("."), depth + 1) for i, child in enumerate(node.value)]
        if node.tag in _NUMBERS and len(node.value) > _MAX_NUMBER:
            self.problems.append(f"{self.name}:{line}: a number of {len(node.value)} characters is not accepted")
            return None
        try:
            return self.constructor.construct_object(node)
        except (self.yaml.YAMLError, ValueError, ArithmeticError, LookupError, AttributeError, TypeError):
            # What an explicit tag such as !!int "" does to the library.
            self.problems.append(f"{self.name}:{line}: value {node.value[:40]!r} with tag {node.tag} is not accepted")
            return None

    def _mapping(self, node: Any, path: str, depth: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            if not isinstance(key_node, self.yaml.ScalarNode):
                self.problems.append(f"{self.name}:{line}: a key must be plain text")
                continue
            key = key_node.value
            if key in found:
                self.problems.append(f"{self.name}:{line}: key `{key}` is given twice")
            child = f"{path}.{key}".lstrip(".")
            self.lines[child] = line
            found[key] = self.build(value_node, child, depth + 1)
        return found
