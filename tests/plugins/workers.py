"""Tests side by side, with pytest-xdist: who keeps together, and who wants the machine for itself. Without workers it does nothing.

    pytest -n 2
"""

import contextlib
import fcntl
import functools
import os
import tempfile
from pathlib import Path

import pytest

RUN = os.environ.get("PYTEST_XDIST_TESTRUNUID", "")
# What shares something that only one process at a time can have (containers that are counted, servers that are started once) goes to one
# worker, longest first; everything else goes file by file.
TOGETHER = ("tests/e2e/", "tests/engines/", "tests/retrievers/test_frameworks.py", "tests/reports/test_html_browser.py")
DOOR, ROOM = 0, 1


def pytest_configure():
    if RUN:
        _lock_file()  # before any worker can have ended and removed it


def pytest_unconfigure():
    if RUN:
        Path(_lock_file().name).unlink(missing_ok=True)


@functools.cache
def _lock_file():
    return open(Path(tempfile.gettempdir()) / f"retrieval-gate-tests-{RUN}", "w+b")  # as long as this worker lives


def group(nodeid: str) -> str:
    file = nodeid.partition("::")[0]
    return next((place for place in TOGETHER if file.startswith(place)), file)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    from xdist.scheduler import LoadScopeScheduling

    class ByGroup(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return group(nodeid)

    config.option.loadscopereorder = False  # by the number of tests, which says nothing of their length
    return ByGroup(config, log)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    if RUN:
        order = {place: number for number, place in enumerate(TOGETHER)}
        items.sort(key=lambda item: order.get(group(item.nodeid), len(order)))


@contextlib.contextmanager
def _held(place: int, how: int):
    fcntl.lockf(_lock_file(), how, 1, place)
    try:
        yield
    finally:
        fcntl.lockf(_lock_file(), fcntl.LOCK_UN, 1, place)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item):
    """A test that is marked ``alone`` begins when those of the other workers have ended, and none begins before its end."""
    if not RUN:
        return (yield)
    with contextlib.ExitStack() as stack:
        # Whoever waits for the room keeps the door: otherwise one that wants it alone would wait for ever.
        with _held(DOOR, fcntl.LOCK_EX):
            stack.enter_context(_held(ROOM, fcntl.LOCK_EX if item.get_closest_marker("alone") else fcntl.LOCK_SH))
        return (yield)
