"""One GitHub event → exit code. Builds the outside world, calls the pipeline; no decision about quality is taken here."""

from __future__ import annotations

import os
import sys
import time
import traceback
from collections.abc import Callable, Mapping, MutableMapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gate import pipeline
from gate.baseline.approval import Eligibility, judge
from gate.baseline.record import Provenance, pack
from gate.baseline.stores import ArtifactStore, Found, Missing
from gate.delivery import Outside, deliver, show_printed
from gate.errors import EXIT_CANNOT_DECIDE, GateError, GitHubError
from gate.github import commands
from gate.github.approvals import approval_facts
from gate.github.archives import make_zip
from gate.github.artifact_upload import ArtifactService
from gate.github.event import Context, Mode, choose_mode, read_context
from gate.github.merges import merged_pulls
from gate.github.repository import Repository
from gate.github.transport import Transport
from gate.inputs import Inputs, drop_secrets, read_inputs
from gate.pipeline import Circumstances, Evaluated, Reference
from gate.policy import Policy
from gate.reports.report import InputChange, Report
from gate.runs import run_lines
from gate.settings import Settings, load_settings, parse_settings, policy_facts


def main(environ: MutableMapping[str, str] | None = None, sleep: Callable[[float], None] = time.sleep,
         clock: Callable[[], float] = time.time) -> int:
    """The step. Never lets an unforeseen error look like a pass."""
    environ = os.environ if environ is None else environ
    try:
        return _run(environ, sleep, clock)
    except GateError as error:
        print(commands.annotation("error", error.text(), title="Retrieval Gate"))
        return error.exit_code
    except Exception:
        print(commands.neutralise(traceback.format_exc()))
        print(commands.annotation("error", "The gate itself broke; the log has the traceback. This is no judgement of the change.",
                                  title="Retrieval Gate"))
        return EXIT_CANNOT_DECIDE
    finally:
        sys.stdout.flush()


def _run(environ: MutableMapping[str, str], sleep: Callable[[float], None], clock: Callable[[], float]) -> int:
    inputs, context = read_inputs(environ), read_context(environ)
    service_environ = {name: environ[name] for name in ("ACTIONS_RESULTS_URL", "ACTIONS_RUNTIME_TOKEN") if name in environ}
    files = {name: environ.get(name, "") for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
    workspace = Path(environ.get("GITHUB_WORKSPACE") or ".")
    drop_secrets(environ)
    choice = choose_mode(context)
    print(f"Retrieval Gate: {choice.reason}")
    if choice.mode is Mode.IGNORED:
        return 0
    if not inputs.token:
        raise GitHubError("input `token`: is empty", 0, "leave it out to take the job's token, or pass a secret that exists")
    repository = Repository(Transport(context.api_url, inputs.token, sleep=sleep), context.repository)
    step = Step(inputs, _completed(context, repository), workspace, repository, service_environ, sleep, clock)
    return step.run(choice.mode, files)


def _completed(context: Context, repository: Repository) -> Context:
    """The payloads of some events, and some runners, leave out what must be known of the repository and the workflow."""
    if not context.repository_id or not context.default_branch:
        known = repository.identity()
        context = replace(context, repository_id=context.repository_id or known.id,
                          default_branch=context.default_branch or known.default_branch)
    if not context.workflow_path and context.run_id:
        path = str(repository.run(context.run_id).get("path") or "")
        context = replace(context, workflow_path=path.split("@")[0])
    return context


@dataclass
class Step:
    """One run of the action on one event; what is learnt on the way is kept, so that a failure report has it too."""

    inputs: Inputs
    context: Context
    workspace: Path
    repository: Repository
    service_environ: Mapping[str, str]
    sleep: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.time
    settings: Settings | None = None
    evaluated: Evaluated | None = None
    around: Circumstances = Circumstances()
    updated: str = "no"

    def run(self, mode: Mode, files: Mapping[str, str]) -> int:
        """Evaluate, compare, publish where that is this event's right, deliver."""
        self.around = Circumstances(metadata=self._where())
        try:
            report = self._judge(mode)
        except GateError as error:
            report = pipeline.failure_report(error, self.settings.policy if self.settings else Policy(), self.around)
        evaluated, settings = self.evaluated, self.settings
        if evaluated:
            show_printed(evaluated.printed)
        outside = Outside(self.context, self.workspace, self.inputs.report_dir, files, self.repository, self._upload)
        return deliver(report, outside, run=run_lines(evaluated.run.rankings) if evaluated else None,
                       comment=settings.comment if settings else "always", golden=self._golden_path(), baseline_updated=self.updated)

    def _judge(self, mode: Mode) -> Report:
        settings = self.settings = load_settings(self.workspace / self.inputs.config, self.workspace, self.inputs.overrides)
        self.around = replace(self.around, gate=settings.gate, show_queries=settings.show_queries)
        evaluated = self.evaluated = pipeline.evaluate(settings, _progress())
        self.around = replace(self.around, titles=evaluated.titles, notes=(*self.around.notes, *evaluated.notes),
                              metadata={**self.around.metadata, **pipeline.input_metadata(settings, evaluated)})
        if mode is Mode.PULL_REQUEST:
            return self._pull_request(settings, evaluated)
        if mode is Mode.PUBLISH:
            return self._publish(settings, evaluated)
        return self._compare_only(settings, evaluated)

    # -- pull requests -------------------------------------------------------------------------------------------------

    def _pull_request(self, settings: Settings, evaluated: Evaluated) -> Report:
        pull = self.context.pull_request
        assert pull is not None
        base_sha = self.repository.branch_tip(pull.base_ref) or pull.base_sha
        base = self._settings_at(base_sha, settings)
        # The rules in force are the base branch's; what this change makes of them is shown and takes effect after the merge.
        rules = base or settings
        self._note(label=rules.baseline.label)
        self.around = replace(self.around, approval=judge(
            approval_facts(self.repository, pull.number, rules.baseline.label), pull.head_sha))
        found = self._store(rules).find(base_sha, self.context.run_id)
        changes = self._policy_changes(base, settings)
        if isinstance(found, Missing):
            if base is not None:
                raise found.error()
            self._add_notes("The base branch has no configuration of this gate yet: nothing was compared. After the merge the first "
                            "run on the default branch makes the baseline.")
            return self._assess(evaluated, None, rules.policy, ())
        self._add_notes(*found.notes)
        return self._assess(evaluated, found, rules.policy, changes)

    def _policy_changes(self, base: Settings | None, settings: Settings) -> list[InputChange]:
        if base is None:
            return []
        return pipeline.policy_changes(policy_facts(base.policy, base.baseline), policy_facts(settings.policy, settings.baseline))

    def _settings_at(self, sha: str, settings: Settings) -> Settings | None:
        """The configuration on the base branch; None when it has none."""
        data = self.repository.file_at(self.inputs.config, sha)
        return None if data is None else parse_settings(data, settings.source, f"{self.inputs.config}@{sha[:12]}")

    # -- merge queue and other branches --------------------------------------------------------------------------------

    def _compare_only(self, settings: Settings, evaluated: Evaluated) -> Report:
        base_sha = self.context.before if self.context.event == "merge_group" else self.context.default_branch
        base = self._settings_at(base_sha, settings) if base_sha else None
        rules = base or settings
        found = self._store(rules).find(base_sha or self.context.default_branch, self.context.run_id)
        if isinstance(found, Missing):
            raise found.error()
        self._add_notes(*found.notes)
        return self._assess(evaluated, found, rules.policy, self._policy_changes(base, settings))

    # -- the default branch --------------------------------------------------------------------------------------------

    def _publish(self, settings: Settings, evaluated: Evaluated) -> Report:
        self._note(label=settings.baseline.label)
        store = self._store(settings)
        found = store.find(self.context.sha, self.context.run_id)
        approval = self._merged_approval(settings)
        self.around = replace(self.around, approval=approval)
        approved = approval is not None and approval.eligible
        if isinstance(found, Missing):
            return self._publish_first(store, settings, evaluated, found, approval if approved else None)
        self._add_notes(*found.notes)
        report = self._assess(evaluated, found, settings.policy, ())
        if approved and report.exit_code == 0:
            self._store_new(store, settings, evaluated, report, _approved(approval), found.record.digest)
        else:
            store.publish(found.data, "carried", head_sha=self.context.sha, run_id=self.context.run_id, job=self.context.job,
                          carried_from=found.artifact_id)
            self.updated = "carried"
        return report

    def _publish_first(self, store: ArtifactStore, settings: Settings, evaluated: Evaluated, missing: Missing,
                       approval: Eligibility | None) -> Report:
        """No baseline: the very first run makes one. One that expired comes back only by a person's doing, and says whose."""
        by = ""
        if missing.kind != "never" and approval is None:
            by = self._dispatcher()
            if not by:
                raise missing.error()
        report = self._assess(evaluated, None, settings.policy, ())
        if report.verdict != "no-baseline":
            return report
        provenance = _approved(approval) if approval else Provenance(by=by)
        self._store_new(store, settings, evaluated, report, provenance, "")
        said = f"{missing.sentence} This run is the baseline from now on, {provenance.sentence()}: all that it ranks today is accepted."
        return replace(report, notes=(*report.notes, said, *missing.refused))

    def _dispatcher(self) -> str:
        """Who started this run by hand with the right to; "" for every other run."""
        context = self.context
        who = context.triggering_actor or context.actor
        if context.event != "workflow_dispatch" or self.repository.permission(who) not in ("admin", "maintain", "write"):
            return ""
        return who

    def _merged_approval(self, settings: Settings) -> Eligibility | None:
        """The approval of the pull request that this push merged, judged again now. Of several, all must be approved."""
        context = self.context
        if context.event != "push":
            return None
        merged = merged_pulls(self.repository, context.sha, context.before, context.repository_id, context.default_branch,
                              sleep=self.sleep)
        if merged.direct:
            self._add_notes("This push merged no pull request, so no approval can move the baseline.")
            return None
        judged = [judge(approval_facts(self.repository, pull.number, settings.baseline.label), pull.head_sha)
                  for pull in merged.pulls]
        if merged.unexplained:
            self._add_notes(f"{len(merged.unexplained)} commits of this push came without a pull request, so no approval covers them.")
            return next((one for one in judged if not one.eligible), None)
        return next((one for one in judged if not one.eligible), judged[-1])

    def _store_new(self, store: ArtifactStore, settings: Settings, evaluated: Evaluated, report: Report, provenance: Provenance,
                   parent: str) -> None:
        context = self.context
        record = pipeline.make_record(settings, evaluated, report, provenance, parent=parent, repository=context.repository,
                                      repository_id=context.repository_id, commit=context.sha, run_id=str(context.run_id),
                                      created=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(self.clock())))
        store.publish(pack(record), provenance.kind, head_sha=context.sha, run_id=context.run_id, job=context.job)
        self.updated = provenance.kind

    # -- common --------------------------------------------------------------------------------------------------------

    def _assess(self, evaluated: Evaluated, found: Found | None, policy: Policy, changes: list[InputChange] | tuple[()]) -> Report:
        if evaluated.failure:
            raise evaluated.failure
        reference: Reference | None = None
        if found is not None:
            reference = pipeline.reference_of(found.record, found.info)
            changes = [*pipeline.corpus_change(evaluated, found.record), *changes]
        self.around = replace(self.around, changes=tuple(changes))
        return pipeline.assess(evaluated.golden, evaluated.run, reference, policy, self.around)

    def _store(self, rules: Settings) -> ArtifactStore:
        context = self.context
        return ArtifactStore(self.repository, rules.baseline, rules.gate, repository_id=context.repository_id,
                             default_branch=context.default_branch, workflow=context.workflow_path, server_url=context.server_url,
                             service=self._service, clock=self.clock)

    def _service(self) -> ArtifactService:
        return ArtifactService(self.service_environ, sleep=self.sleep)

    def _upload(self, name: str, files: Mapping[str, bytes]) -> str:
        context = self.context
        done = self._service().upload(name, make_zip(files))
        return f"{context.server_url}/{context.repository}/actions/runs/{context.run_id}/artifacts/{done.id}"

    def _golden_path(self) -> str:
        if self.settings is None:
            return ""
        path = self.settings.golden.resolve()
        root = self.workspace.resolve()
        return path.relative_to(root).as_posix() if path.is_relative_to(root) else ""

    def _where(self) -> dict[str, Any]:
        context, pull = self.context, self.context.pull_request
        facts = {"head_sha": context.head_sha, "run_url": context.run_url, "run_id": context.run_id, "run_attempt": context.attempt,
                 "repository_url": f"{context.server_url}/{context.repository}"}
        return facts | ({"pull_request": pull.number, "base_sha": pull.base_sha} if pull else {})

    def _note(self, **facts: Any) -> None:
        self.around = replace(self.around, metadata={**self.around.metadata, **facts})

    def _add_notes(self, *notes: str) -> None:
        self.around = replace(self.around, notes=(*self.around.notes, *notes))


def _approved(approval: Eligibility | None) -> Provenance:
    assert approval is not None and approval.eligible
    return Provenance("approved", approval.pull_request, approval.approver, approval.reason, approval.review_id, approval.label_event_id)


def _progress() -> pipeline.Progress:
    """A line every few seconds; a job log is no terminal."""
    last = [time.monotonic()]

    def say(done: int, total: int) -> None:
        if time.monotonic() - last[0] >= 5.0 or done == total:
            last[0] = time.monotonic()
            print(f"answered {done} of {total} queries", flush=True)

    return say

