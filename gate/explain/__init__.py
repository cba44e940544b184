"""Why one query moved: what stands where, by which scores, and what the frozen index says of it.

From outside: :func:`gate.explain.query.explain`, rendered by :mod:`gate.reports.explained`.
"""
