"""One run of the action on one event: evaluate, compare by the rules in force, publish where that is the event's right, deliver. No
decision about quality is taken here."""

from __future__ import annotations

import sys
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from gate import pipeline, references
from gate.baseline.approval import judge
from gate.baseline.making import input_metadata
from gate.baseline.open_store import open_store, with_committed
from gate.baseline.publish import Publisher, first_provenance, first_words, grant_of, queued_approval
from gate.baseline.stores import Found, Missing, Published, Store
from gate.changes import policy_changes
from gate.delivery import Outside, deliver, inside_path, show_printed, where
from gate.errors import CannotDecide, GateError, InvalidInput
from gate.explain.ask import of_workflow
from gate.github import commands
from gate.github.approvals import approval_facts
from gate.github.archives import make_zip
from gate.github.artifact_upload import ArtifactService
from gate.github.event import Context, Mode, tier_of
from gate.github.repository import Repository
from gate.history import leading_to
from gate.inputs import Inputs
from gate.latest import merged_between
from gate.pipeline import Circumstances, Evaluated
from gate.policy import Policy
from gate.progress import shown_on
from gate.reports.report import REPORT_ARTIFACT, InputChange, Report
from gate.runs import RUN_FILE, run_lines
from gate.settings import Settings, load_settings, parse_settings, policy_facts
from gate.world import World


@dataclass
class Step:
    """One run of the action on one event. What is learnt on the way is kept, so that a failure report has it too: ``rules``, which decide,
    are the base branch's where it has readable ones (``unreadable``: it has others); ``comment``: when there is to be one, by those rules;
    ``updated``: what has become of the baseline; ``extra``: files for the report's folder and artifact, a proposed baseline."""

    inputs: Inputs
    context: Context
    workspace: Path
    repository: Repository
    service_environ: Mapping[str, str]
    world: World = World()
    sleep: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.time
    settings: Settings | None = field(default=None, init=False)
    evaluated: Evaluated | None = field(default=None, init=False)
    around: Circumstances = field(default=Circumstances(), init=False)
    updated: str = field(default="no", init=False)
    unreadable: bool = field(default=False, init=False)
    comment: str = field(default="", init=False)
    rules: Settings | None = field(default=None, init=False)
    extra: dict[str, bytes] = field(default_factory=dict, init=False)

    def run(self, mode: Mode, files: Mapping[str, str]) -> int:
        """Evaluate, compare, publish where that is this event's right, deliver."""
        self.around = Circumstances(metadata=where(self.context), kept=RUN_FILE)
        try:
            report = self._judge(mode)
        except GateError as error:
            report = self._failed(error)
        except Exception as error:
            # An input that nobody foresaw must not cost the comment and the outputs as well.
            print(commands.neutralise(traceback.format_exc()))
            report = self._failed(CannotDecide(f"the gate itself broke ({type(error).__name__}: {error}); the log has the traceback",
                                               "report it with the traceback; this is no judgement of the change"))
        evaluated, settings = self.evaluated, self.settings
        if self.extra:
            self.updated = "proposed"
        if settings:
            report = replace(report, explain=self._commands(report, settings))
        if evaluated:
            show_printed(evaluated.printed)
        outside = Outside(self.context, self.workspace, self.inputs.report_dir, files, self.repository, self._upload)
        golden = inside_path(settings.golden if settings else None, self.workspace)
        return deliver(report, outside, run=run_lines(evaluated.shown) if evaluated else None, golden=golden,
                       comment=self.comment or (settings.comment if settings else "always"), baseline_updated=self.updated,
                       extra=self.extra)

    def _commands(self, report: Report, settings: Settings) -> tuple[str, ...]:
        names = f"{settings.baseline.artifact}-{settings.gate}", settings.baseline.path
        return of_workflow(str(report.metadata.get("run_id") or ""), REPORT_ARTIFACT + report.gate,
                           report.baseline_info.url if report.baseline_info else "", names, self.inputs.config, settings.tier)

    def _failed(self, error: GateError) -> Report:
        return pipeline.failure_report(error, self.settings.policy if self.settings else Policy(), self.around)

    def _judge(self, mode: Mode) -> Report:
        tier = self.inputs.tier or tier_of(self.context.event)
        self._know(tier=tier, **({"branch": self.context.default_branch} if mode is Mode.PUBLISH else {}))
        settings = self.settings = load_settings(self.workspace / self.inputs.config, self.workspace, self.inputs.overrides, tier)
        self.around = replace(self.around, gate=settings.gate, show_queries=settings.show_queries, proposed=settings.policy.tolerance)
        # Before anything of this change can fail: whether it gets a comment is for the base branch to say.
        self.rules = settings if mode is Mode.PUBLISH else self._rules_in_force(settings)
        asked = replace(settings, splits=self.rules.splits, repeat=self.rules.repeat, show_queries=self.around.show_queries)
        evaluated = self.evaluated = pipeline.evaluate(asked, self.world, shown_on(sys.stdout), everything=mode is Mode.PUBLISH)
        self._know(**input_metadata(settings, evaluated))
        self.around = replace(self.around, titles=evaluated.titles, excerpts=evaluated.excerpts, notes=evaluated.notes)
        judge_event = {Mode.PULL_REQUEST: self._pull_request, Mode.PUBLISH: self._default_branch}.get(mode, self._compare_only)
        return judge_event(settings, evaluated)

    def _pull_request(self, settings: Settings, evaluated: Evaluated) -> Report:
        pull = self.context.pull_request
        assert pull is not None
        label = (self.rules or settings).baseline.label
        self.around = replace(self.around, approval=judge(approval_facts(self.repository, pull.number, label), pull.head_sha))
        return self._compare(settings, evaluated)

    def _compare(self, settings: Settings, evaluated: Evaluated) -> Report:
        """Against the stored baseline, by the rules in force."""
        rules = self.rules or settings
        before = self._base if self.context.event in ("pull_request", "merge_group") else ""
        found = self._find(self._store(rules), self._base, before, settings, evaluated)
        return self._assess(evaluated, found, rules) if isinstance(found, Found) else self._adopt(found, settings, evaluated)

    def _find(self, store: Store, contained_in: str, before: str, settings: Settings, evaluated: Evaluated) -> Found | Missing:
        """The baseline. ``before``: the commit that this change is measured against, "" where it is none: what it does to a committed
        baseline is shown and asks for an approval."""
        found = store.find(contained_in, self.context.run_id)
        if before:
            found, changes = with_committed(store, found, before, self.context, settings, evaluated)
            self.around = replace(self.around, changes=(*self.around.changes, *changes))
        return found

    def _adopt(self, missing: Missing, settings: Settings, evaluated: Evaluated) -> Report:
        """No baseline: fine only where there never was one and this change brings the gate."""
        if self.rules is not settings or missing.kind != "never" or self.unreadable:
            raise missing.error()
        self._say("The base branch has no configuration of this gate yet: nothing was compared. After the merge the first run on the "
                  "default branch makes the baseline.")
        self.around = replace(self.around, changes=())
        return self._assess(evaluated, None, settings)

    def _compare_only(self, settings: Settings, evaluated: Evaluated) -> Report:
        """Merge queue and other branches: the same question, and nothing is written."""
        if self.context.queued_pull:
            # Approved is approved: otherwise no accepted change could ever pass the queue.
            label = (self.rules or settings).baseline.label
            self.around = replace(self.around, approval=queued_approval(self.repository, self.context, label))
        return self._compare(settings, evaluated)

    @cached_property
    def _base(self) -> str:
        """The commit or branch that this change is measured against."""
        pull = self.context.pull_request
        if pull is not None:
            return self.repository.branch_tip(pull.base_ref) or pull.base_sha
        return (self.context.before if self.context.event == "merge_group" else "") or self.context.default_branch

    def _rules_in_force(self, settings: Settings) -> Settings:
        pull, default = self.context.pull_request, self.context.default_branch
        if pull is None or pull.base_ref == default:
            return self._rules_at(self._base, settings)
        # A check belongs to a commit, not to a pull request: another branch's rules must not give the green that main would not.
        rules = self._rules_at(default, settings)
        return self._rules_at(self._base, settings) if rules is settings else rules

    def _default_branch(self, settings: Settings, evaluated: Evaluated) -> Report:
        self._know(label=settings.baseline.label)
        store = self._store(settings)
        found = self._find(store, self.context.sha, self.context.before, settings, evaluated)
        grant = grant_of(self.repository, self.context, settings.baseline.label, found, self.sleep)
        self.around = replace(self.around, approval=grant.approval)
        past = found.history if isinstance(found, Found) else ()
        publisher = Publisher(store, self.context, settings, evaluated, self.clock, past)
        if isinstance(found, Found):
            if grant.why_not:
                self._say(grant.why_not)
                self.around = replace(self.around, approval=None)
            report = self._assess(evaluated, found, settings)
            done = publisher.overwrite(report, grant.provenance, found.record.digest) if grant.provenance and report.exit_code == 0 \
                else publisher.carry(found, report)
            return self._published(report, done)
        provenance = grant.provenance or first_provenance(self.repository, self.context, found)
        report = self._assess(evaluated, None, settings)
        # Below a floor there is none either, unless somebody has approved just that.
        if report.verdict == "no-baseline" or (report.verdict == "accepted" and grant.provenance):
            done = publisher.overwrite(report, provenance, "")
            words = first_words(found, provenance) if done.state != "no" else ()
            report = self._published(replace(report, notes=(*report.notes, *words)), done)
        return report

    def _published(self, report: Report, done: Published) -> Report:
        self.updated = done.state
        return replace(report, notes=(*report.notes, *done.notes))

    def _rules_at(self, base: str, settings: Settings) -> Settings:
        """The rules in force are the base branch's; what this change makes of them is shown and takes effect after the merge. Where the
        base has no (readable) configuration they are this change's own, which an approval has to cover if there is a baseline."""
        data = self.repository.file_at(self.inputs.config, base)
        state = "none on the base branch"
        if data is not None:
            try:
                rules = parse_settings(data, settings.source, f"{self.inputs.config}@{base[:12]}", settings.tier)
            except InvalidInput as error:
                self.unreadable, state = True, f"unreadable on the base branch ({error.problems[0]})"
            else:
                self._know(label=rules.baseline.label)
                self.comment = self.inputs.comment or rules.comment
                self.around = replace(self.around, gate=rules.gate, show_queries=rules.show_queries and settings.show_queries,
                                      changes=tuple(policy_changes(policy_facts(rules), policy_facts(settings))))
                return rules
        self._know(label=settings.baseline.label)
        self.around = replace(self.around, changes=(InputChange("configuration", state, self.inputs.config, needs_approval=True),))
        return settings

    def _assess(self, evaluated: Evaluated, found: Found | None, rules: Settings) -> Report:
        if evaluated.failure:
            raise evaluated.failure
        if found is None:
            return pipeline.assess(evaluated.golden, evaluated.run, None, rules.policy, self.around, splits=rules.splits,
                                   repeats=evaluated.repeats)
        self._say(*found.notes)
        reference = references.reference_of(found.record, found.info)
        latest = references.reference_of(found.latest) if found.latest else None
        report = pipeline.assess(evaluated.golden, evaluated.run, reference, rules.policy, self.around, splits=rules.splits,
                                 repeats=evaluated.repeats, latest=latest)
        report = replace(report, history=leading_to(found.history, report))
        if self.context.pull_request is None:
            return report
        return replace(report, notes=(*report.notes, *merged_between(report.latest, report.checks, self._base)))

    # -- the outside world ---------------------------------------------------------------------------------------------

    def _store(self, rules: Settings) -> Store:
        return open_store(self.repository, rules, self.context, self.workspace, service=self._service, keep=self.extra.__setitem__,
                          clock=self.clock)

    def _service(self) -> ArtifactService:
        return ArtifactService(self.service_environ, sleep=self.sleep)

    def _upload(self, name: str, files: Mapping[str, bytes]) -> str:
        context = self.context
        done = self._service().upload(name, make_zip(files))
        return f"{context.server_url}/{context.repository}/actions/runs/{context.run_id}/artifacts/{done.id}"

    def _know(self, **facts: Any) -> None:
        self.around = replace(self.around, metadata={**self.around.metadata, **facts})

    def _say(self, *notes: str) -> None:
        self.around = replace(self.around, notes=(*self.around.notes, *notes))
