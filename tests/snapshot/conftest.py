import pytest

from tests.snapshot.support import snapshot

__all__ = ["snapshot"]


@pytest.fixture
def host():
    """A web server on this machine."""
    from tests.snapshot.sources import Host

    server = Host()
    yield server
    server.stop()
