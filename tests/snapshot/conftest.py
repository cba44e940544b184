from tests.snapshot.support import snapshot

__all__ = ["snapshot"]
