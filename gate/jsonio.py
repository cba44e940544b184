"""JSON and (gzipped) text files, read defensively and written canonically."""

from __future__ import annotations

import hashlib
import io
import json
import os
import stat
import zlib
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import IO, Any

from gate.errors import InvalidInput

# Far above any real golden set or run, far below what would take a runner down.
MAX_TEXT_BYTES = 2 * 1024**3
MAX_LINE_CHARS = 64 * 1024**2
# Two megabytes of gzip can hold two thousand million empty lines.
MAX_LINES = 50_000_000


class NotJson(ValueError):
    """Text that is not strict JSON; the message says why."""


def _constant(name: str) -> Any:
    raise NotJson(f"{name} is not a JSON number")


_DECODER = json.JSONDecoder(parse_constant=_constant)
_ENCODER = json.JSONEncoder(sort_keys=True, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def loads(text: str) -> Any:
    """Strict JSON: no NaN, no Infinity, no bottomless nesting; raises :class:`NotJson`."""
    try:
        value = _DECODER.decode(text)
        if "\\u" in text:
            dumps(value).encode()  # "\ud800" alone is no character: it could be neither digested nor written
        return value
    except json.JSONDecodeError as error:
        raise NotJson(f"not valid JSON ({error.msg} at column {error.colno})") from None
    except RecursionError:
        raise NotJson("nested too deeply") from None
    except NotJson:
        raise
    except UnicodeEncodeError:
        raise NotJson("half of a surrogate pair, which is no character") from None
    except ValueError as error:  # a whole number of thousands of digits
        raise NotJson(str(error)) from None


def dumps(value: Any) -> str:
    """Canonical JSON: sorted keys, no NaN, text as it is."""
    return _ENCODER.encode(value)


def pretty(value: Any) -> str:
    """JSON for files that people open as well; ends with a newline."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, allow_nan=False, indent=1) + "\n"


def finite(value: Any) -> bool:
    """Whether a value is a number that a float can hold: no boolean, no NaN, no Infinity, no whole number of hundreds of digits."""
    return type(value) in (int, float) and -1e300 <= value <= 1e300


def digest(value: Any) -> str:
    """``sha256:<hex>`` of the canonical JSON of ``value``."""
    return sha256(dumps(value).encode())


def sha256(data: bytes) -> str:
    """``sha256:<hex>`` of bytes."""
    return "sha256:" + hashlib.sha256(data).hexdigest()


def read_lines(path: Path, limit: int = MAX_TEXT_BYTES) -> Iterator[tuple[int, str]]:
    """Lines that are not blank, with their numbers from 1. UTF-8 with or without BOM, LF or CRLF, plain or gzip.

    Gzip is recognised by its magic bytes, not by the name, since artifacts get renamed. Raises InvalidInput when the file cannot be
    read, is not UTF-8, is a damaged gzip stream, or inflates beyond ``limit`` bytes.
    """
    try:
        with open(path, "rb", opener=_regular) as raw:
            stream = _inflating(raw) if raw.peek(2)[:2] == b"\x1f\x8b" else raw
            seen = 0
            for number, line in enumerate(iter(partial(stream.readline, MAX_LINE_CHARS + 1), b""), 1):
                seen += len(line)
                if seen > limit or len(line) > MAX_LINE_CHARS or number > MAX_LINES:
                    raise InvalidInput(f"{path}:{number}: larger than the gate reads ({limit} bytes in all, "
                                       f"{MAX_LINE_CHARS} a line, {MAX_LINES} lines)")
                if number == 1 and line.startswith(b"\xef\xbb\xbf"):
                    line = line[3:]
                try:
                    text = line.decode().rstrip("\r\n")
                except UnicodeDecodeError as error:
                    raise InvalidInput(f"{path}:{number}: not UTF-8 (byte {error.start + 1})",
                                       "save the file as UTF-8") from None
                if text and not text.isspace():
                    yield number, text
    except FileNotFoundError:
        raise InvalidInput(f"{path}: no such file") from None
    except IsADirectoryError:
        raise InvalidInput(f"{path}: is a directory, a file was expected") from None
    except (EOFError, zlib.error) as error:
        raise InvalidInput(f"{path}: damaged or cut gzip file ({error})", "make or download it again") from None
    except OSError as error:
        if error.errno is None:  # gzip.BadGzipFile is an OSError of its own
            raise InvalidInput(f"{path}: damaged or cut gzip file ({error})", "make or download it again") from None
        raise InvalidInput(f"{path}: cannot be read ({error.strerror})") from None


def _regular(path: str, flags: int) -> int:
    """Opens regular files only: a named pipe would wait for somebody to write into it."""
    handle = os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
    mode = os.fstat(handle).st_mode
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        os.close(handle)
        raise InvalidInput(f"{path}: is not a regular file")
    return handle


def is_file(path: Path) -> bool:
    """Whether there is a file; a path that cannot even be looked at is none."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def _inflating(raw: IO[bytes]) -> io.BufferedReader:
    import gzip  # most runs are plain, and this import is not free

    return io.BufferedReader(gzip.GzipFile(fileobj=raw))  # type: ignore[type-var]


def gunzip(data: bytes, limit: int, name: str) -> bytes:
    """Inflate at most ``limit`` bytes, counted while inflating: headers of hostile files lie."""
    inflater = zlib.decompressobj(wbits=31)
    try:
        out = inflater.decompress(data, limit + 1)
        if len(out) > limit:
            raise InvalidInput(f"{name}: inflates to more than {limit} bytes")
        if not inflater.eof:
            raise InvalidInput(f"{name}: cut or damaged gzip data", "make or download it again")
        return out
    except zlib.error as error:
        raise InvalidInput(f"{name}: damaged gzip data ({error})", "make or download it again") from None


def gzip_bytes(data: bytes) -> bytes:
    """Gzip with no name and no time in it, so that equal content gives equal bytes."""
    import gzip

    out = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", fileobj=out, compresslevel=6, mtime=0) as stream:
        stream.write(data)
    return out.getvalue()


def write_atomic(path: Path, data: bytes) -> None:
    """Write beside, then rename: a reader never meets half a file."""
    # A name nobody knows beforehand, and never through a link: the folder may be one that a pull request prepared.
    beside = path.with_name(f".{path.name}.{os.urandom(8).hex()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0), 0o644)
        try:
            with os.fdopen(handle, "wb") as stream:
                stream.write(data)
            os.replace(beside, path)
        except BaseException:
            beside.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise InvalidInput(f"{path}: cannot be written ({error.strerror})", "name a place where you may write") from None
