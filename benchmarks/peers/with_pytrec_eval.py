"""trec_eval's measures through its Python binding. No statistics.

    python with_pytrec_eval.py FOLDER
"""

import sys

from stopwatch import Stopwatch, labels, run

watch = Stopwatch()
import pytrec_eval  # noqa: E402

NAMES = {"ndcg_cut_10": "ndcg@10", "recall_5": "recall@5", "recall_10": "recall@10", "success_5": "hit@5", "recip_rank": "rr",
         "P_5": "precision@5"}
watch.lap("import")
folder = sys.argv[1]
qrels = labels(folder)
# The binding wants floats.
runs = [{query: {doc: float(score) for doc, score in docs.items()} for query, docs in run(folder, name).items()}
        for name in ("baseline", "candidate")]
watch.lap("load")
evaluator = pytrec_eval.RelevanceEvaluator(qrels, {"ndcg_cut.10", "recall.5,10", "success.5", "recip_rank", "P.5"})
scores = [evaluator.evaluate(each) for each in runs]
means = [{ours: pytrec_eval.compute_aggregated_measure(theirs, [query[theirs] for query in scored.values()])
          for theirs, ours in NAMES.items()} for scored in scores]
watch.lap("score")
watch.say(baseline=means[0], candidate=means[1])
