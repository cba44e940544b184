"""``services:`` of a configuration → what to start, how to tell that it is ready, and how it is filled."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import NamedTuple

from gate import jsonio
from gate.docker.health import Health
from gate.docker.settings import Image, read_container, read_place, read_words
from gate.fields import Section

_NAME = re.compile(r"[a-z][a-z0-9-]{0,39}\Z")
_MOST = 8


class Service(NamedTuple):
    """``data``: a folder inside that is kept in memory; ``copy``: folder of the snapshot → folder inside; ``restore``: commands, run inside
    one after another when it is ready; ``digest``: of the section as it is written."""

    name: str
    container: Image
    health: Health = Health()
    memory_mb: int = 2048
    start_seconds: float = 120.0
    restore_seconds: float = 600.0
    data: str = ""
    copy: tuple[tuple[str, str], ...] = ()
    restore: tuple[tuple[str, ...], ...] = ()
    digest: str = ""


def read_services(section: Section, snapshot: bool) -> tuple[Service, ...]:
    """Faults are remembered in the section. ``snapshot``: whether one is configured."""
    names = list(section.plain())
    found = []
    for name in names:
        if not isinstance(name, str) or not _NAME.match(name):
            section.problem(str(name), f"service {str(name)[:60]!r} must be called by lower-case letters, digits and hyphens, at most 40")
            section.raw(name)
            continue
        found.append(_service(name, section.section(name, section.mapping(name, required=True)), snapshot))
    if len(names) > _MOST:
        section.problem(str(names[_MOST]), f"there are {len(names)} services; the gate starts at most {_MOST}")
    ports = [each.container.port for each in found if each.container.port]
    for each in found:
        if ports.count(each.container.port) > 1:
            section.problem(f"{each.name}.port", f"port {each.container.port} is that of another service as well; they share one network")
    return tuple(found)


def _service(name: str, section: Section, snapshot: bool) -> Service:
    container = read_container(section, port_required=False)
    health = _health(section, container.port)
    data = read_place(section, "data", "") if section.raw("data") is not None else ""
    copies = _copies(section)
    if not snapshot and (copies or section.raw("mount") is not None):
        section.problem("copy" if copies else "mount", "there is no snapshot to take it from: set `snapshot.path` and `snapshot.digest`")
    for _, place in copies:
        if data and PurePosixPath(place).is_relative_to(data):
            section.problem("copy", f"{place} is in `data`, which is memory and empty when the service starts; copy beside it, or leave "
                                    "`data` out")
    found = Service(name, container, health, section.integer("memory_mb", 2048, 64, 1_048_576),
                    section.number("start_seconds", 120.0, 0.01, 21_600), section.number("restore_seconds", 600.0, 0.01, 21_600),
                    data, copies, _commands(section), jsonio.digest(section.plain()))
    section.done()
    return found


def _health(section: Section, port: int) -> Health:
    inner = section.section("health", section.mapping("health"))
    path, command = inner.text("http", ""), read_words(inner, "command")
    if path and not path.startswith("/"):
        inner.problem("http", f"`http` must be a path that begins with /, not {path[:60]!r}")
    if path and command:
        section.problem("health", "`health` must be either `http` or `command`")
    lacking = not port and section.raw("port") is None  # one that is no port has been named already
    if path and lacking:
        section.problem("port", "`port` is missing: `health.http` is asked there")
    if not path and not command and lacking:
        section.problem("port", "`port` is missing, and there is no `health.command` either: nobody could tell when the service is ready")
    inner.done()
    return Health(path, command)


def _copies(section: Section) -> tuple[tuple[str, str], ...]:
    inner = section.section("copy", section.mapping("copy"))
    found = []
    for source in inner.plain():
        place = read_place(inner, source, "")
        path = PurePosixPath(str(source))
        if path.is_absolute() or ".." in path.parts or not path.parts:
            inner.problem(source, f"{str(source)[:60]!r} must be a folder of the snapshot, as its manifest names it")
        elif place:
            found.append((str(path), place))
    return tuple(found)


def _commands(section: Section) -> tuple[tuple[str, ...], ...]:
    value = section.raw("restore")
    if value is None:
        return ()
    found: list[tuple[str, ...]] = []
    for item in value if isinstance(value, list) else [None]:
        if isinstance(item, str) and item.strip():
            found.append(("sh", "-c", item))
        elif isinstance(item, list) and item and all(isinstance(word, str) for word in item) and item[0].strip():
            found.append(tuple(item))
        else:
            hint = "; text with `: ` in it has to be quoted" if isinstance(item, dict) else ""
            section.problem("restore", f"`restore` must be a list of commands: each a list of words, or text for the service's shell{hint}")
            return ()
    return tuple(found)
