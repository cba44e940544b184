"""A stateful GitHub for tests, served over real HTTP and held against GitHub's own OpenAPI description."""

from .fake import JOB_TOKEN, FakeGitHub
from .http_types import Answer, Page, Refused
from .state import Artifact, Comment, IssueEvent, Job, MergeGroup, PullRequest, Repo, Review, Run, Token, User
from .world_actions import GATE_PATH, zip_bytes
from .world_repos import ALL_WRITE, ZERO_SHA

__all__ = [
    "ALL_WRITE", "GATE_PATH", "JOB_TOKEN", "ZERO_SHA", "Answer", "Artifact", "Comment", "FakeGitHub", "IssueEvent",
    "Job",
    "MergeGroup", "Page", "PullRequest", "Refused", "Repo", "Review", "Run", "Token", "User", "zip_bytes",
]  # fmt: skip
