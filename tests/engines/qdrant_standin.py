"""A stand-in for a Qdrant server, whose binary is in no package registry. Run with the Python of ``.engines``.

What it takes and what it says is held to qdrant-client's models, which are generated from Qdrant's OpenAPI description and refuse unknown
keys. Payloads, filters and pages are answered by qdrant-client's own local mode; searches by vector without a filter by qdrant-edge,
Qdrant's engine in Rust, with its HNSW. Its snapshots are its own: a list of points, not Qdrant's archive of segments; their digest is
checked.

    python qdrant_standin.py PORT [--api-key KEY] [--yellow SECONDS] [--delay SECONDS]
"""

import argparse
import hashlib
import json
import re
import sys
import tempfile
import threading
import time
from email.parser import BytesParser
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit

import qdrant_edge as edge
from pydantic import ValidationError
from qdrant_client import QdrantClient
from qdrant_client.http import models

VERSION = "1.20.0"
ROOT = {"title": "qdrant - vector search engine", "version": VERSION, "commit": "0" * 40}


class Refused(Exception):
    def __init__(self, status, message):
        self.status, self.message = status, message


def parsed(model, body):
    try:
        return model.model_validate_json(body)
    except ValidationError as error:
        first = error.errors()[0]
        raise Refused(400, f"Format error in JSON body: {first['msg']} at {'.'.join(map(str, first['loc']))}") from None


def plain(value):
    if isinstance(value, list):
        return [plain(item) for item in value]
    return json.loads(value.model_dump_json(exclude_none=True)) if hasattr(value, "model_dump_json") else value


class Collection:
    """One collection in both engines."""

    def __init__(self, client, name, request):
        self.client, self.name, self.request, self.made = client, name, request, time.monotonic()
        client.create_collection(name, vectors_config=request.vectors)
        self.shard, self.dirty = self._shard(request), False

    def _shard(self, request):
        hnsw, optimizers = request.hnsw_config, request.optimizers_config
        self.hnsw = {"m": 16, "ef_construct": 100, "full_scan_threshold": 10000}
        self.hnsw |= {key: value for key, value in (hnsw.model_dump() if hnsw else {}).items() if key in self.hnsw and value is not None}
        self.threshold = optimizers.indexing_threshold if optimizers and optimizers.indexing_threshold is not None else 20000
        named = request.vectors if isinstance(request.vectors, dict) else {"": request.vectors}
        vectors = {name: edge.EdgeVectorParams(size=params.size, distance=getattr(edge.Distance, params.distance.value))
                   for name, params in named.items()}
        self.folder = tempfile.TemporaryDirectory(prefix="qdrant-standin-")
        return edge.EdgeShard.create(self.folder.name, edge.EdgeConfig(
            vectors=vectors, hnsw_config=edge.HnswIndexConfig(**self.hnsw),
            optimizers=edge.EdgeOptimizersConfig(indexing_threshold=self.threshold)))

    def upsert(self, points):
        self.client.upsert(self.name, points)
        self.shard.update(edge.UpdateOperation.upsert_points([edge.Point(point.id, point.vector, point.payload) for point in points]))
        self.dirty = True

    def optimized(self):
        if self.dirty:
            self.shard.optimize()
            self.dirty = False
        return self.shard

    def info(self, yellow):
        info = plain(self.client.get_collection(self.name))
        info["status"] = "yellow" if time.monotonic() - self.made < yellow else "green"
        info["indexed_vectors_count"] = self.optimized().info().indexed_vectors_count
        info["config"]["hnsw_config"] |= self.hnsw
        info["config"]["optimizer_config"]["indexing_threshold"] = self.threshold
        return models.CollectionInfo.model_validate(info)

    def query(self, request):
        exact = models.SearchParams() if request.params is None else request.params
        if request.filter or request.prefetch or not isinstance(request.query, list):
            return self.client.query_points(
                self.name, query=request.query, using=request.using, prefetch=request.prefetch, query_filter=request.filter,
                search_params=request.params, limit=request.limit or 10, offset=request.offset, with_payload=request.with_payload or False,
                with_vectors=request.with_vector or False, score_threshold=request.score_threshold)
        params = edge.SearchParams(hnsw_ef=exact.hnsw_ef, exact=bool(exact.exact), indexed_only=bool(exact.indexed_only))
        found = self.optimized().query(edge.QueryRequest(limit=request.limit or 10, params=params,
                                                         query=edge.Query.Nearest(request.query, request.using)))
        records = {}
        if request.with_payload:
            ids = [str(point.id) if not isinstance(point.id, int) else point.id for point in found]
            records = {record.id: record.payload for record in self.client.retrieve(self.name, ids, with_payload=request.with_payload)}
        own = [point.id if isinstance(point.id, int) else str(point.id) for point in found]
        return models.QueryResponse(points=[models.ScoredPoint(id=name, version=0, score=point.score, payload=records.get(name))
                                            for name, point in zip(own, found, strict=True)])


class Standin:
    def __init__(self, yellow, delay):
        self.client, self.collections, self.snapshots, self.yellow, self.delay = QdrantClient(":memory:"), {}, {}, yellow, delay
        self.lock = threading.RLock()

    def of(self, name):
        if name not in self.collections:
            raise Refused(404, f"Not found: Collection `{name}` doesn't exist!")
        return self.collections[name]

    def answer(self, method, path, query, body, kind):
        if (method, path) == ("GET", "/collections"):
            return {"collections": [{"name": name} for name in self.collections]}
        found = re.fullmatch(r"/collections/([^/]+)(?:/(.*))?", path)
        if not found:
            raise Refused(404, "")
        name, rest = unquote(found[1]), found[2] or ""
        verb = f"{method} {rest}"
        if verb == "GET ":
            return self.of(name).info(self.yellow)
        if verb == "GET exists":
            return {"exists": name in self.collections}
        if verb == "PUT ":
            if name in self.collections:
                raise Refused(409, f"Wrong input: Collection `{name}` already exists!")
            self.collections[name] = Collection(self.client, name, parsed(models.CreateCollection, body))
            return True
        if verb == "DELETE ":
            if self.collections.pop(name, None) is not None:
                self.client.delete_collection(name)
                return True
            return False
        if verb == "POST snapshots/upload":
            return self.upload(name, query, body, kind)
        return self.points(self.of(name), verb, body)

    def points(self, collection, verb, body):
        client, name = self.client, collection.name
        if verb == "PUT points":
            request = parsed(models.PointsList, body)
            collection.upsert(request.points)
            return {"operation_id": 1, "status": "completed"}
        if verb == "POST points":
            request = parsed(models.PointRequest, body)
            return client.retrieve(name, request.ids, with_payload=request.with_payload, with_vectors=request.with_vector or False)
        if verb == "POST points/count":
            request = parsed(models.CountRequest, body)
            return client.count(name, request.filter, exact=True)
        if verb == "POST points/scroll":
            request = parsed(models.ScrollRequest, body)
            points, following = client.scroll(name, request.filter, request.limit or 10, request.order_by, request.offset,
                                              with_payload=request.with_payload or False, with_vectors=request.with_vector or False)
            return {"points": plain(points), "next_page_offset": following}
        if verb == "POST points/query":
            time.sleep(self.delay)
            return self.query(collection, parsed(models.QueryRequest, body))
        if verb == "POST snapshots":
            record = {"create": plain(collection.request),
                      "points": plain(client.scroll(name, limit=10**6, with_payload=True, with_vectors=True)[0])}
            file = f"{name}-{len(self.snapshots)}.snapshot"
            self.snapshots[file] = json.dumps(record).encode()
            return {"name": file, "size": len(self.snapshots[file]), "checksum": hashlib.sha256(self.snapshots[file]).hexdigest()}
        raise Refused(404, "")

    @staticmethod
    def query(collection, request):
        params = collection.client.get_collection(collection.name).config.params.vectors
        if isinstance(params, dict):
            if request.using not in params and request.using is not None:
                raise Refused(400, f"Wrong input: Not existing vector name error: {request.using}")
            params = params.get(request.using)
        if params is not None and isinstance(request.query, list) and request.query and isinstance(request.query[0], float) \
                and len(request.query) != params.size:
            raise Refused(400, f"Wrong input: Vector dimension error: expected dim: {params.size}, got {len(request.query)}")
        return collection.query(request)

    def upload(self, name, query, body, kind):
        if query.get("priority", ["replica"])[0] not in ("no_sync", "snapshot", "replica"):
            raise Refused(400, "unknown priority")
        form = BytesParser().parsebytes(f"Content-Type: {kind}\r\n\r\n".encode() + body)
        if not form.is_multipart():
            raise Refused(400, "Content-Type did not match: expected multipart/form-data")
        data = next((part.get_payload(decode=True) for part in form.get_payload()
                     if part.get_param("name", header="Content-Disposition") == "snapshot"), None)
        if data is None:
            raise Refused(400, "Field `snapshot` is missing")
        if query.get("checksum") and hashlib.sha256(data).hexdigest() != query["checksum"][0]:
            raise Refused(400, "Wrong input: Snapshot checksum mismatch")
        try:
            record = json.loads(data)
        except ValueError:
            raise Refused(400, "Bad request: Can't recover from snapshot: not an archive") from None
        self.collections.pop(name, None)
        made = self.collections[name] = Collection(self.client, name, models.CreateCollection.model_validate(record["create"]))
        made.upsert([models.PointStruct.model_validate({"id": point["id"], "vector": point["vector"], "payload": point.get("payload")})
                     for point in record["points"]])
        return True


def handler(standin, key):
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *args):
            pass

        def say(self, status, data, kind="application/json"):
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def serve(self):
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            parts = urlsplit(self.path)
            path = parts.path.rstrip("/") or "/"
            if key and self.headers.get("api-key") != key:
                return self.say(401, b"Must provide an API key or an Authorization bearer token", "text/plain")
            if path == "/":
                return self.say(200, json.dumps(ROOT).encode())
            found = re.fullmatch(r"/collections/[^/]+/snapshots/(.+)", path)
            if found and self.command == "GET" and found[1] in standin.snapshots:
                return self.say(200, standin.snapshots[found[1]], "application/octet-stream")
            try:
                with standin.lock:
                    result = standin.answer(self.command, path, parse_qs(parts.query), body, self.headers.get("Content-Type", ""))
                status, said = 200, {"result": plain(result), "status": "ok", "time": 0.001}
            except Refused as refused:
                status, said = refused.status, {"status": {"error": refused.message}, "time": 0.0}
            except Exception as error:  # the stand-in's own fault, which a test should see
                status, said = 500, {"status": {"error": f"stand-in: {type(error).__name__}: {error}"}, "time": 0.0}
            return self.say(status, json.dumps(said).encode())

        do_GET = do_POST = do_PUT = do_DELETE = serve

    return Handler


if __name__ == "__main__":
    arguments = argparse.ArgumentParser()
    arguments.add_argument("port", type=int)
    arguments.add_argument("--api-key", default="")
    arguments.add_argument("--yellow", type=float, default=0.0)
    arguments.add_argument("--delay", type=float, default=0.0)
    given = arguments.parse_args()
    server = ThreadingHTTPServer(("127.0.0.1", given.port), handler(Standin(given.yellow, given.delay), given.api_key))
    print("ready", server.server_address[1], flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        sys.exit(0)
