"""Verbs for pull requests: open, push, label, review, comment, merge, merge queue."""

from __future__ import annotations

from .graph import ancestors, compare, merge_base
from .state import App, Comment, Commit, IssueEvent, MergeGroup, PullRequest, Repo, Review, User
from .world_repos import Files, RepoVerbs

Who = User | str


class PullVerbs(RepoVerbs):
    def open_pr(
        self,
        repo: Repo,
        author: Who,
        files: Files | None = None,
        *,
        branch: str = "feature",
        head_repo: Repo | None = None,
        title: str = "Change the retriever",
        body: str | None = None,
        base: str | None = None,
        draft: bool = False,
    ) -> PullRequest:
        """With `files` the branch gets one commit first. `head_repo=fake.fork(repo, by=…)` makes a fork's pull
        request."""
        source, user, base = head_repo or repo, self.user(author), base or repo.default_branch
        if files is not None:
            self.commit(source, files, branch, message=title, by=user)
        now = self.clock.tick()
        head = source.branches[branch]
        pr = PullRequest(
            self.ids("pull"), next(repo.numbers), repo, title, user, source, source.owner, branch, head, base,
            repo.branches[base], now, now, body, draft,
        )  # fmt: skip
        repo.pulls[pr.number] = pr
        pr.timeline.extend(repo.commit(sha) for sha in self.pr_commits(pr))
        return pr

    def pr_commits(self, pr: PullRequest) -> list[str]:
        """The pull request's own commits, oldest first."""
        if pr.final_commits is not None:
            return pr.final_commits
        found = compare(pr.repo.network, pr.repo.branches.get(pr.base_ref, pr.base_sha), pr.head_sha)
        return found.ahead if found else [pr.head_sha]

    def push(
        self,
        pr: PullRequest,
        files: Files,
        *,
        by: Who | None = None,
        message: str = "Update",
        parent: str | None = None,
    ) -> Commit:
        """One more commit on the head branch; with `parent` the branch is rewritten from there (force push)."""
        assert pr.head_repo is not None, "the fork was deleted: nobody can push to it"
        return self.commit(pr.head_repo, files, pr.head_ref, message=message, by=by or pr.author, parent=parent)

    def force_push(self, pr: PullRequest, sha: str, by: Who | None = None) -> None:
        """Point the head branch at a commit that exists already, also backwards."""
        assert pr.head_repo is not None
        self.set_branch(pr.head_repo, pr.head_ref, sha, by=by or pr.author, tick=True)

    def update_branch(self, pr: PullRequest, by: Who) -> Commit:
        """The "Update branch" button: merges the base branch into the head."""
        assert pr.head_repo is not None
        tip = pr.repo.branches[pr.base_ref]
        self.clock.tick()
        made = self.store_commit(
            pr.repo, self._merged_tree(pr.repo, pr.head_sha, tip), (pr.head_sha, tip),
            f"Merge branch '{pr.base_ref}' into {pr.head_ref}", by,
        )  # fmt: skip
        self.set_branch(pr.head_repo, pr.head_ref, made.sha, by=by)
        return made

    def _head_moved(self, repo: Repo, branch: str, before: str, forced: bool, by: User) -> None:
        for pr in self.all_pulls():
            if pr.head_repo is not repo or pr.head_ref != branch or pr.state != "open":
                continue
            known = set(self.pr_commits(pr))
            pr.head_sha = repo.branches[branch]
            pr.base_sha = pr.repo.branches[pr.base_ref]
            pr.updated_at = self.clock.now
            if forced:
                # A plain push leaves no issue event; only a forced one does.
                self._event(pr, "head_ref_force_pushed", by, commit_id=pr.head_sha)
            pr.timeline.extend(repo.commit(sha) for sha in self.pr_commits(pr) if sha not in known)

    # -- labels, events -----------------------------------------------------------------------------------------------

    def _event(self, pr: PullRequest, kind: str, actor: User, app: App | None = None, **more: object) -> IssueEvent:
        event = IssueEvent(self.ids("event"), kind, actor, self.clock.now, app=app, **more)  # type: ignore[arg-type]
        pr.timeline.append(event)
        pr.updated_at = self.clock.now
        return event

    def label(self, pr: PullRequest, name: str, by: Who, app: App | None = None) -> IssueEvent | None:
        """Put a label on; a label that is there already makes no second event."""
        self.clock.tick()
        label = self.repo_label(pr.repo, name)
        if label in pr.labels:
            return None
        pr.labels.append(label)
        return self._event(pr, "labeled", self.user(by), app, label=label)

    def unlabel(self, pr: PullRequest, name: str, by: Who, app: App | None = None) -> IssueEvent | None:
        self.clock.tick()
        label = pr.repo.labels.get(name)
        if label is None or label not in pr.labels:
            return None
        pr.labels.remove(label)
        return self._event(pr, "unlabeled", self.user(by), app, label=label)

    def lock(self, pr: PullRequest, by: Who) -> None:
        self.clock.tick()
        pr.locked = True
        self._event(pr, "locked", self.user(by), extra={"lock_reason": None})

    def close(self, pr: PullRequest, by: Who) -> None:
        pr.state, pr.closed_at = "closed", self.clock.tick()
        pr.final_commits = self.pr_commits(pr)
        self._event(pr, "closed", self.user(by))

    # -- reviews and comments ------------------------------------------------------------------------------------------

    def review(
        self, pr: PullRequest, by: Who, state: str = "APPROVED", body: str = "", commit_id: str | None = None
    ) -> Review:
        """State: APPROVED, CHANGES_REQUESTED or COMMENTED, on the current head unless commit_id says otherwise."""
        now = self.clock.tick()
        made = Review(self.ids("review"), pr, self.user(by), state, body, commit_id or pr.head_sha, now)
        pr.reviews.append(made)
        pr.timeline.append(made)
        pr.updated_at = now
        return made

    def approve(self, pr: PullRequest, by: Who, body: str = "", commit_id: str | None = None) -> Review:
        return self.review(pr, by, "APPROVED", body, commit_id)

    def dismiss(self, review: Review, by: Who, message: str = "") -> None:
        """Changes the state and keeps the commit id, as the service does."""
        self.clock.tick()
        was, review.state = review.state, "DISMISSED"
        dismissed = {"state": was.lower(), "review_id": review.id, "dismissal_message": message or None}
        self._event(review.pr, "review_dismissed", self.user(by), extra={"dismissed_review": dismissed})

    def comment(self, pr: PullRequest, by: Who, body: str, app: App | None = None) -> Comment:
        now = self.clock.tick()
        made = Comment(self.ids("comment"), pr, self.user(by), body, now, now, app)
        pr.comments.append(made)
        pr.timeline.append(made)
        pr.updated_at = now
        return made

    def edit_comment(self, comment: Comment, body: str) -> None:
        comment.body, comment.updated_at = body, self.clock.tick()

    def delete_comment(self, comment: Comment) -> None:
        comment.pr.comments.remove(comment)
        comment.pr.timeline.remove(comment)

    # -- merging ------------------------------------------------------------------------------------------------------

    def _merged_tree(self, repo: Repo, onto: str, head: str) -> dict[str, bytes]:
        """Three-way merge by whole files; where both sides changed a file the head wins (conflicts are not
        modelled)."""
        meeting = merge_base(repo.network, onto, head)
        base = repo.commit(meeting).files if meeting else {}
        ours, theirs = repo.commit(onto).files, repo.commit(head).files
        tree = dict(ours)
        for path in base.keys() | theirs.keys():
            if base.get(path) != theirs.get(path):
                if path in theirs:
                    tree[path] = theirs[path]
                else:
                    tree.pop(path, None)
        return tree

    def test_merge(self, pr: PullRequest) -> str:
        """Sha of refs/pull/N/merge: what GITHUB_SHA is in a pull_request run."""
        parents = (pr.repo.branches[pr.base_ref], pr.head_sha)
        message = f"Merge {parents[1]} into {parents[0]}"
        for commit in pr.repo.network.commits.values():
            if commit.parents == parents and commit.message == message:
                return commit.sha
        tree = self._merged_tree(pr.repo, *parents)
        return self.store_commit(pr.repo, tree, parents, message, pr.author).sha

    def _land(self, pr: PullRequest, onto: str, method: str, by: User) -> list[str]:
        """Build the commits that a merge puts on top of `onto`; the last one becomes merge_commit_sha."""
        repo, tree = pr.repo, self._merged_tree(pr.repo, onto, pr.head_sha)
        if method == "merge":
            text = f"Merge pull request #{pr.number} from {pr.head_owner.login}/{pr.head_ref}\n\n{pr.title}"
            return [self.store_commit(repo, tree, (onto, pr.head_sha), text, by).sha]
        if method == "squash":
            return [self.store_commit(repo, tree, (onto,), f"{pr.title} (#{pr.number})", pr.author).sha]
        assert method == "rebase", method
        landed, parent = [], onto
        for sha in self.pr_commits(pr):
            original = repo.commit(sha)
            step = self._merged_tree(repo, parent, sha)
            parent = self.store_commit(repo, step, (parent,), original.message, original.author).sha
            landed.append(parent)
        return landed

    def _merged(self, pr: PullRequest, landed: list[str], by: User) -> None:
        pr.final_commits = self.pr_commits(pr)
        pr.state, pr.merged_by, pr.landed = "closed", by, landed
        pr.closed_at = pr.merged_at = self.clock.now
        pr.merge_commit_sha = landed[-1]
        self._event(pr, "merged", by, commit_id=landed[-1])
        self._event(pr, "closed", by)

    def merge(self, pr: PullRequest, by: Who, method: str = "squash") -> str:
        """Merge by `merge`, `squash` or `rebase`; returns merge_commit_sha, the base branch's new tip."""
        actor = self.user(by)
        self.clock.tick()
        landed = self._land(pr, pr.repo.branches[pr.base_ref], method, actor)
        self._merged(pr, landed, actor)
        self.set_branch(pr.repo, pr.base_ref, landed[-1], by=actor, kind="pr_merge")
        return landed[-1]

    def queue(self, *prs: PullRequest, method: str = "squash", behind: MergeGroup | None = None) -> MergeGroup:
        """Form a merge group; `behind` queues it on top of another group that has not landed yet."""
        first, repo = prs[0], prs[0].repo
        self.clock.tick()
        onto = base = behind.head_sha if behind else repo.branches[first.base_ref]
        landings = []
        for pr in prs:
            landed = self._land(pr, onto, method, pr.author)
            landings.append((pr, landed))
            onto = landed[-1]
        ref = f"gh-readonly-queue/{first.base_ref}/pr-{prs[-1].number}-{base}"
        repo.branches[ref] = onto
        return MergeGroup(repo, first.base_ref, base, f"refs/heads/{ref}", onto, landings)

    def land(self, group: MergeGroup, by: Who = "github-merge-queue[bot]") -> str:
        """The queue fast-forwards the base branch to the group's head."""
        actor = self.user(by)
        self.clock.tick()
        assert group.repo.branches[group.base_ref] in ancestors(group.repo.network, group.head_sha), "group is stale"
        for pr, landed in group.landings:
            self._merged(pr, landed, actor)
        group.repo.branches.pop(group.head_ref.removeprefix("refs/heads/"))
        self.set_branch(group.repo, group.base_ref, group.head_sha, by=actor, kind="merge_queue_merge")
        return group.head_sha
