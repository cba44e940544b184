"""A stand-in for Elasticsearch or OpenSearch, whose servers are in no package registry. Needs nothing but numpy.

It holds documents, an inverted index with BM25, and vectors that it searches exactly, and refuses what the real ones refuse, in their
words: unknown keys of a body, unknown parameters, unknown queries, wrong shapes, scripts other than those that its reference documents. The
official clients `elasticsearch` and `opensearch-py` talk to it. Approximate search is exact here; ``--lossy`` leaves some documents out, so
that a loss can be seen.

    python elastic_standin.py PORT [--opensearch] [--version V] [--password P] [--api-key K] [--lossy] [--delay SECONDS]

``POST /_standin {"next": [answer, …]}`` gives searches these answers first: {"status": 503}, {"shards": 1}, {"timed_out": true};
``{"health": "red"}`` is the health from then on.
"""

import argparse
import base64
import json
import re
import sys
import threading
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, unquote, urlsplit

import numpy as np

WORDS = re.compile(r"\w+")
SEARCH = {"query", "knn", "size", "from", "sort", "_source", "track_total_hits", "track_scores", "min_score"}
PARAMS = {"preference", "allow_partial_search_results", "scroll", "search_type", "routing", "search_pipeline", "wait_for_active_shards",
          "max_num_segments", "refresh", "timeout", "wait_for_status"}
SCRIPTS = {  # as in the reference of dense_vector, whichever spelling of the same formula
    "(cosineSimilarity(params.query_vector, 'F') + 1.0) / 2": "cosine", "(dotProduct(params.query_vector, 'F') + 1.0) / 2": "dot_product",
    "double d = l2norm(params.query_vector, 'F'); return 1 / (1 + d * d);": "l2_norm",
    "double p = dotProduct(params.query_vector, 'F'); return p < 0 ? 1 / (1 - p) : p + 1;": "max_inner_product"}


class Refused(Exception):
    def __init__(self, status, kind, reason):
        self.status, self.kind, self.reason = status, kind, reason


def bad(reason, kind="parsing_exception"):
    return Refused(400, kind, reason)


def only(body, allowed, where):
    if not isinstance(body, dict):
        raise bad(f"[{where}] query malformed, no start_object after query name")
    for key in body:
        if key not in allowed:
            raise bad(f"[{where}] unknown field [{key}]", "x_content_parse_exception")


def at(source, path):
    if path in source:
        return source[path]
    for part in path.split("."):
        source = source.get(part) if isinstance(source, dict) else None
    return source


def scored(name, one, other):
    """Lucene's scores of vectors: ``one`` a row, ``other`` rows."""
    dot = other @ one
    if name in ("cosine", "cosinesimil"):
        lengths = np.linalg.norm(other, axis=1) * np.linalg.norm(one)
        return (1 + dot / np.where(lengths > 0, lengths, 1)) / 2
    if name == "dot_product":
        return (1 + dot) / 2
    if name in ("l2_norm", "l2"):
        return 1 / (1 + ((other - one) ** 2).sum(axis=1))
    return np.where(dot < 0, 1 / (1 - np.minimum(dot, 0)), dot + 1)


class Index:
    def __init__(self, name, body, server):
        only(body, {"settings", "mappings", "aliases"}, "create_index")
        self.name, self.server, self.docs, self.visible = name, server, {}, {}
        settings = body.get("settings", {})
        self.settings = settings.get("index", settings)
        mappings = body.get("mappings", {})
        only(mappings, {"properties", "dynamic"}, "mappings")
        self.properties = {}
        for field, spec in mappings.get("properties", {}).items():
            self.map(self.properties, field, spec)

    def map(self, properties, field, spec):
        first, dot, rest = field.partition(".")
        if dot:
            return self.map(properties.setdefault(first, {"properties": {}})["properties"], rest, spec)
        allowed = {"dense_vector": {"dims", "index", "similarity", "index_options", "element_type"},
                   "knn_vector": {"dimension", "method", "space_type", "data_type", "mode", "compression_level"},
                   "text": {"fields", "analyzer"}, "keyword": {"ignore_above"}, "integer": set(), "long": set()}
        kind = spec.get("type", "object")
        if kind not in allowed or kind == ("dense_vector" if self.server.opensearch else "knn_vector"):
            raise bad(f"No handler for type [{kind}] declared on field [{field}]", "mapper_parsing_exception")
        if odd := spec.keys() - allowed[kind] - {"type"}:
            raise bad(f"unknown parameter [{sorted(odd)[0]}] on mapper [{field}] of type [{kind}]", "mapper_parsing_exception")
        properties[field] = spec

    def spec(self, path):
        place = {"properties": self.properties}
        for part in path.split("."):
            place = place.get("properties", {}).get(part, {})
        return place

    def kind(self, path):
        base, _, last = path.rpartition(".")
        return "keyword" if last == "keyword" and self.spec(base).get("type") == "text" else self.spec(path).get("type")

    def put(self, name, source):
        for field, value in source.items():
            spec = self.spec(field)
            size = spec.get("dims") or spec.get("dimension")
            if size:
                if not isinstance(value, list) or len(value) != size:
                    raise bad(f"The [{spec['type']}] field [{field}] in doc [document with id '{name}'] has a different number of "
                              f"dimensions [{len(value)}] than defined in the mapping [{size}]", "document_parsing_exception")
                if spec.get("similarity", "cosine") == "cosine" and not any(value) and spec["type"] == "dense_vector":
                    raise bad("The [cosine] similarity does not support vectors with zero magnitude.", "document_parsing_exception")
            elif not spec:
                kind = {str: "text", int: "long", float: "float", dict: "object"}.get(type(value), "text")
                self.properties[field] = {"type": "text", "fields": {"keyword": {"type": "keyword"}}} if kind == "text" else {"type": kind}
        self.docs[name] = source

    def refresh(self):
        self.visible = dict(self.docs)
        self.names = list(self.visible)
        self.words = {}
        self.arrays = {}

    # queries: name of the document → score

    def field_words(self, field):
        if field not in self.words:
            self.words[field] = {name: Counter(WORDS.findall(str(at(source, field) or "").lower()))
                                 for name, source in self.visible.items()}
        return self.words[field]

    def bm25(self, field, text):
        words = self.field_words(field)
        lengths = {name: sum(counts.values()) for name, counts in words.items()}
        there = [length for length in lengths.values() if length] or [1]
        usual, found = sum(there) / len(there), {}
        for word in WORDS.findall(str(text).lower()):
            having = [name for name, counts in words.items() if word in counts]
            idf = np.log(1 + (len(there) - len(having) + 0.5) / (len(having) + 0.5))
            for name in having:
                tf = words[name][word]
                found[name] = found.get(name, 0) + idf * tf / (tf + 1.2 * (0.25 + 0.75 * lengths[name] / usual))
        return {name: float(np.float32(score)) for name, score in found.items()}

    def matching(self, query):
        if not isinstance(query, dict) or len(query) != 1:
            raise bad("[_na] query malformed, must start with start_object")
        (kind, body), = query.items()
        handler = getattr(self, f"query_{kind}", None)
        if handler is None or (kind == "knn" and not self.server.opensearch):
            raise bad(f"unknown query [{kind}]")
        return handler(body)

    def query_match_all(self, body):
        only(body, set(), "match_all")
        return dict.fromkeys(self.visible, 1.0)

    def query_match(self, body):
        (field, value), = body.items()
        if isinstance(value, dict):
            only(value, {"query", "operator", "boost"}, "match")
            value = value["query"]
        return self.bm25(field, value)

    def query_multi_match(self, body):
        only(body, {"query", "fields", "type"}, "multi_match")
        found = {}
        for field in body["fields"]:
            name, _, boost = field.partition("^")
            for doc, score in self.bm25(name, body["query"]).items():
                found[doc] = max(found.get(doc, 0.0), score * float(boost or 1))
        return found

    def query_ids(self, body):
        only(body, {"values"}, "ids")
        return {name: 1.0 for name in body["values"] if name in self.visible}

    def query_exists(self, body):
        only(body, {"field"}, "exists")
        return dict.fromkeys(self.having(body["field"]), 1.0)

    def query_term(self, body):
        (field, value), = body.items()
        return self.query_terms({field: [value["value"] if isinstance(value, dict) else value]})

    def query_terms(self, body):
        (field, values), = body.items()
        if not isinstance(values, list):
            raise bad("[terms] query does not support a single value")
        name = field.removesuffix(".keyword")
        whole = self.kind(field) != "text"
        return {doc: 1.0 for doc, source in self.visible.items()
                if (at(source, name) in values if whole else set(WORDS.findall(str(at(source, name)).lower())) & set(values))}

    def query_bool(self, body):
        only(body, {"must", "should", "filter", "must_not"}, "bool")
        parts = {kind: value if isinstance(value, list) else [value] for kind, value in body.items()}
        found = None
        for kind in ("must", "filter"):
            for query in parts.get(kind, ()):
                hits = self.matching(query)
                hits = hits if kind == "must" else dict.fromkeys(hits, 0.0)
                found = hits if found is None else {doc: found[doc] + hits[doc] for doc in found if doc in hits}
        for query in parts.get("should", ()):
            hits = self.matching(query)
            found = hits if found is None else {doc: score + hits.get(doc, 0.0) for doc, score in found.items()}
        found = dict.fromkeys(self.visible, 0.0) if found is None else found
        for query in parts.get("must_not", ()):
            found = {doc: score for doc, score in found.items() if doc not in self.matching(query)}
        return found

    def having(self, field):
        return [name for name, source in self.visible.items() if at(source, field) is not None]

    def rows(self, field):
        """Name → row, and the rows."""
        if field not in self.arrays:
            names = self.having(field)
            rows = np.asarray([at(self.visible[name], field) for name in names], np.float32).astype(np.float64)
            self.arrays[field] = {name: row for row, name in enumerate(names)}, rows
        return self.arrays[field]

    def nearest(self, field, vector, similarity, docs):
        spec = self.spec(field)
        size = spec.get("dims") or spec.get("dimension")
        if size is None:
            raise bad(f"[knn] queries are only supported on [dense_vector] fields: [{field}]", "illegal_argument_exception")
        if len(vector) != size:
            raise bad(f"the query vector has a different dimension [{len(vector)}] than the index vectors [{size}]",
                      "illegal_argument_exception")
        places, rows = self.rows(field)
        docs = [doc for doc in docs if doc in places]
        if not docs:
            return {}
        some = rows if len(docs) == len(rows) else rows[[places[doc] for doc in docs]]
        scores = scored(similarity, np.asarray(vector, np.float32).astype(np.float64), some)
        return {doc: float(np.float32(score)) for doc, score in zip(docs, scores, strict=True)}

    def top(self, found, k):
        if self.server.lossy:
            found = {doc: score for number, (doc, score) in enumerate(found.items()) if number % 7}
        return dict(sorted(found.items(), key=lambda item: -item[1])[:k])

    def query_script_score(self, body):
        only(body, {"query", "script", "min_score"}, "script_score")
        only(body["script"], {"source", "lang", "params"}, "script")
        docs, script = list(self.matching(body["query"])), body["script"]
        params = script["params"]
        if script.get("lang") == "knn":
            if not self.server.opensearch or script["source"] != "knn_score" or params.keys() != {"field", "query_value", "space_type"}:
                raise bad(f"script_lang not supported [{script['lang']}]", "illegal_argument_exception")
            if params["space_type"] not in ("l2", "cosinesimil", "innerproduct"):
                raise bad(f"Unable to find space type: {params['space_type']}", "illegal_argument_exception")
            found = self.nearest(params["field"], params["query_value"], params["space_type"], docs)
            return {doc: 2 * score for doc, score in found.items()} if params["space_type"] == "cosinesimil" else found
        field = re.search(r"'([^']+)'", script["source"])
        similarity = SCRIPTS.get(script["source"].replace(f"'{field[1]}'", "'F'")) if field else None
        if self.server.opensearch or similarity is None or params.keys() != {"query_vector"}:
            raise bad("compile error", "script_exception")
        return self.nearest(field[1], params["query_vector"], similarity, docs)

    def query_knn(self, body):  # OpenSearch
        (field, spec), = body.items()
        only(spec, {"vector", "k", "filter", "method_parameters", "min_score", "max_distance", "rescore"}, "knn")
        only(spec.get("method_parameters", {}), {"ef_search", "nprobes"}, "method_parameters")
        if not self.settings.get("knn"):
            raise bad(f"Field '{field}' is not knn_vector type.", "illegal_argument_exception")
        docs = list(self.matching(spec["filter"])) if "filter" in spec else list(self.visible)
        own = self.spec(field)
        space = own.get("space_type") or own.get("method", {}).get("space_type") or "l2"
        return self.top(self.nearest(field, spec["vector"], space, docs), spec["k"])

    def knn(self, body):  # Elasticsearch
        only(body, {"field", "query_vector", "k", "num_candidates", "filter", "similarity", "boost"}, "knn")
        if body["num_candidates"] < body["k"]:
            raise bad("[num_candidates] cannot be less than [k]", "illegal_argument_exception")
        if body["num_candidates"] > 10000:
            raise bad("[num_candidates] cannot exceed [10000]", "illegal_argument_exception")
        filters = body.get("filter", [])
        query = {"bool": {"filter": filters}} if filters else {"match_all": {}}
        return self.top(self.nearest(body["field"], body["query_vector"], self.spec(body["field"]).get("similarity", "cosine"),
                                     list(self.matching(query))), body["k"])

    def search(self, body):
        only(body, SEARCH if not self.server.opensearch else SEARCH - {"knn"}, "search")
        found = {} if "knn" in body and "query" not in body else self.matching(body.get("query", {"match_all": {}}))
        if "knn" in body:
            for doc, score in self.knn(body["knn"]).items():
                found[doc] = found.get(doc, 0.0) + score
        place = {name: number for number, name in enumerate(self.names)}
        ordered = sorted(found, key=lambda doc: (-found[doc], place[doc]))
        keys = [{"_score": "desc"}] if "sort" not in body else [{key: "asc"} if isinstance(key, str) else key for key in body["sort"]]
        scores = "sort" not in body or body.get("track_scores")
        for key in reversed(keys):
            (field, direction), = key.items()
            value = self.sort_key(field, found, place)
            ordered.sort(key=value, reverse=direction == "desc")
        return ordered, found if scores else dict.fromkeys(found)

    def sort_key(self, field, found, place):
        if field == "_score":
            return found.get
        if field == "_doc":
            return place.get
        if field == "_id":
            raise bad("Fielddata access on the _id field is disallowed", "illegal_argument_exception")
        if self.kind(field) in (None, "text"):
            raise bad(f"No mapping found for [{field}] in order to sort on" if self.kind(field) is None else
                      f"Fielddata is disabled on [{field}]: text fields are not optimised for sorting", "illegal_argument_exception")
        return lambda doc: at(self.visible[doc], field.removesuffix(".keyword"))

    def source(self, doc, wanted):
        source = self.visible[doc]
        modern = not self.server.opensearch and self.server.version >= (9, 2)
        hide = modern and not (isinstance(wanted, dict) and wanted.get("exclude_vectors") is False)
        if isinstance(wanted, dict):
            only(wanted, {"includes", "excludes"} | ({"exclude_vectors"} if modern else set()), "_source")
            wanted = wanted.get("includes")
        if wanted is False:
            return None
        if isinstance(wanted, list):
            source = {key: value for key, value in source.items() if any(key == name or name.startswith(key + ".") for name in wanted)}
        return {key: value for key, value in source.items() if not (hide and self.spec(key).get("type") == "dense_vector")}


class Server:
    def __init__(self, given):
        self.opensearch, self.lossy, self.delay = given.opensearch, given.lossy, given.delay
        self.number = given.version or ("3.3.0" if given.opensearch else "9.2.0")
        self.version = tuple(map(int, self.number.split(".")[:2]))
        self.indices, self.scrolls, self.next, self.lock, self.health = {}, {}, [], threading.RLock(), "yellow"

    def root(self):
        if self.opensearch:
            return {"name": "n", "cluster_name": "c", "cluster_uuid": "u", "tagline": "The OpenSearch Project: https://opensearch.org/",
                    "version": {"distribution": "opensearch", "number": self.number, "build_type": "tar", "build_hash": "0",
                                "build_date": "2025-01-01", "build_snapshot": False, "lucene_version": "10.0.0",
                                "minimum_wire_compatibility_version": "2.19.0", "minimum_index_compatibility_version": "2.0.0"}}
        return {"name": "n", "cluster_name": "c", "cluster_uuid": "u", "tagline": "You Know, for Search",
                "version": {"number": self.number, "build_flavor": "default", "build_type": "docker", "build_hash": "0",
                            "build_date": "2025-01-01T00:00:00Z", "build_snapshot": False, "lucene_version": "10.0.0",
                            "minimum_wire_compatibility_version": "8.19.0", "minimum_index_compatibility_version": "8.0.0"}}

    def of(self, name):
        if name not in self.indices:
            raise Refused(404, "index_not_found_exception", f"no such index [{name}]")
        return self.indices[name]

    def answer(self, method, path, params, body):
        for name in params:
            if name not in PARAMS or (name == "search_pipeline" and not self.opensearch):
                raise bad(f"request [{path}] contains unrecognized parameter: [{name}]", "illegal_argument_exception")
        if path == "/":
            return self.root()
        parts = [unquote(part) for part in path.strip("/").split("/")]
        if parts[:2] == ["_cluster", "health"]:
            return {"status": self.health, "timed_out": False, "cluster_name": "c"}
        if parts == ["_search", "scroll"]:
            return self.scroll(method, body)
        if parts == ["_bulk"] or parts[1:] == ["_bulk"]:
            return self.bulk(parts[0] if parts[0] != "_bulk" else None, body, params)
        value = json.loads(body) if body.strip() else {}
        if len(parts) == 1:
            return self.whole_index(method, parts[0], value)
        index = self.of(parts[0])
        if parts[1] in ("_refresh", "_forcemerge"):
            index.refresh()
            return {"_shards": {"total": 1, "successful": 1, "failed": 0}}
        if parts[1] == "_mapping":
            return {parts[0]: {"mappings": {"properties": index.properties}}}
        if parts[1] == "_count":
            only(value, {"query"}, "count")
            return {"count": len(index.matching(value.get("query", {"match_all": {}}))),
                    "_shards": {"total": 1, "successful": 1, "skipped": 0, "failed": 0}}
        if parts[1] == "_search":
            return self.search(index, value, params)
        raise Refused(405, "illegal_argument_exception", f"Incorrect HTTP method for uri [{path}] and method [{method}]")

    def whole_index(self, method, name, value):
        if method == "PUT":
            if name in self.indices:
                raise bad(f"index [{name}] already exists", "resource_already_exists_exception")
            if name.startswith("_") or name != name.lower():
                raise bad(f"Invalid index name [{name}], must be lowercase", "invalid_index_name_exception")
            self.indices[name] = Index(name, value, self)
            self.indices[name].refresh()
            return {"acknowledged": True, "shards_acknowledged": True, "index": name}
        self.of(name)
        if method == "DELETE":
            del self.indices[name]
        return {"acknowledged": True}

    def bulk(self, name, body, params):
        if not body.endswith(b"\n"):
            raise bad("The bulk request must be terminated by a newline [\\n]", "illegal_argument_exception")
        lines, items, at_once = body.decode().splitlines(), [], set()
        for number in range(0, len(lines), 2):
            (action, meta), = json.loads(lines[number]).items()
            target = meta.get("_index", name)
            if target not in self.indices:
                self.indices[target] = Index(target, {}, self)
                self.indices[target].refresh()
            at_once.add(target)
            record = {"_index": target, "_id": meta["_id"]}
            try:
                self.indices[target].put(meta["_id"], json.loads(lines[number + 1]))
                record |= {"status": 201, "result": "created", "_version": 1, "_shards": {"total": 1, "successful": 1, "failed": 0}}
            except Refused as refused:
                record |= {"status": 400, "error": {"type": refused.kind, "reason": refused.reason}}
            items.append({action: record})
        if params.get("refresh") in ("true", "wait_for"):
            for target in at_once:
                self.indices[target].refresh()
        return {"took": 1, "errors": any("error" in next(iter(item.values())) for item in items), "items": items}

    def search(self, index, body, params):
        time.sleep(self.delay)
        fault = self.next.pop(0) if self.next else {}
        if fault.get("status"):
            raise Refused(fault["status"], "es_rejected_execution_exception", fault.get("reason", "rejected execution"))
        wanted, size = body.get("_source", True), body.get("size", 10)
        ordered, scores = index.search(body)
        total, ordered = len(ordered), ordered if "scroll" in params else ordered[:size]
        hits = [{"_index": index.name, "_id": doc, "_score": scores[doc],
                 **({"_source": source} if (source := index.source(doc, wanted)) is not None else {})} for doc in ordered]
        answer = {"took": 1, "timed_out": bool(fault.get("timed_out")),
                  "_shards": {"total": 3, "successful": 3 - fault.get("shards", 0), "skipped": 0, "failed": fault.get("shards", 0)},
                  "hits": {"max_score": scores[ordered[0]] if ordered else None, "hits": hits[:size]}}
        if fault.get("shards"):
            answer["_shards"]["failures"] = [{"shard": 0, "reason": {"type": "circuit_breaking_exception", "reason": "Data too large"}}]
        if body.get("track_total_hits") is not False:
            answer["hits"]["total"] = {"value": total, "relation": "eq"}
        if "scroll" in params:
            name = base64.b64encode(f"scroll{len(self.scrolls)}".encode()).decode()
            self.scrolls[name] = (hits[size:], size)
            answer["_scroll_id"] = name
        return answer

    def scroll(self, method, body):
        value = json.loads(body)
        only(value, {"scroll", "scroll_id"} if method == "POST" else {"scroll_id"}, "scroll")
        if method == "DELETE":
            for name in value["scroll_id"]:
                self.scrolls.pop(name, None)
            return {"succeeded": True, "num_freed": 1}
        if value["scroll_id"] not in self.scrolls:
            raise Refused(404, "search_context_missing_exception", "No search context found for id")
        hits, size = self.scrolls[value["scroll_id"]]
        self.scrolls[value["scroll_id"]] = (hits[size:], size)
        return {"_scroll_id": value["scroll_id"], "took": 1, "timed_out": False,
                "_shards": {"total": 1, "successful": 1, "skipped": 0, "failed": 0}, "hits": {"max_score": None, "hits": hits[:size]}}


def handler(server, given):
    wanted = f"ApiKey {given.api_key}" if given.api_key else \
        "Basic " + base64.b64encode(f"elastic:{given.password}".encode()).decode() if given.password else ""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *args):
            pass

        def serve(self):
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            parts, status = urlsplit(self.path), 200
            try:
                if wanted and self.headers.get("Authorization") != wanted:
                    raise Refused(401, "security_exception", f"unable to authenticate with [{self.headers.get('Authorization')}]")
                kind = self.headers.get("Content-Type", "")
                if body and "json" not in kind and "ndjson" not in kind:
                    raise Refused(406, "media_type_header_exception", f"Content-Type header [{kind}] is not supported")
                with server.lock:
                    if parts.path == "/_standin":
                        told, said = json.loads(body), {}
                        server.next, server.health = told.get("next", []), told.get("health", server.health)
                    else:
                        said = server.answer(self.command, parts.path, dict(parse_qsl(parts.query, keep_blank_values=True)), body)
            except Refused as refused:
                status, error = refused.status, {"type": refused.kind, "reason": refused.reason}
                said = {"error": {**error, "root_cause": [error]}, "status": status}
            except Exception as error:  # the stand-in's own fault, which a test should see
                status, said = 500, {"error": {"type": "stand-in", "reason": f"{type(error).__name__}: {error}"}, "status": 500}
            data = b"" if self.command == "HEAD" else json.dumps(said).encode()
            self.send_response(status)
            accepted = self.headers.get("Accept", "")
            self.send_header("Content-Type", accepted if "vnd.elasticsearch" in accepted else "application/json")
            if not server.opensearch:
                self.send_header("X-Elastic-Product", "Elasticsearch")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = serve

    return Handler


if __name__ == "__main__":
    arguments = argparse.ArgumentParser()
    arguments.add_argument("port", type=int)
    arguments.add_argument("--opensearch", action="store_true")
    arguments.add_argument("--version", default="")
    arguments.add_argument("--password", default="")
    arguments.add_argument("--api-key", default="")
    arguments.add_argument("--lossy", action="store_true")
    arguments.add_argument("--delay", type=float, default=0.0)
    found = arguments.parse_args()
    listening = ThreadingHTTPServer(("127.0.0.1", found.port), handler(Server(found), found))
    print("ready", listening.server_address[1], flush=True)
    try:
        listening.serve_forever()
    except KeyboardInterrupt:
        sys.exit(0)
