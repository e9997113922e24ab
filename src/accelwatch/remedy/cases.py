"""Which of the things that are wrong with a node count, and which of them leads."""

from accelwatch.remedy.case import Case
from accelwatch.remedy.model import Remedy
from accelwatch.remedy.surroundings import Surroundings
from accelwatch.rules.document import Mode


def counts(sur: Surroundings, node: str, case: Case) -> bool:
    """Whether a case speaks against a node: not when a person has dealt with all that it rests on."""
    boundary = sur.state.boundaries.get(node)
    if boundary is not None and case.evidence_at <= boundary.at:
        return False
    override = sur.state.overrides.get(node)
    return override is None or case.evidence_at > override.at


def counting(sur: Surroundings, remedy: Remedy) -> tuple[Case, ...]:
    """The cases that speak against a node."""
    if not (sur.state.boundaries or sur.state.overrides):
        return remedy.cases
    return tuple(case for case in remedy.cases if counts(sur, remedy.node, case))


def bad_nodes(sur: Surroundings) -> set[str]:
    """Where no job may start, by the scheduler's names: what we hold or something speaks against.

    So is what a person has just asked to be taken out.
    """
    return {
        one.target or one.node
        for one in sur.state.remedies.values()
        if one.counts or one.manual or counting(sur, one)
    }


_MODES = {mode: at for at, mode in enumerate(Mode)}


def leading(sur: Surroundings, remedy: Remedy) -> list[Case]:
    """Those that could have the node taken out, the one that may go furthest and weighs most first."""
    cases = [case for case in counting(sur, remedy) if case.policy.level is not None]
    if len(cases) > 1:
        cases.sort(
            key=lambda case: (
                -_MODES[case.policy.mode],
                -case.severity.weight,
                case.since,
                case.incident,
            )
        )
    return cases


def fresh(sur: Surroundings, node: str, case: Case) -> bool:
    """Whether it rests on what is so now, or on what has happened lately and in this boot."""
    if case.standing:
        return True
    heard = sur.heard(node)
    boot = "" if heard is None else heard.boot_id
    other_boot = bool(boot and case.boot_id) and boot != case.boot_id
    return not other_boot and sur.now - case.evidence_at <= sur.settings.event_max_age_s
