"""A search service of two stages, as a program: words find candidates, and a slower look at each orders the best of them.

    python two_stage.py UNITS PORT [DIE_AFTER]

Answers POST /search {"text", "size"} with {"took", "cost", "stages": {"first", "second"}}; GET /ready says 503 until everything is read.
Ends itself in the middle of answering when it was asked DIE_AFTER times.
"""

import json
import math
import os
import re
import sys
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

UNITS, INDEX, READY, LOCK = {}, {}, threading.Event(), threading.Lock()
LEFT = [int(sys.argv[3]) if len(sys.argv) > 3 else -1]
CANDIDATES = 40


def words(text):
    return re.findall(r"[\w-]+", text.lower())


def load():
    with open(sys.argv[1], encoding="utf-8") as lines:
        for line in lines:
            unit = json.loads(line)
            UNITS[unit["id"]] = (unit, words(f"{unit.get('title', '')} {unit['text']}"))
    for name, (_, found) in UNITS.items():
        for word in set(found):
            INDEX.setdefault(word, []).append(name)
    READY.set()


def search(text, size):
    asked, scores = words(text), Counter()
    for word in asked:
        for name in INDEX.get(word, ()):
            scores[name] += math.log(len(UNITS) / len(INDEX[word]))
    first = sorted(scores, key=lambda name: (-scores[name], name))[:CANDIDATES]

    def look(name):
        unit, found = UNITS[name]
        pairs = sum(pair in zip(found, found[1:]) for pair in zip(asked, asked[1:]))  # noqa: B905
        return scores[name] / math.sqrt(len(found)) + pairs + 2 * len(set(asked) & set(words(unit.get("title", ""))))

    second = sorted(first, key=lambda name: (-look(name), name))[:size]
    return {"took": len(first) + 1, "cost": len(first) / 1000, "stages": {
        "first": [{"ref": name} for name in first],
        "second": [{"unit": {"id": name, "chunk": f"{name}/0"}, "relevance": round(look(name), 9)} for name in second]}}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, status, value):
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self):
        self.answer(200 if READY.is_set() else 503, {"ready": READY.is_set()})

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.headers["Authorization"] != "Bearer let-me-in":
            return self.answer(401, {"error": f"{self.headers['Authorization']} is nobody"})
        with LOCK:
            LEFT[0] -= 1
            if LEFT[0] == 0:
                self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Le")
                os._exit(1)
        self.answer(200, search(body["text"], body["size"]))

    def log_message(self, *arguments):
        pass


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[2])), Handler)
    threading.Timer(0.3, load).start()
    print(server.server_port, flush=True)
    server.serve_forever()
