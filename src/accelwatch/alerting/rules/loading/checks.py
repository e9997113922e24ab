"""Parts of a rule that are more than their type: durations, actions, groups, canaries."""

import signal
from collections.abc import Mapping
from typing import Any

from accelwatch.alerting.rules.document import (
    ActionDocument,
    CanaryDocument,
    DeadlinesDocument,
    Duration,
    GroupDocument,
    JobAction,
    JobPolicy,
    Quarantine,
    When,
)
from accelwatch.alerting.rules.rule import Action, Canary, Deadlines, EscalationStep, Grouping
from accelwatch.base.durations import seconds
from accelwatch.base.errors import UsageError
from accelwatch.system.located_yaml.document import LocatedDocument
from accelwatch.system.located_yaml.nodes import Location

LONGEST_S = 400 * 86_400.0
_SHORTEST_DEADLINE_S = 10.0
_LONGEST_DEADLINE_S = 86_400.0
# Rungs that somebody carries out.
REMEDIES = ("reset", "reboot", "power_cycle", "service")
GROUPS = ("fleet", "rack", "job", "node", "model", "stage", "driver_version")
_LABEL = "labels."


class Section:
    """A location in a document, to report errors at."""

    def __init__(self, document: LocatedDocument, path: Location) -> None:
        self._document = document
        self._path = path

    def at(self, *steps: str | int) -> "Section":
        """What is below a key or a position."""
        return Section(self._document, (*self._path, *steps))

    @property
    def line(self) -> int:
        """Where it is written."""
        return self._document.line(self._path)

    def complain(self, key: str | int, message: str) -> None:
        """Something is wrong with the value of a key or position."""
        self._document.complain((*self._path, key), message)


def seconds_of(written: Duration, section: Section, key: str | int) -> float:
    """A duration in seconds; 0 with a complaint for what is none."""
    try:
        value = seconds(written) if isinstance(written, str) else float(written)
    except UsageError as error:
        section.complain(key, str(error))
        return 0.0
    if not value <= LONGEST_S:
        section.complain(key, "longer than 400 days")
        return 0.0
    return value


def action_of(written: ActionDocument | None, section: Section) -> Action | None:
    """The action of a rule, checked; it is carried out by nobody here."""
    if written is None:
        return None
    job = written.job or JobAction(policy=JobPolicy.NOTHING)
    quarantine = written.quarantine
    if job.signal and f"SIG{job.signal.removeprefix('SIG')}" not in signal.Signals.__members__:
        section.at("job").complain(
            "signal", f"no signal {job.signal[:20]!r}; write for example USR1"
        )
    if written.spare is not None and written.spare.draw and quarantine is None:
        section.at("spare").complain("draw", "a spare replaces a quarantined node; add quarantine")
    leaves = quarantine is not None and quarantine.when is not When.AFTER_JOB
    if job.policy in (JobPolicy.CANCEL, JobPolicy.IN_JOB) and not leaves:
        text = (
            f"{job.policy} is for a node that is taken out at once; add quarantine: {{when: now}}"
        )
        section.at("job").complain("policy", text)
    if quarantine is not None:
        _check_quarantine(quarantine, job, section.at("quarantine"))
    passive_s, active = _verification(written.verify, section.at("verify"))
    return Action(
        quarantine=None if quarantine is None else quarantine.level,
        quarantine_when=When.AFTER_JOB if quarantine is None else quarantine.when,
        job=job.policy,
        signal=job.signal.removeprefix("SIG"),
        grace_s=seconds_of(job.grace, section.at("job"), "grace"),
        draw_spare=written.spare is not None and written.spare.draw,
        fence=written.fence,
        remedy=tuple(
            _escalation_step(step, section.at("remedy"), at)
            for at, step in enumerate(written.remedy)
        ),
        verify_passive_s=passive_s,
        verify_active=active,
        probation_s=seconds_of(written.probation, section, "probation"),
        deadlines=_deadlines(written.deadlines, section.at("deadlines")),
    )


def _deadlines(written: DeadlinesDocument, section: Section) -> Deadlines:
    return Deadlines(
        drain_s=_deadline(written.drain, section, "drain"),
        move_s=_deadline(written.move, section, "move"),
        fence_s=_deadline(written.fence, section, "fence"),
        reboot_s=_deadline(written.reboot, section, "reboot"),
        test_s=_deadline(written.test, section, "test"),
    )


def _deadline(written: Duration, section: Section, key: str) -> float:
    value = seconds_of(written, section, key)
    if not _SHORTEST_DEADLINE_S <= value <= _LONGEST_DEADLINE_S:
        section.complain(key, "from 10s to 24h; nothing may wait for longer unless a person knows")
    return value


def _check_quarantine(written: Quarantine, job: JobAction, section: Section) -> None:
    is_signalled = job.signal and job.policy not in (JobPolicy.NOTHING, JobPolicy.NOTIFY)
    if written.when is When.AT_CHECKPOINT and not is_signalled:
        text = "a job checkpoints when it gets a signal; add job: {policy: requeue, signal: USR1}"
        section.complain("when", text)


def _escalation_step(written: object, section: Section, at: int) -> EscalationStep:
    name: object
    limits: object = {}
    if isinstance(written, str):
        name = written
    elif isinstance(written, Mapping) and len(written) == 1:
        ((name, limits),) = written.items()
    else:
        section.complain(at, "a word, or a word with its limits ({power_cycle: {max: 1}})")
        return EscalationStep(name="service")
    if name not in REMEDIES:
        section.complain(at, f"no remedy {str(name)[:40]!r}; one of {', '.join(REMEDIES)}")
    most = limits.get("max", 1) if isinstance(limits, Mapping) else None
    if isinstance(most, bool) or not isinstance(most, int) or not 1 <= most <= 10:
        section.complain(at, "max is a number from 1 to 10")
        most = 1
    return EscalationStep(name=str(name), most=most)


def _verification(written: list[dict[str, Any]], section: Section) -> tuple[float, tuple[str, ...]]:
    passive_s = 0.0
    active: list[str] = []
    for at, step in enumerate(written):
        match step:
            case {"passive": duration} if len(step) == 1 and _is_duration(duration):
                passive_s = seconds_of(duration, section, at)
            case {"active": str() as name} if len(step) == 1 and name:
                active.append(name)
            case _:
                section.complain(at, "{passive: 10m} or {active: name of a test}")
    return passive_s, tuple(active)


def _is_duration(written: object) -> bool:
    return isinstance(written, str | int | float) and not isinstance(written, bool)


def grouping_of(written: GroupDocument | None, section: Section) -> Grouping | None:
    """From when on many are one."""
    if written is None:
        return None
    label = written.by.startswith(_LABEL) and len(written.by) > len(_LABEL)
    if written.by not in GROUPS and not label:
        section.complain("by", f"one of {', '.join(GROUPS)}, or a label such as labels.pdu")
    return Grouping(
        by=written.by,
        at_least=written.at_least,
        within_s=seconds_of(written.within, section, "within"),
        calm_s=seconds_of(written.calm, section, "calm"),
        what_to_do=written.what_to_do.strip(),
    )


def canary_of(written: CanaryDocument | None, section: Section) -> Canary | None:
    """The share on which a new rule acts."""
    if written is None:
        return None
    text = written.share.strip()
    try:
        share = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        share = 0.0
    if not 0 < share <= 1:
        section.complain("share", "a share of the fleet, such as 5%")
        share = 1.0
    return Canary(share=share, for_s=seconds_of(written.for_, section, "for"))
