"""The address of a service: as a configuration writes it, and with its secrets and the query put in."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import parse_qsl, quote, unquote, urlsplit, urlunsplit

from gate.errors import RetrieverFailed
from gate.fields import Section
from gate.secret_text import SecretText, read_secret_text

_LEADING = re.compile(r"\$\{[A-Za-z_][A-Za-z0-9_]*\}")
_SECRET_PARAMETERS = ("api_key", "apikey", "api-key", "access_token", "token", "password", "secret", "sig", "signature")
_PLACEHOLDERS = ("{query}", "{n}")


class Target(NamedTuple):
    """An address that can be asked; ``{query}`` and ``{n}`` may still be in its query. ``login``: user and password that stood in it."""

    url: str
    login: tuple[str, str] | None = None

    def at(self, path: str = "", values: Mapping[str, str | int] | None = None) -> str:
        """With ``path`` appended to its path, and each ``{name}`` of ``values`` replaced by the value, escaped."""
        parts = urlsplit(self.url)
        query = parts.query
        for name, value in (values or {}).items():
            # What has been put in has no braces any more, so it is not looked at again.
            query = query.replace(f"{{{name}}}", quote(str(value), safe="", errors="replace"))
        return urlunsplit(parts._replace(path=parts.path.rstrip("/") + path if path else parts.path, query=query, fragment=""))

    @property
    def host(self) -> str:
        return urlsplit(self.url).hostname or ""


class Address(NamedTuple):
    """``text`` as it is written: with the names of secrets, never their values."""

    text: str = ""

    @property
    def shown(self) -> str:
        """Without user and password."""
        scheme, slashes, rest = self.text.partition("://")
        host = _netloc(rest)
        return scheme + slashes + host.rpartition("@")[2] + rest[len(host):]

    def holds(self, placeholder: str) -> bool:
        return placeholder in self.text

    def filled(self, variables: Mapping[str, str], key: str = "url") -> Target:
        """With the values of its variables, escaped where they stand in path or query and as they are in user and password; one that the
        address begins with is taken as it is. Raises :class:`RetrieverFailed`."""
        text = self.text
        if start := _LEADING.match(text):
            rest = text[start.end():]
            text = SecretText(start[0]).filled(variables, key).strip()
            text = (text.rstrip("/") if rest.startswith("/") else text) + rest
        fault = address_fault(text)
        if fault:
            raise RetrieverFailed(f"`{key}`, with its variables put in, {fault}", "look at the variables that the gate's step sets")
        parts = urlsplit(text)
        login, _, host = parts.netloc.rpartition("@")
        user, _, password = login.partition(":")
        path = SecretText(parts.path).filled(variables, key, lambda value: quote(value, safe="/"))
        query = SecretText(parts.query).filled(variables, key, lambda value: quote(value, safe=""))
        url = urlunsplit((parts.scheme, SecretText(host).filled(variables, key), path, query, ""))
        if fault := address_fault(url):
            raise RetrieverFailed(f"`{key}`, with its variables put in, {fault}", "look at the variables that the gate's step sets")
        # What is written in the address is quoted there, and a value is not.
        names = [unquote(SecretText(part).filled(variables, key, lambda value: quote(value, safe=""))) for part in (user, password)]
        return Target(url, (names[0], names[1]) if login else None)


def read_address(section: Section, key: str = "url", placeholders: bool = False) -> Address:
    """Remembers a fault for ``key``. ``placeholders``: whether ``{query}`` and ``{n}`` may stand in its query part."""
    text = section.text(key, "", required=True).strip()
    read_secret_text(section, key, text)
    if not text:
        return Address()
    if not _LEADING.match(text) and (fault := address_fault(text)):
        section.problem(key, f"`{key}` {fault}")
    before = text.partition("?")[0]
    for placeholder in _PLACEHOLDERS:
        if placeholder in (before if placeholders else text):
            section.problem(key, f"`{key}` has {placeholder} where it cannot be put in" +
                            ("; it belongs behind the `?`" if placeholders else ""))
    login = _netloc(text.partition("://")[2]).rpartition("@")[0]
    if _LEADING.sub("", login.partition(":")[2]):
        section.problem(key, f"`{key}` has a password in it that everybody can read; write ${{NAME}} there, and give the variable to the "
                             "gate's step")
    for name, value in parse_qsl(text.partition("?")[2].partition("#")[0]):
        if name.lower() in _SECRET_PARAMETERS and "${" not in value:
            section.problem(key, f"`{key}` has a value for {name} in it that everybody can read; write ${{NAME}} there, and give the "
                                 "variable to the gate's step")
    return Address(text)


def _netloc(rest: str) -> str:
    return re.split(r"[/?#]", rest, maxsplit=1)[0]


def address_fault(text: str) -> str:
    """Why this is no address that can be asked; empty for one that is. The text is not quoted: it may hold a secret."""
    if any(char.isspace() or not char.isprintable() for char in text):
        return "has white space or control characters in it"
    try:
        parts = urlsplit(text)
        port = parts.port if "$" not in parts.netloc else None
    except ValueError:
        return "is no address"
    if parts.scheme not in ("http", "https"):
        return "must begin with http:// or https://"
    if not parts.hostname or port == 0:
        return "names no host"
    return "has a part behind `#`, which no service ever sees" if parts.fragment else ""


def is_loopback(host: str) -> bool:
    """Whether a host is this machine."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
