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
    QuarantineLevel,
    When,
)
from accelwatch.alerting.rules.rule import Action, Canary, Deadlines, Grouping, Rung
from accelwatch.base.durations import seconds
from accelwatch.base.errors import UsageError
from accelwatch.located_yaml.document import Document
from accelwatch.located_yaml.nodes import Place

LONGEST_S = 400 * 86_400.0
_SHORTEST_DEADLINE_S = 10.0
_LONGEST_DEADLINE_S = 86_400.0
REMEDIES = ("reset", "reboot", "power_cycle", "service")
"""Rungs that somebody carries out."""
GROUPS = ("fleet", "rack", "job", "node", "model", "stage", "driver_version")
_LABEL = "labels."


class Part:
    """A place in a document that complaints are made about."""

    def __init__(self, document: Document, place: Place) -> None:
        self._document = document
        self._place = place

    def at(self, *steps: str | int) -> "Part":
        """What is below a key or a position."""
        return Part(self._document, (*self._place, *steps))

    @property
    def line(self) -> int:
        """Where it is written."""
        return self._document.line(self._place)

    def complain(self, key: str | int, message: str) -> None:
        """Something is wrong with the value of a key or position."""
        self._document.complain((*self._place, key), message)


def seconds_of(written: Duration, part: Part, key: str | int) -> float:
    """A duration in seconds; 0 with a complaint for what is none."""
    try:
        value = seconds(written) if isinstance(written, str) else float(written)
    except UsageError as error:
        part.complain(key, str(error))
        return 0.0
    if not value <= LONGEST_S:
        part.complain(key, "longer than 400 days")
        return 0.0
    return value


def action_of(written: ActionDocument | None, part: Part) -> Action | None:
    """The action of a rule, checked; it is carried out by nobody here."""
    if written is None:
        return None
    job = written.job or JobAction(policy=JobPolicy.NOTHING)
    quarantine = written.quarantine
    if job.signal and f"SIG{job.signal.removeprefix('SIG')}" not in signal.Signals.__members__:
        part.at("job").complain("signal", f"no signal {job.signal[:20]!r}; write for example USR1")
    if written.spare is not None and written.spare.draw and quarantine is None:
        part.at("spare").complain(
            "draw", "a spare is drawn for what is quarantined; add quarantine"
        )
    leaves = quarantine is not None and quarantine.when is not When.AFTER_JOB
    if job.policy in (JobPolicy.CANCEL, JobPolicy.IN_JOB) and not leaves:
        text = (
            f"{job.policy} is for a node that is taken out at once; add quarantine: {{when: now}}"
        )
        part.at("job").complain("policy", text)
    if quarantine is not None:
        _check_quarantine(quarantine, job, part.at("quarantine"))
    passive_s, active = _verification(written.verify, part.at("verify"))
    return Action(
        quarantine=None if quarantine is None else quarantine.level,
        quarantine_when=When.AFTER_JOB if quarantine is None else quarantine.when,
        job=job.policy,
        signal=job.signal.removeprefix("SIG"),
        grace_s=seconds_of(job.grace, part.at("job"), "grace"),
        draw_spare=written.spare is not None and written.spare.draw,
        fence=written.fence,
        remedy=tuple(_rung(rung, part.at("remedy"), at) for at, rung in enumerate(written.remedy)),
        verify_passive_s=passive_s,
        verify_active=active,
        probation_s=seconds_of(written.probation, part, "probation"),
        deadlines=_deadlines(written.deadlines, part.at("deadlines")),
    )


def _deadlines(written: DeadlinesDocument, part: Part) -> Deadlines:
    return Deadlines(
        drain_s=_deadline(written.drain, part, "drain"),
        move_s=_deadline(written.move, part, "move"),
        fence_s=_deadline(written.fence, part, "fence"),
        reboot_s=_deadline(written.reboot, part, "reboot"),
        test_s=_deadline(written.test, part, "test"),
    )


def _deadline(written: Duration, part: Part, key: str) -> float:
    value = seconds_of(written, part, key)
    if not _SHORTEST_DEADLINE_S <= value <= _LONGEST_DEADLINE_S:
        part.complain(key, "from 10s to 24h; nothing may wait for longer unless a person knows")
    return value


def _check_quarantine(written: Quarantine, job: JobAction, part: Part) -> None:
    if written.level is QuarantineLevel.DEVICE:
        part.complain("level", "no scheduler takes out a single device; write node")
    asked = job.signal and job.policy not in (JobPolicy.NOTHING, JobPolicy.NOTIFY)
    if written.when is When.AT_CHECKPOINT and not asked:
        text = "a job checkpoints when it gets a signal; add job: {policy: requeue, signal: USR1}"
        part.complain("when", text)


def _rung(written: object, part: Part, at: int) -> Rung:
    name: object
    limits: object = {}
    if isinstance(written, str):
        name = written
    elif isinstance(written, Mapping) and len(written) == 1:
        ((name, limits),) = written.items()
    else:
        part.complain(at, "a word, or a word with its limits ({power_cycle: {max: 1}})")
        return Rung(name="service")
    if name not in REMEDIES:
        part.complain(at, f"no remedy {str(name)[:40]!r}; one of {', '.join(REMEDIES)}")
    most = limits.get("max", 1) if isinstance(limits, Mapping) else None
    if isinstance(most, bool) or not isinstance(most, int) or not 1 <= most <= 10:
        part.complain(at, "max is a number from 1 to 10")
        most = 1
    return Rung(name=str(name), most=most)


def _verification(written: list[dict[str, Any]], part: Part) -> tuple[float, tuple[str, ...]]:
    passive_s = 0.0
    active: list[str] = []
    for at, step in enumerate(written):
        match step:
            case {"passive": duration} if len(step) == 1 and _is_duration(duration):
                passive_s = seconds_of(duration, part, at)
            case {"active": str() as name} if len(step) == 1 and name:
                active.append(name)
            case _:
                part.complain(at, "{passive: 10m} or {active: name of a test}")
    return passive_s, tuple(active)


def _is_duration(written: object) -> bool:
    return isinstance(written, str | int | float) and not isinstance(written, bool)


def grouping_of(written: GroupDocument | None, part: Part) -> Grouping | None:
    """From when on many are one."""
    if written is None:
        return None
    label = written.by.startswith(_LABEL) and len(written.by) > len(_LABEL)
    if written.by not in GROUPS and not label:
        part.complain("by", f"one of {', '.join(GROUPS)}, or a label such as labels.pdu")
    return Grouping(
        by=written.by,
        at_least=written.at_least,
        within_s=seconds_of(written.within, part, "within"),
        calm_s=seconds_of(written.calm, part, "calm"),
        what_to_do=written.what_to_do.strip(),
    )


def canary_of(written: CanaryDocument | None, part: Part) -> Canary | None:
    """The share on which a new rule acts."""
    if written is None:
        return None
    text = written.share.strip()
    try:
        share = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        share = 0.0
    if not 0 < share <= 1:
        part.complain("share", "a share of the fleet, such as 5%")
        share = 1.0
    return Canary(share=share, for_s=seconds_of(written.for_, part, "for"))
