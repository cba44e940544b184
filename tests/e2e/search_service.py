"""The example's search as a service in a container of its own. MODE makes it misbehave; it must run without the packages of the gate."""

import json
import os
import socket
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

MODE = os.environ.get("MODE", "")
asked = 0


def attempt(action):
    try:
        return str(action())[:60]
    except BaseException as error:
        return type(error).__name__


def status(name):
    return next(line.split()[1] for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(name + ":"))


def spy():
    """What it can see and do."""
    return {
        "uid": os.getuid(), "groups": os.getgroups(), "env": sorted(os.environ), "capabilities": status("CapBnd"),
        "new privileges": status("NoNewPrivs"),
        "blocked": {
            "socket": attempt(lambda: socket.socket(socket.AF_UNIX).connect("/var/run/docker.sock")),
            "root file system": attempt(lambda: Path("/new").write_text("x")),
            "snapshot": attempt(lambda: Path("/snapshot/new").write_text("x")),
            "a file of the snapshot": attempt(lambda: open("/snapshot/units.jsonl", "a")),
            "workspace": attempt(lambda: os.listdir("/github")),
            "user": attempt(lambda: os.setuid(0)),
        },
        "temporary file": attempt(lambda: Path("/tmp/x").write_text("x")),
    }


def misbehave():
    global asked
    asked += 1
    if MODE == "slow":
        time.sleep(0.02)
    if MODE == "spy" and asked == 1:
        print("SPY " + json.dumps(spy()), file=sys.stderr, flush=True)
    if MODE == "leave" and asked == 3:
        print("::error::I cannot go on\nthe index is gone", file=sys.stderr, flush=True)
        os._exit(7)
    if MODE == "memory" and asked == 3:
        held = []
        while True:
            held.append(b"x" * 2**24)


class Search(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # header and body in one packet

    def do_GET(self):
        self.reply({})

    def do_POST(self):
        from search.retriever import retrieve

        question = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        misbehave()
        self.reply({"results": [{"id": name} for name in retrieve(question["query"], question["n"])]})

    def reply(self, answer):
        data = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *words):
        pass


def lines():
    from search.retriever import retrieve

    for line in sys.stdin:
        question = json.loads(line)
        misbehave()
        if MODE == "spy" and attempt(lambda: socket.create_connection(("198.51.100.1", 80), 1)) != "OSError":
            sys.exit("there is a network")
        print(json.dumps({"id": question["id"], "ranked": retrieve(question["query"], question["n"])}), flush=True)


if "--stdio" in sys.argv:
    lines()
    sys.exit()
print("search is starting", flush=True)
if MODE == "broken":
    sys.exit("no index at /nowhere, key " + os.environ.get("KEY", "none"))
if MODE == "deaf":
    time.sleep(600)
ThreadingHTTPServer(("0.0.0.0", int(os.environ.get("PORT", 8080))), Search).serve_forever()
