"""The record of a run with its provenance: the one module that writes and reads it.

A record is canonical JSON, gzipped. ``digest`` is the sha256 of the canonical JSON without that key, so a damaged or edited record is
noticed wherever it was stored. Rankings are kept to full depth: a baseline can be scored again under corrected labels.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gate import jsonio
from gate.errors import InvalidInput
from gate.runs import BadRanking, Ranking, Run, parse_ranking

SCHEMA = 1
MAX_PACKED = 256 * 1024**2
MAX_BYTES = 1024**3
PROVENANCE = ("bootstrap", "approved", "local", "latest")
# What the default branch may keep as its baseline.
BASELINES = ("bootstrap", "approved")

_REMAKE = "make it again from a run on the default branch (README, «Baseline»)"


@dataclass(frozen=True)
class Provenance:
    """Why this run is a baseline. ``approved`` names who, why and which pull request; ``bootstrap`` is the first one on main; ``local``
    was made by hand on somebody's machine and is never published; ``latest`` is no baseline at all: it is what main retrieved at that
    commit, kept beside the baseline so that a change can be told apart from what came before it."""

    kind: str = "bootstrap"
    pull_request: int | None = None
    approver: str = ""
    reason: str = ""
    review_id: int | None = None
    label_event_id: int | None = None
    by: str = ""

    def sentence(self) -> str:
        """One sentence for people."""
        if self.kind == "approved":
            return f"approved by {self.approver} in pull request #{self.pull_request}: {self.reason}"
        if self.kind == "local":
            return "made by hand, outside of the default branch's runs"
        if self.kind == "latest":
            return "what the default branch retrieved at this commit; nobody has approved it, and it is no baseline"
        return "bootstrapped by the first run on the default branch" + (f", started by {self.by}" if self.by else "")


@dataclass(frozen=True)
class Record:
    """One stored run. ``labels``: query id → label digest of the golden set it was scored with; ``policy`` and ``retriever``: plain
    facts; ``parent``: digest of the record that this one replaced; ``metrics``: means when it was made, for people."""

    gate: str
    rankings: Mapping[str, Ranking]
    golden_digest: str
    golden_version: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    snapshot_digest: str = ""
    corpus_digest: str = ""
    policy_digest: str = ""
    policy: Mapping[str, Any] = field(default_factory=dict)
    retriever: Mapping[str, Any] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    metrics: Mapping[str, float] = field(default_factory=dict)
    depth: int = 0
    seed: int = 0
    repository: str = ""
    repository_id: int = 0
    commit: str = ""
    run_id: str = ""
    created: str = ""
    parent: str = ""
    provenance: Provenance = field(default_factory=Provenance)

    @property
    def run(self) -> Run:
        return Run(self.rankings, f"baseline {self.commit[:12]}".strip())

    def body(self) -> dict[str, Any]:
        """Plain values of everything but the digest."""
        value = {name: getattr(self, name) for name in self.__dataclass_fields__ if name not in ("rankings", "provenance")}
        value = {key: dict(item) if isinstance(item, Mapping) else item for key, item in value.items()}
        provenance = {key: item for key, item in vars(self.provenance).items() if item not in (None, "")}
        return value | {"schema": SCHEMA, "provenance": provenance,
                        "rankings": [ranking.to_json(i) for i, ranking in sorted(self.rankings.items())]}

    @property
    def digest(self) -> str:
        return jsonio.digest(self.body())


def pack(record: Record) -> bytes:
    """The bytes of a record file; equal records give equal bytes."""
    body = record.body()
    return jsonio.gzip_bytes((jsonio.dumps(body | {"digest": jsonio.digest(body)}) + "\n").encode())


def unpack(data: bytes, name: str) -> Record:
    """Read and verify a record. Raises :class:`InvalidInput` for damage, a wrong digest, a future schema or wrong types."""
    if len(data) > MAX_PACKED:
        raise InvalidInput(f"{name}: a record of {len(data)} bytes is larger than the gate reads ({MAX_PACKED})", _REMAKE)
    if data[:2] == b"\x1f\x8b":
        data = jsonio.gunzip(data, MAX_BYTES, name)
    try:
        value = jsonio.loads(data.decode())
    except (UnicodeDecodeError, jsonio.NotJson) as fault:
        raise InvalidInput(f"{name}: not a record ({fault})", _REMAKE) from None
    if not isinstance(value, dict) or type(value.get("schema")) is not int:
        raise InvalidInput(f"{name}: not a record (no schema number)", _REMAKE)
    if value["schema"] > SCHEMA:
        raise InvalidInput(f"{name}: record schema {value['schema']} is newer than this gate knows ({SCHEMA})",
                           "use the version of the gate that wrote it, or a later one")
    if "rankings" not in value:
        # history.json for one, or a report.json: whole files, of which none is to be made again.
        raise InvalidInput(f"{name}: not a record (it holds no rankings)", "name a record: a run's `--record`, or the record.json.gz, "
                           "latest.json.gz or baseline.json.gz that the gate has stored")
    stated = value.pop("digest", None)
    try:
        actual = jsonio.digest(value)
    except ValueError:
        raise InvalidInput(f"{name}: not a record (a number in it is not finite)", _REMAKE) from None
    if stated != actual:
        raise InvalidInput(f"{name}: the record says digest {stated} but its content has {actual}; it was damaged or edited", _REMAKE)
    return _from_body(value, name)


_TYPES: dict[str, type] = {"gate": str, "golden_digest": str, "golden_version": str, "labels": dict, "snapshot_digest": str,
                           "corpus_digest": str, "policy_digest": str, "policy": dict, "retriever": dict, "versions": dict,
                           "metrics": dict, "depth": int, "seed": int, "repository": str, "repository_id": int, "commit": str,
                           "run_id": str, "created": str, "parent": str}
_NUMBERED = ("pull_request", "review_id", "label_event_id")


def _from_body(value: dict[str, Any], name: str) -> Record:
    problems = [f"{name}: `{key}` is missing or not of type {kind.__name__}" for key, kind in _TYPES.items()
                if type(value.get(key)) is not kind]
    if any(not jsonio.finite(mean) for mean in _values(value, "metrics")):
        problems.append(f"{name}: `metrics` holds something that is no number")
    problems += [f"{name}: `{key}` holds something that is no text" for key in ("labels", "versions")
                 if any(not isinstance(text, str) for text in _values(value, key))]
    raw = value.get("provenance")
    # A reason that is no text, or a number that is none, would come up as a traceback in a report.
    if not isinstance(raw, dict) or raw.get("kind") not in PROVENANCE or not raw.keys() <= Provenance.__dataclass_fields__.keys() \
            or any(type(raw[key]) is not (int if key in _NUMBERED else str) for key in raw):
        problems.append(f"{name}: `provenance` is missing or unknown")
    lines = value.get("rankings")
    rankings: dict[str, Ranking] = {}
    for number, line in enumerate(lines if isinstance(lines, list) else [None]):
        try:
            if not isinstance(line, dict) or not isinstance(line.get("id"), str) or line["id"] in rankings:
                raise BadRanking("not a ranking with an id of its own")
            rankings[line["id"]] = parse_ranking(line)
        except BadRanking as fault:
            problems.append(f"{name}: ranking {number + 1}: {fault}")
    if problems:
        raise InvalidInput(problems, _REMAKE)
    return Record(**{key: value[key] for key in _TYPES}, rankings=rankings, provenance=Provenance(**raw))


def _values(value: dict[str, Any], key: str) -> list[Any]:
    inner = value.get(key)
    return list(inner.values()) if isinstance(inner, dict) else []


def read_record(path: str | Path) -> Record:
    """Read a record file."""
    path = Path(path)
    try:
        if path.exists() and not path.is_file():
            raise InvalidInput(f"{path}: is not a regular file")
        with open(path, "rb") as stream:
            return unpack(stream.read(MAX_PACKED + 1), str(path))
    except OSError as error:
        raise InvalidInput(f"{path}: cannot be read ({error.strerror})") from None

