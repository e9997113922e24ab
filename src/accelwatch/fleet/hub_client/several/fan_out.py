"""The same request to several hubs at one time; those that fail are named, and only all of them are a
fault."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TypeVar

from accelwatch.fleet.follow.failures.faults import TargetFault
from accelwatch.fleet.hub_client.connection.session import HubSession

Result = TypeVar("Result")


async def ask_all(
    sessions: Sequence[HubSession], request: Callable[[HubSession], Awaitable[Result]]
) -> tuple[dict[int, Result], dict[int, TargetFault]]:
    """(answers, faults) by hub. Raises TargetFault when no hub answers."""
    results = await asyncio.gather(
        *(request(session) for session in sessions), return_exceptions=True
    )
    answers: dict[int, Result] = {}
    faults: dict[int, TargetFault] = {}
    for hub, result in enumerate(results):
        if isinstance(result, TargetFault):
            faults[hub] = result
        elif isinstance(result, BaseException):
            raise result
        else:
            answers[hub] = result
    if faults and not answers:
        raise _all_failed([session.endpoint.name for session in sessions], faults)
    return answers, faults


def text_of(fault: TargetFault) -> str:
    """A fault on one line."""
    return str(fault).partition("\n")[0]


def _all_failed(names: Sequence[str], faults: Mapping[int, TargetFault]) -> TargetFault:
    """The first hub's fault with the words of all; a filter that all refuse is refused alike."""
    first = faults[min(faults)]
    if len({text_of(fault) for fault in faults.values()}) == 1:
        return first
    text = "; ".join(f"{names[hub]}: {text_of(fault)}" for hub, fault in sorted(faults.items()))
    return TargetFault(first.reason, text, code=first.code)
