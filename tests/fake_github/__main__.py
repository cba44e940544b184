"""`python -m tests.fake_github --port 8080 --state story.py`: the fake as a process of its own.

The state file is Python with a function `story(fake)` that calls the same verbs as a test. What the other side needs to
know is printed as one line of JSON.
"""

from __future__ import annotations

import argparse
import json
import runpy
import threading
from datetime import UTC, datetime
from pathlib import Path

from .fake import FakeGitHub


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.fake_github", description="Serve a fake GitHub.")
    parser.add_argument("--bind", default="127.0.0.1", help="address to listen on; 0.0.0.0 lets containers in")
    parser.add_argument("--port", type=int, default=0, help="port of the API (0: any free one)")
    parser.add_argument("--blob-port", type=int, default=0, help="port of the artifact storage (0: any free one)")
    parser.add_argument("--state", type=Path, help="Python file with a function story(fake)")
    options = parser.parse_args()
    # A process of its own meets real clients, so it keeps real time at the start.
    fake = FakeGitHub(bind=options.bind, port=options.port, blob_port=options.blob_port, start=datetime.now(UTC))
    if options.state is not None:
        runpy.run_path(str(options.state))["story"](fake)
    with fake:
        runs = {run.id: fake.runtime_token(run) for run in fake.runs.values()}
        known = {"api_url": fake.url, "token": fake.job_token, "runtime_tokens": runs, "repositories": list(fake.repos)}
        print(json.dumps(known), flush=True)
        threading.Event().wait()


if __name__ == "__main__":
    main()
