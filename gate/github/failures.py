"""What can go wrong between the gate and GitHub, as types that callers tell apart."""

from __future__ import annotations

from collections.abc import Sequence

from gate.errors import GitHubError

PERMISSIONS = "README, «Permissions», has the block to copy"


class Unauthorized(GitHubError):
    """401: no token, an expired one, or one of another host."""


class Forbidden(GitHubError):
    """403 for lack of a permission. ``accepted``: GitHub's own words on what would have sufficed; ``said``: its message
    alone."""

    def __init__(self, message: str, status: int = 403, cure: str = "", accepted: str = "", said: str = "") -> None:
        self.accepted, self.said = accepted, said
        super().__init__(message, status, cure)


class RateLimited(GitHubError):
    """A primary or secondary limit that outlasts the gate's patience. ``wait``: the seconds that GitHub asked for."""

    def __init__(self, message: str, status: int = 429, cure: str = "", wait: float = 0.0) -> None:
        self.wait = wait
        super().__init__(message, status, cure)


class NotFound(GitHubError):
    """404: it does not exist, or the token may not know that it does."""


class Conflict(GitHubError):
    """409: somebody was faster, or the name is taken."""


class Gone(GitHubError):
    """410: expired or switched off."""


class Unprocessable(GitHubError):
    """422. ``errors``: GitHub's list of what it did not like, as text."""

    def __init__(self, message: str, status: int = 422, cure: str = "", errors: Sequence[str] = ()) -> None:
        self.errors = tuple(errors)
        super().__init__(message, status, cure)


class Redirected(GitHubError):
    """A redirect that is not followed: to another host (the token would go with it), or of a request that writes."""


class ServerTrouble(GitHubError):
    """5xx, no answer, or an answer that is not what the API describes. ``sent``: whether GitHub may have acted on the request;
    ``final``: whether asking again is useless."""

    def __init__(self, message: str, status: int = 0, cure: str = "", *, sent: bool = True, final: bool = False) -> None:
        self.sent, self.final = sent, final
        super().__init__(message, status, cure)


class TooMany(ServerTrouble):
    """A list with more pages than the gate reads; what was read before is not the whole."""


_CURES = {
    401: "pass the job's own token: `token: ${{ github.token }}`, and see that GITHUB_API_URL belongs to it",
    404: f"see that the name is right and that the token may read it ({PERMISSIONS})",
}
_TYPES: dict[int, type[GitHubError]] = {401: Unauthorized, 404: NotFound, 409: Conflict, 410: Gone}


def refused(what: str, status: int, said: str, accepted: str = "", errors: Sequence[str] = ()) -> GitHubError:
    """The error for a status that no waiting will change. ``what``: method and path; ``said``: GitHub's message."""
    message = f"{what}: GitHub answered {status}" + (f" ({said})" if said else "")
    if status == 403:
        needs = f"GitHub names what is missing: {accepted}; " if accepted else ""
        return Forbidden(message, 403, f"{needs}give the job that permission; {PERMISSIONS}", accepted, said)
    if status == 422:
        details = "; ".join(errors)
        return Unprocessable(f"{message}: {details}" if details else message, 422, "", errors)
    kind = _TYPES.get(status)
    if kind is not None:
        return kind(message, status, _CURES.get(status, ""))
    if 300 <= status < 400:
        return Redirected(
            f"{message}, a redirect that the gate does not follow",
            status,
            "see that GITHUB_API_URL and the repository's name are the current ones",
        )
    return ServerTrouble(message, status, "run the job again; https://www.githubstatus.com tells about outages")
