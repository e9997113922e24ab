"""Playing a scenario in a lab that runs: acts, looks, and what was missing in the end."""

import time
from collections.abc import Callable

from accelwatch.base.errors import AccelwatchError, UsageError
from accelwatch_lab.cluster.http_client import page, post
from accelwatch_lab.cluster.lab import Lab, Record, spare_is_ready
from accelwatch_lab.cluster.slurm.step_counter import CHECKPOINT_EVERY, lines_of
from accelwatch_lab.cluster.snapshot import LabSnapshot, read_snapshot
from accelwatch_lab.cluster.stories.hands import Hands
from accelwatch_lab.cluster.stories.scenarios import SCENARIOS, Act, Phase, Scenario
from accelwatch_lab.cluster.stories.signs import PhaseContext, recognised
from accelwatch_lab.cluster.stories.story import Entry, Story, copies, resumed_at
from accelwatch_lab.cluster.waiting import WaitTimeoutError, until

# Of four nodes, by the lab's budget.
MOST_OUT = 2
_JOB_NODES = 2
_POLL_EVERY_S = 0.1
_FAULTS = frozenset({Act.LOSE_GPU, Act.HANG_NODE, Act.CUT_LINKS})
OnEntry = Callable[[Story, Entry], None]


class Play:
    """One scenario in one lab."""

    def __init__(self, lab: Lab, record: Record, name: str, on_entry: OnEntry) -> None:
        """`on_entry` gets each line of the timeline when it is observed."""
        self._lab = lab
        self._record = record
        self._scenario: Scenario = SCENARIOS[name]
        self.story = Story(scenario=name, title=self._scenario.title)
        self._on_entry = on_entry
        self._hands = Hands(lab, record)
        self._job = ""
        # A node that an administrator holds.
        self._theirs = ""

    def run(self) -> Story:
        """Play it; what was missing stands in the story. Raises AccelwatchError for a broken lab."""
        self._calm()
        try:
            self._start_job()
            for phase in self._scenario.phases:
                if not self._phase(phase):
                    break
            self._check_result()
        finally:
            self._hands.undo()
            self._lab.scheduler.cancel(self._job)
        return self.story

    def _calm(self) -> None:
        """Nothing is left of what was played before. Raises AccelwatchError."""
        post(self._record.hub, "/v1/breaker/reset", {"reason": "a scenario starts", "by": "lab"})
        try:
            until(self._is_calm, "the hub is idle, and nodes, spare and hub are ready")
        except WaitTimeoutError as error:
            text = f"{error}; start over: accelwatch lab down, then accelwatch lab up"
            raise WaitTimeoutError(text) from error

    def _is_calm(self) -> bool:
        page_ = page(self._record.hub, "/v1/remedies")
        busy = page_["remedies"] or page_["held"] or page_["frozen"] or page_["stopped_by"]
        if busy or page_["breaker"] != "closed":
            return False
        out = any(node.out for node in self._lab.scheduler.nodes_now().values())
        return spare_is_ready(self._record) and not out

    def _start_job(self) -> None:
        self._job = self._lab.scheduler.submit(_JOB_NODES)
        until(self._has_checkpoint, "the job runs and has written a checkpoint")
        now = self._lab.scheduler.job_now(self._job)
        nodes = "" if now is None else ", ".join(now.nodes)
        self._add_entry("job", f"job {self._job} runs on {nodes}, ten steps a second")

    def _has_checkpoint(self) -> bool:
        steps = [line.step for line in lines_of(self._lab.folder, self._job) if line.what == "step"]
        return max(steps, default=0) > CHECKPOINT_EVERY

    def _phase(self, phase: Phase) -> bool:
        """Whether everything was seen that it should have led to."""
        before = self._now()
        job = before.job
        written = max((line.restart for line in before.lines), default=0)
        node = self._subject(phase, before)
        since = time.time()
        for act in phase.acts:
            at = time.time()
            if act in _FAULTS and self.story.fault_at is None:
                self.story.fault_at = at
            what, text = self._hands.do(act, node)
            self._theirs = {Act.ADMIN_DRAIN: node, Act.GIVE_BACK: ""}.get(act, self._theirs)
            self._add_entry(what, text, at if act is not Act.WAIT else time.time())
        sick = () if phase.acts == (Act.REPAIR,) else tuple(self._hands.sick)
        restarts = 0 if job is None else job.restarts
        context = PhaseContext(node, sick, since, restarts, written)
        return self._await(phase, context)

    def _subject(self, phase: Phase, now: LabSnapshot) -> str:
        """The node that a phase is about: the job's first for a new fault, else one that is sick."""
        if not _FAULTS.isdisjoint(phase.acts):
            nodes = () if now.job is None else now.job.nodes
            return nodes[0] if nodes else self._lab.scheduler.names[0]
        if Act.REPAIR_FIRST in phase.acts:
            return self._hands.sick[0]
        if self._hands.sick:
            return self._hands.sick[-1]
        return self._theirs or self._lab.scheduler.names[0]

    def _await(self, phase: Phase, context: PhaseContext) -> bool:
        waiting = list(phase.expected)
        end = time.monotonic() + phase.within_s
        while True:
            now = self._now()
            self._never(now)
            for what in tuple(waiting):
                sign = recognised(what, now, context)
                if sign is not None:
                    waiting.remove(what)
                    self._add_entry(what.value, sign.text, sign.at)
            if not waiting:
                return True
            if time.monotonic() > end:
                names = ", ".join(waiting)
                self.story.missing.append(f"not seen within {phase.within_s:g} s: {names}")
                return False
            time.sleep(_POLL_EVERY_S)

    def _now(self) -> LabSnapshot:
        return read_snapshot(
            self._lab, self._record, self._job, scheduler=not self._hands.controller_hangs
        )

    def _never(self, now: LabSnapshot) -> None:
        """What may not be at any moment."""
        ours = sorted(name for name, node in now.nodes.items() if node.ours)
        if len(ours) > MOST_OUT:
            self._wrong(f"more nodes were taken out than the budget of {MOST_OUT} allows")
        theirs = now.nodes.get(self._theirs)
        if theirs is not None and (theirs.ours or not theirs.out):
            self._wrong(f"{self._theirs} was touched while an administrator held it")

    def _check_result(self) -> None:
        lines = lines_of(self._lab.folder, self._job)
        if copies(lines):
            self._wrong("an old copy of the job has written beside the new one")
        if self.story.fault_at is not None:
            at = resumed_at(lines, self.story.fault_at)
            self.story.recovered_s = None if at is None else at - self.story.fault_at
        if self.story.fault_at is not None and self.story.recovered_s is None:
            self._wrong("the job did no step after the fault")

    def _wrong(self, text: str) -> None:
        if text not in self.story.missing:
            self.story.missing.append(text)

    def _add_entry(self, what: str, text: str, at: float | None = None) -> None:
        entry = Entry(at=time.time() if at is None else at, what=what, text=text)
        self.story.entries.append(entry)
        self._on_entry(self.story, entry)


def check_playable(lab: Lab, name: str) -> None:
    """Raises UsageError for a scenario that means nothing with the lab's scheduler."""
    if reason := lab.scheduler.unplayable.get(name):
        raise UsageError(f"{name} is not played with {lab.scheduler.title}: {reason}")


def play(lab: Lab, record: Record, name: str, on_entry: OnEntry) -> Story:
    """Play a scenario by its name in a lab that runs. Raises AccelwatchError."""
    check_playable(lab, name)
    try:
        return Play(lab, record, name, on_entry).run()
    except AccelwatchError as error:
        raise type(error)(f"{name}: {error}") from error
