"""The optional abilities of two actions, as one: each call goes to the action that it concerns."""

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from accelwatch.action.contract import (
    Action,
    Corrects,
    FindsLimits,
    HasComplaints,
    HasController,
    KeepsReservations,
    NeedsOptions,
    ReleasesByHand,
    ResumesOperations,
    ShowsRights,
)
from accelwatch.action.intent import IntentKind
from accelwatch.action.observed import ReservationObservation
from accelwatch.action.step import StartedStep
from accelwatch.remediation.pairing.prefixes import is_of, step_without_prefix

# What is set and removed on both.
BOTH = frozenset({IntentKind.QUARANTINE, IntentKind.RELEASE})


class PairedAbilities:
    """Optional abilities; an action without one answers as if it had nothing to say."""

    def __init__(self, first: tuple[str, Action], second: tuple[str, Action]) -> None:
        """Each with its name."""
        self.first_name, self.first = first
        self.second_name, self.second = second

    def _of_kind(self, kind: IntentKind) -> Iterator[Action]:
        yield self.first
        if kind in BOTH:
            yield self.second

    async def reservations(self) -> Sequence[ReservationObservation]:
        """Those of the first, whose the jobs are. Raises ActionUnavailableError."""
        if isinstance(self.first, KeepsReservations):
            return await self.first.reservations()
        return ()

    def complaints(self) -> Sequence[str]:
        """Those of both, each with the name of its action."""
        named = ((self.first_name, self.first), (self.second_name, self.second))
        return [
            f"{name}: {complaint}"
            for name, action in named
            if isinstance(action, HasComplaints)
            for complaint in action.complaints()
        ]

    def needs(self, kind: IntentKind) -> str:
        """Which option has to be given, by either action."""
        missing = (
            action.needs(kind) for action in self._of_kind(kind) if isinstance(action, NeedsOptions)
        )
        return next(filter(None, missing), "")

    @property
    def impossible(self) -> Mapping[IntentKind, str]:
        """What the first would refuse, and of what both do what either would."""
        impossible: dict[IntentKind, str] = {}
        for action in (self.second, self.first):
            if isinstance(action, FindsLimits):
                impossible |= {
                    kind: text
                    for kind, text in action.impossible.items()
                    if action is self.first or kind in BOTH
                }
        return impossible

    @property
    def rights(self) -> str:
        """Those of both, each with the name of its action."""
        named = ((self.first_name, self.first), (self.second_name, self.second))
        return "; ".join(
            f"{name}: {action.rights}"
            for name, action in named
            if isinstance(action, ShowsRights) and action.rights
        )

    @property
    def controller_boot(self) -> str:
        """Of both controllers: either may have lost its state."""
        boots = (
            action.controller_boot if isinstance(action, HasController) else ""
            for action in (self.first, self.second)
        )
        return " ".join(filter(None, boots))

    @property
    def corrects(self) -> frozenset[IntentKind]:
        """Of the first, whose the jobs are."""
        return self.first.corrects if isinstance(self.first, Corrects) else frozenset()

    def resume_operation(self, started_step: StartedStep, operation: str, attempt: int) -> None:
        """Called for the action whose step it is."""
        action, step = self.first, started_step.step
        if is_of(self.second_name, step):
            action, step = self.second, step_without_prefix(self.second_name, step)
        if isinstance(action, ResumesOperations):
            started = msgspec.structs.replace(started_step, step=step)
            action.resume_operation(started, operation, attempt)

    def commands_of(self, first: str, second: str) -> str:
        """The commands that give a node back, by its name in each; empty names are passed over."""
        named = ((first, self.first), (second, self.second))
        commands = (
            action.release_command(name)
            for name, action in named
            if name and isinstance(action, ReleasesByHand)
        )
        return " && ".join(commands)

    async def close(self) -> None:
        """Give back what both hold."""
        await self.first.close()
        await self.second.close()
