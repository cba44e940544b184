"""Our own scoring and statistics, phase by phase: everything loaded first, then scored, then compared.

    python ours.py FOLDER [--save]

--save keeps the scores in FOLDER (before.npy, after.npy: a query a row, a metric a column; tags.json: tag → rows) for those methods that
are compared on ready differences.
"""

import json
import sys

from stopwatch import Stopwatch

watch = Stopwatch()
from gate.comparison import compare  # noqa: E402
from gate.golden.read import read_golden  # noqa: E402
from gate.policy import Policy  # noqa: E402
from gate.runs import read_run  # noqa: E402
from gate.scoring.metrics import parse_metric  # noqa: E402
from gate.scoring.score import score_run  # noqa: E402

watch.lap("import")
folder, policy = sys.argv[1], Policy()
golden = read_golden(f"{folder}/golden.jsonl")
runs = [read_run(f"{folder}/{name}.jsonl") for name in ("baseline", "candidate")]
watch.lap("load")
scored = [score_run(golden, run, policy.all_metrics) for run in runs]
watch.lap("score")
comparison = compare(golden, *scored, policy.primary)
watch.lap("compare")
means = [{str(metric): each.mean(str(metric)) for metric in policy.all_metrics} for each in scored]
rr = parse_metric("rr")  # uncut, as trec_eval has it; not part of any lap
for found, run in zip(means, runs, strict=True):
    found["rr"] = score_run(golden, run, [rr]).mean("rr")
if "--save" in sys.argv:
    import numpy as np

    for name, each in zip(("before", "after"), scored, strict=True):
        np.save(f"{folder}/{name}.npy", [[score.values[str(metric)] for metric in policy.all_metrics] for score in each.queries.values()])
    row, tags = {query: row for row, query in enumerate(scored[0].queries)}, {}
    for query in golden.queries:
        for tag in query.tags:
            tags.setdefault(tag, []).append(row[query.id])
    with open(f"{folder}/tags.json", "w") as file:
        json.dump(tags, file)
watch.say(baseline=means[0], candidate=means[1], intervals=[list(comparison.main.ci[:2])], p=comparison.main.p_value)
