"""ranx.compare with its default, Student's paired t-test. No interval.

    python with_ranx.py FOLDER [--cold]

--cold gives numba an empty cache, which is what a fresh container has: everything is compiled first.
"""

import os
import sys
import tempfile

from stopwatch import Stopwatch

watch = Stopwatch()
cold = tempfile.TemporaryDirectory() if "--cold" in sys.argv else None
if cold:
    os.environ["NUMBA_CACHE_DIR"] = cold.name
from ranx import Qrels, Run, compare  # noqa: E402

NAMES = {"ndcg@10": "ndcg@10", "recall@5": "recall@5", "recall@10": "recall@10", "hit_rate@5": "hit@5", "mrr@10": "rr@10",
         "precision@5": "precision@5"}
watch.lap("import")
folder = sys.argv[1]
qrels = Qrels.from_file(f"{folder}/qrels.trec", kind="trec")
runs = [Run.from_file(f"{folder}/{name}.trec", kind="trec", name=name) for name in ("baseline", "candidate")]
watch.lap("load")
report = compare(qrels, runs, metrics=list(NAMES), stat_test="student")
watch.lap("score")  # with its tests, which are the least of it
watch.say(**{name: {ours: report.results[name][theirs] for theirs, ours in NAMES.items()} for name in ("baseline", "candidate")},
          p=report.comparisons["baseline", "candidate"]["ndcg@10"]["p_value"])
