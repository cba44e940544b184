"""ir_measures: one grammar for measures, computed query by query by pytrec_eval. No statistics.

    python with_ir_measures.py FOLDER
"""

import sys

from stopwatch import Stopwatch, labels, run

watch = Stopwatch()
import ir_measures  # noqa: E402
from ir_measures import RR, P, R, Success, nDCG  # noqa: E402

NAMES = {nDCG @ 10: "ndcg@10", R @ 5: "recall@5", R @ 10: "recall@10", Success @ 5: "hit@5", RR: "rr", P @ 5: "precision@5"}
watch.lap("import")
folder = sys.argv[1]
qrels = labels(folder)
runs = [run(folder, name) for name in ("baseline", "candidate")]
watch.lap("load")
evaluator = ir_measures.evaluator(list(NAMES), qrels)
means = []
for each in runs:
    sums = dict.fromkeys(NAMES, 0.0)
    # Query by query, because that is what a paired comparison needs.
    for found in evaluator.iter_calc(each):
        sums[found.measure] += found.value
    means.append({ours: sums[measure] / len(qrels) for measure, ours in NAMES.items()})
watch.lap("score")
watch.say(baseline=means[0], candidate=means[1])
