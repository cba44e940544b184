"""Where the vectors of golden queries come from. One file a kind; used by every retriever that searches by vector.

The module of a kind has ``Options``, ``read(section, paths) -> Options`` and ``build(options, given) -> QueryVectors``.
"""
