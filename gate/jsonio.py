"""JSON and (gzipped) text files, read defensively and written canonically."""

from __future__ import annotations

import hashlib
import io
import json
import os
import stat
import zlib
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import IO, Any

from gate.errors import InvalidInput

# Far above any real golden set or run, far below what would take a runner down.
MAX_TEXT_BYTES = 2 * 1024**3
MAX_LINE_CHARS = 64 * 1024**2
GZIP = b"\x1f\x8b"
# Two megabytes of gzip can hold two thousand million empty lines.
MAX_LINES = 50_000_000


class NotJson(ValueError):
    """Text that is not strict JSON; the message says why."""


def _constant(name: str) -> Any:
    raise NotJson(f"{name} is not a JSON number")


_DECODER = json.JSONDecoder(parse_constant=_constant)
_scan = _DECODER.scan_once
_ENCODER = json.JSONEncoder(sort_keys=True, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
# The encoder makes its inner one, in C, anew for every value, which costs a quarter of writing a small one. Other Pythons have none.
_encode = json.encoder.c_make_encoder and json.encoder.c_make_encoder(
    None, _ENCODER.default, json.encoder.encode_basestring, None, ":", ",", True, False, False)


def loads(text: str) -> Any:
    """Strict JSON: no NaN, no Infinity, no bottomless nesting; raises :class:`NotJson`."""
    try:
        try:
            value, end = _scan(text, 0)
        except StopIteration:
            end = -1
        if end != len(text):
            value = _DECODER.decode(text)  # white space around it, or a fault that this says in words
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
    return "".join(_encode(value, 0)) if _encode else _ENCODER.encode(value)


def quoted(text: str) -> str:
    """:func:`dumps` of a text, at a fraction of its cost."""
    return json.encoder.encode_basestring(text)


def pretty(value: Any) -> str:
    """JSON for files that people open as well; ends with a newline."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, allow_nan=False, indent=1) + "\n"


def finite(value: Any) -> bool:
    """Whether a value is a number that a float can hold: no boolean, no NaN, no Infinity, no whole number of hundreds of digits."""
    return type(value) in (int, float) and -1e300 <= value <= 1e300


def digest(value: Any) -> str:
    """``sha256:<hex>`` of the canonical JSON of ``value``."""
    return sha256(dumps(value).encode())


def digest_of_texts(items: Iterable[tuple[str, str]]) -> str:
    """:func:`digest` of a dict of texts whose items come in the order of their keys, without ever having all of it in memory."""
    whole, before = hashlib.sha256(b"{"), ""
    for key, text in items:
        whole.update(f"{before}{quoted(key)}:{quoted(text)}".encode())
        before = ","
    whole.update(b"}")
    return "sha256:" + whole.hexdigest()


def sha256(data: bytes) -> str:
    """``sha256:<hex>`` of bytes."""
    return "sha256:" + hashlib.sha256(data).hexdigest()


def read_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Lines that are not blank, with their numbers from 1, as text without their ends. See :func:`read_bytes` for what is raised."""
    for number, _, line in read_bytes(path):
        if text := text_of(line, path, number):
            yield number, text


def text_of(line: bytes, path: str | Path, number: int) -> str:
    """A line as text without its end, empty for a blank one. Raises :class:`InvalidInput` when it is not UTF-8."""
    try:
        text = line.decode().rstrip("\r\n")
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{path}:{number}: not UTF-8 (byte {error.start + 1})", "save the file as UTF-8") from None
    return "" if text.isspace() else text


def read_bytes(path: Path, limit: int = MAX_TEXT_BYTES) -> Iterator[tuple[int, int, bytes]]:
    """(number from 1, offset of the first byte, line with its end) of every line that holds more than white space; no BOM.

    UTF-8 with or without BOM, LF or CRLF, plain or gzip; offsets count inflated bytes. Gzip is recognised by its magic bytes, not by the
    name, since artifacts get renamed. Raises InvalidInput when the file cannot be read, is a damaged gzip stream, or inflates beyond
    ``limit`` bytes.
    """
    try:
        with open(path, "rb", opener=regular) as raw:
            stream = _inflating(raw) if raw.peek(2)[:2] == GZIP else raw
            seen = 0
            for number, line in enumerate(iter(partial(stream.readline, MAX_LINE_CHARS + 1), b""), 1):
                start, seen = seen, seen + len(line)
                if seen > limit or len(line) > MAX_LINE_CHARS or number > MAX_LINES:
                    raise InvalidInput(f"{path}:{number}: larger than the gate reads ({limit} bytes in all, "
                                       f"{MAX_LINE_CHARS} a line, {MAX_LINES} lines)")
                if number == 1 and line.startswith(b"\xef\xbb\xbf"):
                    start, line = 3, line[3:]
                if line and not line.isspace():
                    yield number, start, line
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


def regular(path: str, flags: int) -> int:
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
