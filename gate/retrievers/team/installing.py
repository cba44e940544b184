"""pip, run for a team's requirements as the retriever's user: what it may see, and what its failure means."""

from __future__ import annotations

import os
import re
import secrets
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import unquote

from gate.errors import GateError, InvalidInput, RetrieverFailed
from gate.retrievers.limits import Limits
from gate.retrievers.team.child import LAUNCHER, Child, ChildFault
from gate.retrievers.team.output import Captured
from gate.retrievers.team.sandbox import Home, User, environment
from gate.web.masking import Mask

_LIBRARIES = 16 * 1024**3  # bytes of the largest file
_SHOWN_LINES = 25
# What pip needs to reach an index: an allow-list again. Where a secret is in it (an address with a password), only pip sees it.
_PASSED = ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_NO_INDEX", "PIP_FIND_LINKS", "PIP_TRUSTED_HOST", "PIP_CERT", "PIP_CLIENT_CERT",
           "PIP_PROXY", "PIP_TIMEOUT", "PIP_DEFAULT_TIMEOUT", "PIP_RETRIES", "PIP_CONFIG_FILE", "SSL_CERT_FILE", "SSL_CERT_DIR",
           "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy",
           "all_proxy", "no_proxy")
# User and password in an address. pip leaves them out of what it says; a package that is built may not.
_USER = re.compile(r"://([^/@\s]+)@")
_NETWORK = re.compile(r"connection broken by|ConnectionError|ConnectTimeout|ReadTimeout|ProxyError|SSLError|Max retries exceeded|"
                      r"Name or service not known|name resolution|Connection refused|Network is unreachable|HTTP error [45]\d\d|"
                      r"\b[45]\d\d (?:Client|Server) Error|problem confirming the ssl certificate|IncompleteRead", re.IGNORECASE)
_FILE = re.compile(r"No matching distribution|Could not find a version|Invalid requirement|ResolutionImpossible|conflicting dependencies|"
                   r"DO NOT MATCH THE HASHES|must have their versions pinned|Hashes are required|no such option|error: .*option|"
                   r"Could not parse|requires a different Python|is not a supported wheel", re.IGNORECASE)


class Installer:
    """Makes an environment of ``file`` with the Python ``executable``. ``variables``: of the step; ``user``: who pip runs as; ``build``:
    packages may be built, which runs their code.

    Raises :class:`InvalidInput` for a file that cannot be satisfied, else :class:`RetrieverFailed`, both with what pip said."""

    def __init__(self, file: Path, executable: str, variables: Mapping[str, str], user: User | None, limits: Limits, build: bool) -> None:
        self.file, self.limits, self.build = file, limits, build
        self._executable, self._user = executable, user
        self._variables = {name: variables[name] for name in _PASSED if variables.get(name)}
        if self._variables.get("PIP_RETRIES") == "0":  # pip tells only while it tries again that an index does not answer
            self._variables["PIP_RETRIES"] = "1"
        self._captured = Captured()

    def install(self, part: Path) -> None:
        """Into the empty folder ``part``. When it returns, no process of it is left."""
        home = Home(self._user)
        try:
            variables = environment(home.path, self._variables)
            made = subprocess.run([self._executable, "-I", "-m", "venv", "--without-pip", str(part)], capture_output=True, text=True,
                                  env=variables, timeout=self.limits.start_seconds, check=False)
            if made.returncode:
                self._captured = Captured.of(made.stdout + made.stderr)
                raise self._failed("no virtual environment could be made", "the Python that runs the gate lacks the module venv")
            if self._user is not None:
                for folder, _, files in os.walk(part):
                    for path in (folder, *(os.path.join(folder, file) for file in files)):
                        os.lchown(path, self._user.uid, self._user.gid)
            command = [self._executable, "-P", "-s", "-B", "-X", "utf8", "-m", "pip", "--python", str(part / "bin" / "python"), "install",
                       "--no-input", "--no-cache-dir", "--disable-pip-version-check", "--progress-bar", "off", "--no-color",
                       *([] if self.build else ["--only-binary", ":all:"]), "-r", str(self.file.absolute())]
            self._run(command, variables)
        except subprocess.TimeoutExpired:
            raise self._failed("making a virtual environment took too long", "see why the machine is slow") from None
        finally:
            home.remove()

    def _run(self, command: list[str], variables: Mapping[str, str]) -> None:
        """pip, as the retriever's user and within limits like the retriever's own."""
        setup = {"command": command, "path": "/", "parent": os.getpid(), "file_bytes": _LIBRARIES, "processes": None,
                 "memory_bytes": self.limits.memory_mb * 1024**2, "quiet": True}
        child = Child([self._executable, "-I", "-B", "-X", "utf8", str(LAUNCHER)], variables, self._user, self._captured, plain=True)
        status, ended = -1, False
        try:
            if child.exchange(setup, secrets.token_hex(16), self.limits.start_seconds).get("ready") is True:
                status = child.run(self.limits.run_seconds)
        except ChildFault as fault:
            raise self._failed(f"pip {fault}", "pin exact versions, so that pip has less to find out, or raise "
                               "`retriever.limits.run_seconds` or `memory_mb`") from None
        finally:
            ended = child.close(0.0)
        if status:
            raise self._refused()
        if not ended:  # it could still write
            raise self._failed("a process that the installation started could not be ended", "see which package starts it")

    def _refused(self) -> GateError:
        said = self._captured.text()
        if "No module named pip" in said:
            return self._failed("there is no pip", f"give the Python that runs the gate one: {sys.executable} -m ensurepip")
        if _NETWORK.search(said):
            return self._failed("the index of packages could not be reached", "run the job again, or tell pip about your index or "
                                "proxy with PIP_INDEX_URL or HTTPS_PROXY in `env:` of the gate's step")
        if _FILE.search(said):
            wheels = "" if self.build else "; a package that has no wheel for this Python and platform needs `build: true`"
            return InvalidInput(self._sentence("cannot be installed"), f"fix the file{wheels}")
        return self._failed("pip failed", "see what pip said")

    def _sentence(self, what: str) -> str:
        text = self._captured.text(_SHOWN_LINES)
        logins = [login for value in self._variables.values() for login in _USER.findall(value)]
        text = Mask([*logins, *(unquote(login.partition(":")[2]) for login in logins)])(text)
        return "\n".join((f"{self.file}: {what}", *(["pip said:", *text.split("\n")] if text else [])))

    def _failed(self, what: str, cure: str) -> RetrieverFailed:
        return RetrieverFailed(self._sentence(what), cure)
