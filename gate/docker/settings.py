"""What a configuration says of any container."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from gate.docker.images import read_image
from gate.fields import Section
from gate.secret_text import SecretText, read_secret_text

MOUNT = "/snapshot"
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,127}\Z")
_USER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}(:[A-Za-z0-9_][A-Za-z0-9_.-]{0,63})?\Z")
_PLACE = re.compile(r"/[^\0:,]{1,255}\Z")
# What a container needs itself, or what would hide the proof that it sees the snapshot.
_RESERVED = ("/proc", "/sys", "/dev", "/etc", "/var/run", "/run")


class Image(NamedTuple):
    """``image`` is pinned by its digest; ``mount``: where the snapshot's folder is inside."""

    image: str = ""
    command: tuple[str, ...] = ()
    entrypoint: tuple[str, ...] = ()
    env: tuple[tuple[str, SecretText], ...] = ()
    user: str = ""
    port: int = 0
    mount: str = MOUNT


def read_container(section: Section, port_required: bool) -> Image:
    """Faults are remembered in the section."""
    user = _user(section)
    port = section.integer("port", 0, 1, 65_535)
    if port_required and section.raw("port") is None:
        section.problem("port", "`port` is missing: the port on which it listens in its container")
    return Image(read_image(section), read_words(section, "command"), read_words(section, "entrypoint"), read_env(section), user, port,
                 read_place(section, "mount", MOUNT))


def read_words(section: Section, key: str) -> tuple[str, ...]:
    """A command as a list of its words, which may repeat each other."""
    value = section.raw(key)
    if value is None:
        return ()
    if not isinstance(value, list) or not value or not all(isinstance(word, str) and "\0" not in word for word in value) or not value[0]:
        section.problem(key, f"`{key}` must be a list of words (quote numbers)")
        return ()
    return tuple(value)


def _user(section: Section) -> str:
    value = section.raw("user")
    text = str(value) if type(value) is int else section.text("user", "")
    if text and not _USER.match(text):
        section.problem("user", f"`user` must be a name or number of the image, or user:group, not {text[:60]!r}")
    return text


def read_place(section: Section, key: str, default: str) -> str:
    """An absolute path in the container."""
    text = section.text(key, default)
    if text and (not _PLACE.match(text) or ".." in text.split("/") or text.rstrip("/") in ("", *_RESERVED)):
        section.problem(key, f"`{key}` must be a folder in the container, for instance {MOUNT}, not {text[:60]!r}")
    return text.rstrip("/") or default


def read_env(section: Section) -> tuple[tuple[str, SecretText], ...]:
    """``env:``, all that the container finds in its environment besides what its image sets."""
    inner = section.section("env", section.mapping("env"))
    found = []
    for name in inner.plain():
        value = inner.raw(name)
        if not isinstance(name, str) or not _NAME.match(name):
            section.problem("env", f"`env` has the name {str(name)[:60]!r}, which is none for a variable")
        elif isinstance(value, bool) or not isinstance(value, (str, int, float)):
            inner.problem(name, f"`{name}` must be text or a number (quote true and false)")
        else:
            found.append((name, read_secret_text(inner, name, str(value))))
    return tuple(found)


class Environment(NamedTuple):
    """``values``: name → value; ``secrets``: what was put in from variables, never to be shown."""

    values: dict[str, str]
    secrets: tuple[str, ...]


def filled(env: tuple[tuple[str, SecretText], ...], variables: Mapping[str, str], key: str) -> Environment:
    """With the values of secrets. Raises RetrieverFailed when one is missing. ``key``: the setting, for the message."""
    values = {name: text.filled(variables, f"{key}.{name}") for name, text in env}
    return Environment(values, tuple(variables[name] for _, text in env for name in text.names))
