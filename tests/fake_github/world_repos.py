"""Verbs for people, tokens, repositories, forks, branches and commits."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from .clock import Clock, Ids
from .graph import ancestors, commit_sha, tree_sha
from .state import Activity, App, Commit, Label, Network, PullRequest, Repo, Token, User

# What `permissions:` names; "write" on all of them is the default of the fake, so that a test says what it takes away.
ALL_WRITE = {"*": "write"}
ACTIONS_APP = App("github-actions", 15_368)
ZERO_SHA = "0" * 40
Files = Mapping[str, str | bytes | None] | Mapping[str, bytes | None] | Mapping[str, str] | Mapping[str, bytes]


class RepoVerbs:
    clock: Clock
    ids: Ids
    users: dict[str, User]
    tokens: dict[str, Token]
    repos: dict[str, Repo]
    actions_bot: User

    def _head_moved(self, repo: Repo, branch: str, before: str, forced: bool, by: User) -> None:
        raise NotImplementedError

    # -- people and tokens ---------------------------------------------------------------------------------------

    def user(self, who: User | str, type: str = "User", id: int | None = None) -> User:
        """The user of that login; the first mention creates it. A `[bot]` suffix makes a Bot."""
        if isinstance(who, User):
            return who
        if who not in self.users:
            kind = "Bot" if who.endswith("[bot]") else type
            self.users[who] = User(who, id if id is not None else self.ids("user"), kind)
        return self.users[who]

    def token(
        self,
        value: str,
        identity: User | str | None = None,
        permissions: Mapping[str, str] | None = None,
        *,
        read_only: bool = False,
        app: App | str | None = None,
        repo: Repo | None = None,
    ) -> Token:
        """Register a token. Without an identity it is a GITHUB_TOKEN (github-actions[bot]); a token of a person shows
        no app."""
        if identity is None:
            identity, app = self.actions_bot, app or ACTIONS_APP
        if isinstance(app, str):
            app = App(app, 900_000 + len(app))
        held = dict(ALL_WRITE if permissions is None else permissions)
        self.tokens[value] = Token(value, self.user(identity), held, read_only, app, repo)
        return self.tokens[value]

    def grant(self, repo: Repo, who: User | str, role: str, role_name: str | None = None) -> User:
        """Role: admin, maintain, write, triage, read or none; role_name is for a custom role built on it."""
        user = self.user(who)
        repo.roles[user.login] = (role, role_name or role)
        return user

    def role(self, repo: Repo, user: User) -> tuple[str, str]:
        if user is repo.owner:
            return "admin", "admin"
        if user.login in repo.roles:
            return repo.roles[user.login]
        return ("none", "none") if repo.private else ("read", "read")

    # -- repositories ------------------------------------------------------------------------------------------------

    def add_repo(
        self,
        full_name: str,
        files: Files | None = None,
        *,
        default_branch: str = "main",
        private: bool = False,
        id: int | None = None,
    ) -> Repo:
        """A repository with one commit. An owner that nobody mentioned before becomes an organization."""
        owner = self.user(full_name.split("/")[0], type="Organization")
        repo = Repo(
            id if id is not None else self.ids("repo"),
            full_name,
            owner,
            Network(),
            self.clock.now,
            default_branch,
            private,
        )
        self.repos[full_name] = repo
        self.commit(repo, {"README.md": f"# {repo.name}\n"} if files is None else files, message="Initial commit")
        return repo

    def fork(self, repo: Repo, by: User | str, name: str | None = None) -> Repo:
        owner = self.user(by)
        copy = Repo(
            self.ids("repo"), f"{owner.login}/{name or repo.name}", owner, repo.network, self.clock.tick(),
            repo.default_branch, repo.private, fork_of=repo,
        )  # fmt: skip
        copy.branches[repo.default_branch] = repo.tip
        self.repos[copy.full_name] = copy
        return copy

    def delete_repo(self, repo: Repo) -> None:
        """Deleting a fork leaves its pull requests open with `head.repo: null`."""
        del self.repos[repo.full_name]
        for other in self.repos.values():
            for pr in other.pulls.values():
                if pr.head_repo is repo:
                    pr.head_repo = None

    def repo_label(self, repo: Repo, name: str, color: str = "ededed", description: str | None = None) -> Label:
        if name not in repo.labels:
            repo.labels[name] = Label(self.ids("label"), name, color, description)
        return repo.labels[name]

    # -- commits and branches --------------------------------------------------------------------------------

    def store_commit(
        self,
        repo: Repo,
        files: Mapping[str, bytes],
        parents: tuple[str, ...],
        message: str = "Change",
        by: User | str | None = None,
        sha: str | None = None,
    ) -> Commit:
        """A commit object that no branch points to yet."""
        author = None if by is None else self.user(by)
        date = self.clock.now
        if sha is None:
            sha = commit_sha(tree_sha(dict(files)), parents, message, date.isoformat(), len(repo.network.commits))
        name, email = (author.login, author.email) if author else ("unknown", "unknown@example.com")
        commit = Commit(sha, parents, dict(files), message, author, date, name, email)
        repo.network.commits[sha] = commit
        return commit

    def commit(
        self,
        repo: Repo,
        files: Files,
        branch: str | None = None,
        *,
        message: str = "Change",
        by: User | str | None = None,
        parent: str | None = None,
        sha: str | None = None,
    ) -> Commit:
        """Push one commit; `files` is the change (None deletes a file). `parent` rewrites the branch from there (a
        force push)."""
        self.clock.tick()
        branch = branch or repo.default_branch
        base = parent or repo.branches.get(branch) or repo.branches.get(repo.default_branch)
        tree = dict(repo.commit(base).files) if base else {}
        for path, content in files.items():
            if content is None:
                tree.pop(path, None)
            else:
                tree[path] = content.encode() if isinstance(content, str) else content
        made = self.store_commit(repo, tree, (base,) if base else (), message, by, sha)
        self.set_branch(repo, branch, made.sha, by=by)
        return made

    def set_branch(
        self,
        repo: Repo,
        branch: str,
        sha: str,
        *,
        by: User | str | None = None,
        kind: str | None = None,
        tick: bool = False,
    ) -> None:
        """Point a branch at a stored commit: create, fast-forward or force-push, and tell the pull requests from it."""
        if tick:
            self.clock.tick()
        before = repo.branches.get(branch, ZERO_SHA)
        actor = self.user(by) if by is not None else repo.owner
        forced = before != ZERO_SHA and before not in ancestors(repo.network, sha)
        repo.branches[branch] = sha
        shown = kind or ("branch_creation" if before == ZERO_SHA else "force_push" if forced else "push")
        entry = Activity(self.ids("activity"), f"refs/heads/{branch}", before, sha, shown, self.clock.now, actor)
        repo.activity.append(entry)
        self._head_moved(repo, branch, before, forced, actor)

    def delete_branch(self, repo: Repo, branch: str, by: User | str | None = None) -> None:
        before = repo.branches.pop(branch)
        actor = self.user(by) if by is not None else repo.owner
        ref = f"refs/heads/{branch}"
        repo.activity.append(
            Activity(self.ids("activity"), ref, before, ZERO_SHA, "branch_deletion", self.clock.tick(), actor)
        )

    def import_git(self, repo: Repo, checkout: str | Path, refs: Mapping[str, str] | None = None) -> None:
        """Copy a real checkout's history, shas included. `refs` maps a branch here to a revision there (default:
        default
        branch ← HEAD), so an end-to-end run sees the same commits in its workspace and through the API."""

        def git(*args: str) -> bytes:
            return subprocess.run(["git", "-C", str(checkout), *args], check=True, capture_output=True).stdout

        refs = refs or {repo.default_branch: "HEAD"}
        blobs: dict[str, bytes] = {}  # most files are the same in most commits
        for line in git("rev-list", "--topo-order", "--reverse", "--parents", *refs.values()).decode().splitlines():
            sha, *parents = line.split()
            if sha in repo.network.commits:
                continue
            files = {}
            for entry in git("ls-tree", "-r", "-z", sha).split(b"\0")[:-1]:
                meta, path = entry.split(b"\t", 1)
                _, kind, blob = meta.decode().split()
                if kind == "blob":
                    if blob not in blobs:
                        blobs[blob] = git("cat-file", "blob", blob)
                    files[path.decode()] = blobs[blob]
            name, email, stamp, message = (
                git("show", "-s", "--format=%an%x00%ae%x00%ct%x00%B", sha).decode().split("\0")
            )
            date = datetime.fromtimestamp(int(stamp), UTC)
            author = next((user for user in self.users.values() if user.email == email), None)
            repo.network.commits[sha] = Commit(sha, tuple(parents), files, message.strip(), author, date, name, email)
        for branch, revision in refs.items():
            self.set_branch(repo, branch, git("rev-parse", f"{revision}^{{commit}}").decode().strip())

    def all_pulls(self) -> list[PullRequest]:
        return [pr for repo in self.repos.values() for pr in repo.pulls.values()]
