"""Kind ``endpoint``: query vectors from a service that speaks OpenAI's embeddings API, as most do."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from gate.embedding.made import MadeVectors, read_verify
from gate.errors import RetrieverFailed
from gate.fields import Section
from gate.figures import plural
from gate.paths import Paths
from gate.retrievers.base import Given
from gate.retrievers.pool import QueryFailed
from gate.secret_text import SecretText, read_secret_text
from gate.web.service import Service, ServiceOptions, read_service
from gate.world import World

if TYPE_CHECKING:
    import numpy as np

    from gate.web.connection import Connection, Reply

FORMATS = ("float", "base64")
_MOST_AT_ONCE = 2048
_PATH = "/embeddings"


class Options(NamedTuple):
    """``key``: sent as a bearer token. ``dimensions``: asked for, 0: the model's own. ``seconds``: of one request with all its attempts."""

    service: ServiceOptions
    model: str
    revision: str = ""
    dimensions: int = 0
    key: SecretText | None = None
    batch: int = 64
    query_prefix: str = ""
    encoding_format: str = "float"
    seconds: float = 60.0
    verify: int | None = None
    probe: bool = False


def read(section: Section, paths: Paths) -> Options:
    """See :mod:`gate.embedding`."""
    key = section.text("key", "")
    if key and "${" not in key:
        section.problem("key", "`key` is written out; write ${NAME}, and give the variable to the gate's step")
    service = read_service(section, paths)
    return Options(service, section.text("model", "", required=True), section.text("revision", ""),
                   section.integer("dimensions", 0, 1, 65_536), read_secret_text(section, "key", key) if key else None,
                   section.integer("batch", 64, 1, _MOST_AT_ONCE), section.text("query_prefix", ""),
                   section.choice("encoding_format", FORMATS, "float"), section.number("seconds", 60.0, 0.01, 3600),
                   read_verify(section), section.boolean("probe", False))


def build(options: Options, given: Given) -> MadeVectors:
    """See :mod:`gate.embedding`."""
    return MadeVectors(Endpoint(options, given.world), given.world.cache, options.query_prefix, options.verify, options.probe)


class Endpoint:
    """See :class:`gate.embedding.made.Embedder`. The service is looked for, and its secret needed, when the first text has to be sent."""

    def __init__(self, options: Options, world: World) -> None:
        self._options, self._world = options, world
        self._service: Service | None = None
        self._connection: Connection | None = None
        self.reported = ""
        self._tokens = self._requests = 0

    @property
    def notes(self) -> list[str]:
        used = [f"embedding took {self._tokens:,} tokens in {plural(self._requests, 'request')}"] if self._tokens else []
        return [*used, *(self._service.notes if self._service else [])]

    def facts(self) -> Mapping[str, Any]:
        found = {"kind": "endpoint", "url": self._options.service.address.shown, "model": self._options.model,
                 "revision": self._options.revision, "dimensions": self._options.dimensions}
        return {name: value for name, value in found.items() if value}

    def key(self) -> Mapping[str, Any]:
        """The address as well: two services may call different weights by the same name. Not the format, in which nothing is lost."""
        headers = {name: text.text for name, text in self._options.service.headers}
        return {**self.facts(), "headers": headers}

    def batches(self, texts: Sequence[str]) -> Iterator[np.ndarray]:
        options = self._options
        if self._service is None:
            bearer = {} if options.key is None else {"Authorization": SecretText(f"Bearer {options.key.text}")}
            self._service = Service(options.service, self._world, bearer)
        if self._connection is None:
            self._connection = self._service.connect()
        what = f"POST {self._service.shown(_PATH)}"
        more = {"dimensions": options.dimensions} if options.dimensions else {}
        for start in range(0, len(texts), options.batch):
            batch = list(texts[start:start + options.batch])
            body = {"model": options.model, "input": batch, "encoding_format": options.encoding_format, **more}
            try:
                reply = self._connection.ask("POST", options.seconds, body, path=_PATH)
                answer = self._connection.decoded(reply, what)
                rows = vectors_of(answer, len(batch), options.dimensions)
            except QueryFailed as fault:
                raise RetrieverFailed(f"the queries could not be embedded: {fault}",
                                      "see what the service logged; `embedding.batch` says how many texts are sent at once") from None
            except ValueError as fault:
                raise RetrieverFailed(f"{what}: {self._service.mask.excerpt(str(fault), 600)}",
                                      "see that `embedding.url` is an embeddings API that speaks as OpenAI's does") from None
            self._count(answer, reply)
            yield rows

    def _count(self, answer: Mapping[str, Any], reply: Reply) -> None:
        assert self._service is not None
        usage = answer.get("usage")
        total = usage.get("total_tokens") if isinstance(usage, dict) else None
        self._tokens += total if type(total) is int and total > 0 else 0
        self._requests += 1
        said = (("", answer.get("model")), ("fingerprint ", answer.get("system_fingerprint")),
                ("version ", reply.headers.get("openai-version")))
        self.reported = self._service.mask.excerpt(", ".join(f"{word}{value}" for word, value in said if isinstance(value, str) and value))

    def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()


def vectors_of(answer: Any, count: int, dimensions: int) -> np.ndarray:
    """Rows of ``{"data": [{"index", "embedding"}, …]}`` in the order of ``index``, float32. Raises ValueError."""
    import numpy as np

    data = answer.get("data") if isinstance(answer, dict) else None
    if not isinstance(data, list):
        there = f"the keys {', '.join(map(str, list(answer)[:8]))}" if isinstance(answer, dict) and answer else "none"
        raise ValueError(f"its answer has no list `data` (there is: {there})")
    if len(data) != count:
        raise ValueError(f"it was sent {plural(count, 'text')} and answered with {plural(len(data), 'vector')}")
    rows: list[Any] = [None] * count
    for position, item in enumerate(data):
        place = item.get("index", position) if isinstance(item, dict) else None
        if type(place) is not int or not 0 <= place < count or rows[place] is not None:
            raise ValueError(f"`data[{position}]` has no `index` from 0 to {count - 1} of its own")
        rows[place] = _vector(item.get("embedding"), place)
    widths = sorted({len(row) for row in rows})
    if len(widths) != 1 or (dimensions and widths[0] != dimensions):
        asked = f"{dimensions} were asked for" if dimensions else "all must have the same"
        raise ValueError(f"its vectors have {' and '.join(map(str, widths))} dimensions; {asked}")
    found: np.ndarray = np.stack(rows)
    if bad := np.flatnonzero(~np.isfinite(found).all(axis=1)).tolist():
        raise ValueError(f"the vector of text {bad[0] + 1} holds numbers that float32 cannot")
    return found


def _vector(value: Any, place: int) -> np.ndarray:
    import numpy as np

    if isinstance(value, str):
        try:
            raw = base64.b64decode(value, validate=True)
        except (binascii.Error, ValueError):
            raw = b""
        if not raw or len(raw) % 4:
            raise ValueError(f"the vector of text {place + 1} is no base64 of float32 numbers")
        return np.frombuffer(raw, "<f4").astype(np.float32)
    if not isinstance(value, list) or not value or not set(map(type, value)) <= {int, float}:
        raise ValueError(f"the vector of text {place + 1} is no list of numbers")
    with np.errstate(over="ignore"):
        try:
            return np.array(value, np.float64).astype(np.float32)
        except OverflowError:
            raise ValueError(f"the vector of text {place + 1} holds numbers that float32 cannot") from None
