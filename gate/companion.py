"""The comment for a pull request whose own run may not write one (forks, Dependabot): on `workflow_run`, from what that run uploaded.

This process has rights, and the pull request's code decides what the artifact holds. So nothing is checked out and nothing is run; whom the
run was for is GitHub's word alone (:mod:`gate.github.trigger`), whether and for which gates there is a comment is the default branch's, and
of the artifact only validated numbers and inert names are shown (:mod:`gate.reports.claims`). No verdict depends on any of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from gate.baseline.choose import workflow_file
from gate.errors import CannotDecide, GateError, GitHubError, InvalidInput
from gate.github import commands
from gate.github.archives import Caps, read_zip
from gate.github.artifact_upload import SUFFIXES
from gate.github.artifacts import ArtifactTooLarge, WrongDigest, download, list_run_artifacts
from gate.github.comments import CommentResult, upsert_comment
from gate.github.event import Context
from gate.github.repository import Repository
from gate.github.trigger import Pull, Trigger, find_pull, foreign, trigger_of
from gate.inputs import Inputs
from gate.reports.claimed import Told, quiet, render_claimed
from gate.reports.claims import MAX_BYTES, Claims, read_claims
from gate.reports.report import REPORT_ARTIFACT
from gate.settings import COMMENTS, Settings, parse_settings

REPORT_FILE = "report.json"
# The whole artifact comes down, rankings included; of it one file is inflated.
MAX_DOWNLOAD = 128 * 1024**2
_CAPS = Caps(file=MAX_BYTES, total=MAX_BYTES)
_NAMED = 5


class _Nothing(Exception):
    """There is nothing to say, and that is nobody's fault; the message is one sentence."""


@dataclass
class Companion:
    """One run on the end of another. ``context.trigger_run`` is that other run."""

    inputs: Inputs
    context: Context
    repository: Repository
    results: list[CommentResult] = field(default_factory=list)

    def run(self, files: Mapping[str, str]) -> int:
        """Comment for every gate that the default branch knows and the run has reported on. 0 also when there is nothing to say; raises
        InvalidInput for an artifact or setting that cannot be used (nothing is posted from it), CannotDecide when GitHub does not let us
        write."""
        faults: list[GateError] = []
        try:
            trigger = self._trigger()
            gates = self._gates()
            pull = self._pull(trigger)
            for gate, rules in gates.items():
                # What one gate's artifact holds must not cost the comment of another.
                try:
                    self._speak(gate, rules, trigger, pull)
                except _Nothing as why:
                    _notice(f"gate {gate}: {why}")
                except (InvalidInput, GitHubError) as fault:
                    faults.append(fault)
            if not self.results and not faults:
                self._name_strangers(trigger, gates)
        except _Nothing as why:
            _notice(str(why))
        commands.set_outputs(files.get("GITHUB_OUTPUT"), {
            "comment-url": " ".join(result.url for result in self.results if result.url),
            "comment-status": " ".join(result.status for result in self.results) or "not-asked"})
        if faults:
            raise _together(faults)
        return 0

    # -- whose run it was ----------------------------------------------------------------------------------------------

    def _trigger(self) -> Trigger:
        """The run as GitHub knows it now; the payload told only its id."""
        trigger = trigger_of(self.repository.run(self.context.trigger_run))
        if why := foreign(trigger, self.context.trigger_run, self.context.repository_id):
            raise _Nothing(why)
        expected = workflow_file(self.inputs.workflow)
        if expected and trigger.path != expected:
            if self.repository.file_at(expected, self._tip) is None:
                raise InvalidInput(f"input `workflow`: the default branch has no {expected}", "name the file of the gate's workflow")
            raise _Nothing(f"run {trigger.id} was of the workflow {trigger.path}, not of {expected} (input `workflow`)")
        # A pull request can bring a workflow of any name and so start this one. A path proves no more than that the default branch has
        # such a workflow; what ran was the pull request's version of it, which is why nothing that it made is believed.
        if not expected and (not trigger.path or self.repository.file_at(trigger.path, self._tip) is None):
            raise _Nothing(f"run {trigger.id} was of the workflow {trigger.path}, which the default branch does not have")
        return trigger

    def _pull(self, trigger: Trigger) -> Pull:
        pulls = self.repository.open_pulls(trigger.head_owner, trigger.head_branch)
        found = find_pull(trigger, pulls, self.context.repository_id)
        if isinstance(found, str):
            raise _Nothing(found)
        return found

    # -- what the default branch says ----------------------------------------------------------------------------------

    @cached_property
    def _tip(self) -> str:
        # As a ref: a tag of the same name must not be read in its place.
        return self.repository.branch_tip(self.context.default_branch)

    def _gates(self) -> dict[str, Settings]:
        """Gate id → its settings on the default branch, for every configuration that the input names."""
        if self.inputs.comment and self.inputs.comment not in COMMENTS:
            raise InvalidInput(f"input `comment`: {self.inputs.comment!r} must be one of {', '.join(COMMENTS)}")
        tip, gates, problems = self._tip, {}, []
        for path in self.inputs.configs:
            data = self.repository.file_at(path, tip)
            if data is None:
                problems.append(f"input `config`: the default branch has no {path}")
                continue
            try:
                settings = parse_settings(data, path, f"{path}@{tip[:12]}")
            except InvalidInput as fault:
                problems += fault.problems
                continue
            if settings.gate in gates:
                problems.append(f"input `config`: {path} has the gate id {settings.gate} of another configuration")
            gates[settings.gate] = settings
        if problems:
            raise InvalidInput(problems, "name the gates' configuration files as they are on the default branch, one a line")
        return gates

    def _name_strangers(self, trigger: Trigger, gates: Mapping[str, Settings]) -> None:
        """A gate that no configuration here knows is more likely forgotten in the input than made up."""
        known = {REPORT_ARTIFACT + gate + suffix for gate in gates for suffix in SUFFIXES}
        names = {item.name for item in list_run_artifacts(self.repository, trigger.id)
                 if item.name.startswith(REPORT_ARTIFACT) and item.name not in known}
        if names:
            shown = ", ".join(ascii(name[:80]) for name in sorted(names)[:_NAMED])
            _notice(f"run {trigger.id} has reports that belong to no configuration of the input `config`: {shown}")

    # -- one gate ------------------------------------------------------------------------------------------------------

    def _speak(self, gate: str, rules: Settings, trigger: Trigger, pull: Pull) -> None:
        wish = self.inputs.comment or rules.comment
        if wish == "never":
            raise _Nothing("its setting `comment` is never")
        claims = self._claims(gate, trigger, pull)
        context = self.context
        told = Told(gate, rules.policy, pull.number, trigger.head_sha, trigger.id, trigger.attempt,
                    f"{context.server_url}/{context.repository}/actions/runs/{trigger.id}/attempts/{trigger.attempt}", trigger.conclusion)
        result = upsert_comment(self.repository, pull.number, gate, render_claimed(claims, told), trigger.head_sha, trigger.id,
                                trigger.attempt, graphql_url=context.graphql_url, yields=True,
                                create=not (wish == "on-change" and quiet(claims)))
        self.results.append(result)
        print(f"Retrieval Gate: comment of gate {gate} on #{pull.number}: {result.status} {result.url}".rstrip())
        if result.status in ("forbidden", "too-long", "failed"):
            # Writing it is all that this workflow is for: a green run that never comments would be noticed by nobody.
            raise GitHubError(f"gate {gate}: the comment on #{pull.number} could not be written: {result.detail}", 0,
                              "the job needs `pull-requests: write`; README, «Forks and Dependabot»")
        if result.detail:
            _notice(f"gate {gate}: {result.detail}")

    def _claims(self, gate: str, trigger: Trigger, pull: Pull) -> Claims:
        """What the newest report of this gate in that run claims, once it contradicts nothing that GitHub says."""
        listed = [item for suffix in SUFFIXES
                  for item in list_run_artifacts(self.repository, trigger.id, f"{REPORT_ARTIFACT}{gate}{suffix}")]
        own = [item for item in listed
               if (item.run_id, item.repository_id, item.head_repository_id, item.head_sha)
               == (trigger.id, self.context.repository_id, trigger.head_repository_id, trigger.head_sha)]
        if not own:
            raise _Nothing(f"run {trigger.id} has no report of it")
        newest = max(own, key=lambda item: item.id)
        if newest.expired:
            raise _Nothing(f"the report of run {trigger.id} has expired")
        name = f"gate {gate}: artifact {newest.id} of run {trigger.id}"
        try:
            data = download(self.repository, newest, limit=MAX_DOWNLOAD)
        except (ArtifactTooLarge, WrongDigest) as fault:
            raise InvalidInput(f"gate {gate}: {fault.problems[0]}", "nothing of it was shown") from None
        claims = read_claims(read_zip(data, (REPORT_FILE,), _CAPS, name)[REPORT_FILE], f"{name}, {REPORT_FILE}")
        if (claims.gate, claims.head_sha, claims.run_id) != (gate, trigger.head_sha, trigger.id):
            raise InvalidInput(f"{name}, {REPORT_FILE}: speaks of another gate, commit or run than GitHub does", "nothing of it was shown")
        if claims.attempt != trigger.attempt:
            raise _Nothing(f"the report is of attempt {claims.attempt}, and attempt {trigger.attempt} of run {trigger.id} has left none")
        if claims.pull_request != pull.number:
            raise _Nothing(f"the report speaks of #{claims.pull_request}, the head of run {trigger.id} is that of #{pull.number}")
        return claims


def _notice(sentence: str) -> None:
    print(commands.annotation("notice", sentence, title="No comment"))


def _together(faults: list[GateError]) -> GateError:
    """All faults as one error. What is wrong with an input comes first: that is somebody's to fix."""
    problems = [problem for fault in faults for problem in fault.problems]
    worst = next((fault for fault in faults if isinstance(fault, InvalidInput)), faults[0])
    return (InvalidInput if isinstance(worst, InvalidInput) else CannotDecide)(problems, worst.cure)
