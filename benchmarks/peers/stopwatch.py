"""Laps of one process. Imported first, so that the first lap holds the imports."""

import json
import sys
import time


class Stopwatch:
    """``lap("load")`` closes the lap that began at the last one; ``say`` prints what the benchmark reads: one line of JSON."""

    def __init__(self):
        self.seconds, self.last = {}, time.perf_counter()
        self.processor, self.last_processor = {}, time.process_time()

    def lap(self, name):
        now = time.perf_counter()
        self.seconds[name], self.last = now - self.last, now
        now = time.process_time()
        self.processor[name], self.last_processor = now - self.last_processor, now

    def say(self, **found):
        json.dump({**found, "seconds": self.seconds, "processor": self.processor}, sys.stdout)
        print()


def lines(path):
    with open(path) as file:
        for line in file:
            yield json.loads(line)


def labels(folder):
    """Query id → document id → grade: what pytrec_eval and everything built on it calls qrels."""
    return {query["id"]: query["relevant"] if isinstance(query["relevant"], dict) else dict.fromkeys(query["relevant"], 1)
            for query in lines(f"{folder}/golden.jsonl")}


def run(folder, name):
    """Query id → document id → score; the higher, the better."""
    return {line["id"]: dict(zip(line["ranked"], range(len(line["ranked"]), 0, -1), strict=True))
            for line in lines(f"{folder}/{name}.jsonl")}
