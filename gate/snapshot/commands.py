"""What each command about snapshots does: read, build or check, print."""

from __future__ import annotations

import os
from argparse import Namespace

from gate import console, jsonio
from gate.errors import InvalidInput


def snapshot_build(options: Namespace) -> int:
    """``snapshot build``."""
    from gate.figures import plural
    from gate.snapshot.order import build

    manifest = build(options, lambda warning: console.tell(f"warning: {warning}"))
    print(f"{options.out}: {plural(manifest.units, 'unit')} of {plural(manifest.documents, 'document')}\n"
          f"digest: {manifest.tree_digest}")
    return 0


def snapshot_cut(options: Namespace) -> int:
    """``snapshot cut``."""
    from gate.figures import plural
    from gate.snapshot.order import cut

    corpus = cut(options, lambda warning: console.tell(f"warning: {warning}"))
    jsonio.write_atomic(options.out, "".join(jsonio.dumps(unit.to_json()) + "\n" for unit in corpus.units).encode())
    print(f"{options.out}: {plural(len(corpus.units), 'unit')} of {plural(len(corpus.documents), 'document')}")
    return 0


def snapshot_verify(options: Namespace) -> int:
    """``snapshot verify``."""
    from gate.snapshot.verify import verify

    manifest = verify(options.directory, options.digest, option=True)
    print(f"{options.directory}: every file is as the manifest says")
    if options.corpus is not None:
        from gate.snapshot.provenance import check_corpus, rebuilt

        corpus = check_corpus(options.directory, manifest, options.corpus)
        print(f"{options.corpus}: is the corpus it was built from, and cut as the manifest says; "
              f"{rebuilt(options.directory, manifest, corpus)}")
    print(f"digest: {manifest.tree_digest}")
    return 0


def snapshot_fetch(options: Namespace) -> int:
    """``snapshot fetch``: the path alone goes to stdout, for a script."""
    from gate.settings import load_settings
    from gate.snapshot.obtain import obtain
    from gate.world import world_of

    settings = load_settings(options.config)
    if settings.snapshot is None:
        raise InvalidInput(f"{options.config}: has no `snapshot:`", "there is nothing to fetch")
    found = obtain(settings.snapshot, world_of(os.environ))
    for note in found.notes:
        console.tell(f"warning: {note}")
    words = {"path": "is there and is the pinned one", "cache": "was in the cache and is the pinned one",
             "fetched": "has been fetched and is the pinned one"}
    console.tell(f"snapshot {settings.snapshot.digest} {words[found.how]}")
    print(found.path)
    return 0


def snapshot_show(options: Namespace) -> int:
    """``snapshot show``."""
    from gate.snapshot.show import show

    console.show(show(options.directory))
    return 0
