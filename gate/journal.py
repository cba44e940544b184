"""Answers of a run that is not over, a line each as they come, so that an interrupted run can go on where it stopped."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from gate import jsonio
from gate.errors import InvalidInput
from gate.golden.model import Query
from gate.runs import BadRanking, Ranking, parse_ranking

NAME = "answers.jsonl"
SCHEMA = 1
_CURE = "run without --resume, which starts anew and keeps this file beside the new one"


def _mark(text: str) -> str:
    return jsonio.sha256(text.encode("utf-8", "surrogatepass"))[7:23]


class Journal:
    """Used as a context manager. ``key``: digest of everything but the queries that decides an answer; the same query under another key is
    another question. With ``resume`` an existing file is read and continued, without it is put aside as ``answers.jsonl.before``.

    Raises :class:`InvalidInput` for a file of another key, or one that nobody but this module can have damaged.
    """

    def __init__(self, folder: Path, key: str, resume: bool) -> None:
        self.path, self._key = folder / NAME, key
        self._known: dict[tuple[int, str, str], Ranking] = {}
        self._stream: IO[str] | None = None
        self._resume = resume
        self.answers = 0  # in the file, failed ones left out

    def __enter__(self) -> Journal:
        lasting = self._read() if self._resume and self.path.exists() else -1
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            if lasting < 0 and self.path.exists():
                os.replace(self.path, self.path.with_name(f"{NAME}.before"))
            if lasting >= 0:
                os.truncate(self.path, lasting)  # half a line is what the end of the interrupted run left
            self._stream = open(self.path, "a", encoding="utf-8", newline="\n")
        except OSError as error:
            raise InvalidInput(f"{self.path}: cannot be written ({error.strerror})", "name a place where you may write") from None
        self.answers = len(self._known)
        if lasting < 0:
            self._write({"journal": SCHEMA, "key": self._key})
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._stream is not None:
            self._stream.close()
            self._stream = None

    def answered(self, queries: Sequence[Query], number: int = 1) -> dict[str, Ranking]:
        """What the interrupted run had of ``queries`` in its repeat ``number``, by id; failed ones are asked again."""
        known = {query.id: self._known.get((number, query.id, _mark(query.text))) for query in queries}
        return {query_id: ranking for query_id, ranking in known.items() if ranking is not None}

    def add(self, query: Query, ranking: Ranking, number: int = 1) -> None:
        """Written at once: who kills the process does not say so beforehand."""
        self._write({"repeat": number, "text": _mark(query.text), **ranking.to_json(query.id)})
        self.answers += not ranking.error

    def done(self) -> None:
        """The run is whole: its rankings are in its run file now."""
        self.__exit__(None, None, None)
        self.path.unlink(missing_ok=True)

    def _write(self, record: dict[str, Any]) -> None:
        assert self._stream is not None
        self._stream.write(jsonio.dumps(record) + "\n")
        self._stream.flush()

    def _read(self) -> int:
        """Fill ``_known``; the length of the file without a last line that was cut, -1 when there is nothing in it to go on from."""
        lasting, first = -1, True
        for number, offset, line in jsonio.read_bytes(self.path):
            if not line.endswith(b"\n"):
                break
            try:
                record = jsonio.loads(jsonio.text_of(line, self.path, number))
                if first:
                    self._head(record)
                elif not isinstance(record, dict) or not isinstance(record.get("id"), str) or type(record.get("repeat")) is not int:
                    raise BadRanking("is no answer")
                else:
                    ranking = parse_ranking(record)
                    if not ranking.error:
                        self._known[record["repeat"], record["id"], str(record.get("text"))] = ranking
            except ValueError as fault:  # NotJson, BadRanking
                raise InvalidInput(f"{self.path}:{number}: {fault}", _CURE) from None
            first, lasting = False, offset + len(line)
        return lasting

    def _head(self, record: Any) -> None:
        if not isinstance(record, dict) or record.get("journal") != SCHEMA:
            raise InvalidInput(f"{self.path}: is not the journal of a run", _CURE)
        if record.get("key") != self._key:
            raise InvalidInput(f"{self.path}: its answers were given under another configuration: retriever, its code, snapshot or depth "
                               "have changed since", _CURE)
