"""The one object that a test talks to."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import datetime
from typing import Any

from .blobs import BlobStore
from .clock import Clock, Ids
from .events import EventVerbs
from .faults import Fault, FaultVerbs, Logged
from .server import Server
from .state import Artifact, Repo, Run, Token, User
from .world_releases import ReleaseVerbs
from .world_repos import ALL_WRITE

JOB_TOKEN = "ghs_fakeJobTokenWithEveryPermission"


class FakeGitHub(EventVerbs, ReleaseVerbs, FaultVerbs):
    """State, verbs and servers of one fake GitHub; `with FakeGitHub() as fake:` starts and stops it.

    `bind="0.0.0.0"` lets containers in. `start` is the server's clock (a fixed day unless given), `step` the seconds by
    which every verb moves it. Nothing here is shared between two instances.
    """

    def __init__(
        self,
        *,
        bind: str = "127.0.0.1",
        port: int = 0,
        blob_port: int = 0,
        start: datetime | None = None,
        step: float = 1.0,
        server_url: str = "https://github.com",
        retention_days: int = 90,
        rate_limit: int = 1000,
        validate: bool = True,
    ) -> None:
        self.bind, self._port, self._blob_port = bind, port, blob_port
        self.server_url, self.retention_days, self.rate_limit, self.validate = (
            server_url,
            retention_days,
            rate_limit,
            validate,
        )
        self.clock, self.ids = Clock(start, step), Ids()
        self.mutex = threading.RLock()
        self.users: dict[str, User] = {}
        self.tokens: dict[str, Token] = {}
        self.repos: dict[str, Repo] = {}
        self.runs: dict[int, Run] = {}
        self.artifacts: dict[int, Artifact] = {}
        self.statuses: dict[tuple[int, str], dict[str, Any]] = {}
        self.checks: dict[int, tuple[Repo, dict[str, Any]]] = {}
        self.annotations: dict[int, list[Any]] = {}
        self.blobs = BlobStore(self.clock, self.artifacts)
        # How many calls of commits/{sha}/pulls answer [] for a sha before the truth (the lag right after a merge).
        self.association_lag = 0
        self.association_calls: dict[str, int] = {}
        # Whether a re-run may use an artifact name of an earlier attempt; both behaviours have been reported.
        self.same_name_per_attempt = False
        # Whether commits that apps write through the API are signed by the service; GHES does so only when told to.
        self.signs_commits = True
        # Changes answers before they are checked; only for tests of the check itself.
        self.distort: Callable[[str, Any], Any] | None = None
        self.requests: list[Logged] = []
        self.faults: list[Fault] = []
        self.unexpected: list[tuple[str, str]] = []
        self.violations: list[str] = []
        self.actions_bot = self.user("github-actions[bot]", id=41_898_282)
        self.job_token = JOB_TOKEN
        self.token(JOB_TOKEN, permissions=ALL_WRITE)
        self._servers: list[Server] = []

    # -- running -----------------------------------------------------------------------------------------------------

    def start(self) -> FakeGitHub:
        for role, port in (("api", self._port), ("blob", self._blob_port)):
            server = Server((self.bind, port), self, role)
            threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
            self._servers.append(server)
        return self

    def stop(self) -> None:
        for server in self._servers:
            server.shutdown()
            server.server_close()
        self._servers.clear()

    def __enter__(self) -> FakeGitHub:
        return self.start()

    def __exit__(self, *details: object) -> None:
        self.stop()

    @property
    def port(self) -> int:
        return self._servers[0].server_address[1] if self._servers else self._port

    @property
    def blob_port(self) -> int:
        return self._servers[1].server_address[1] if self._servers else self._blob_port

    def url_for(self, host: str) -> str:
        """The API's address for somebody who reaches this machine as `host`."""
        return f"http://{host}:{self.port}"

    @property
    def url(self) -> str:
        return self.url_for("127.0.0.1" if self.bind == "0.0.0.0" else self.bind)

    # -- verdict over a test -----------------------------------------------------------------------------------------

    def assert_clean(self) -> None:
        """No violation, no unexpected request, no fault left that was ordered and never met."""
        unmet = [fault for fault in self.faults if fault.times > 0]
        assert not self.violations, "\n".join(self.violations)
        assert not self.unexpected, f"requests that the fake does not know: {self.unexpected}"
        assert not unmet, f"faults that no request met: {unmet}"
