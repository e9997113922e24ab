"""Requests to several hubs at one time; those that fail are named, and the others count."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TypeVar

from accelwatch.base.errors import AccelwatchError, UncertainError
from accelwatch.fleet.follow.failures.faults import TargetFault, first_line
from accelwatch.fleet.hub_client.connection.session import Requests

Result = TypeVar("Result")
Fault = TypeVar("Fault", bound=AccelwatchError)
Session = TypeVar("Session", bound=Requests)


async def gathered(
    requests: Sequence[Awaitable[Result]], kind: type[Fault]
) -> tuple[dict[int, Result], dict[int, Fault]]:
    """(answers, faults of this kind) by the position of the request. Raises any other error."""
    answers: dict[int, Result] = {}
    faults: dict[int, Fault] = {}
    for at, result in enumerate(await asyncio.gather(*requests, return_exceptions=True)):
        if isinstance(result, kind):
            faults[at] = result
        elif isinstance(result, BaseException):
            raise result
        else:
            answers[at] = result
    return answers, faults


async def ask_all(
    sessions: Sequence[Session], request: Callable[[Session], Awaitable[Result]]
) -> tuple[dict[int, Result], dict[int, TargetFault]]:
    """(answers, faults) by hub. Raises TargetFault when no hub answers."""
    answers, faults = await gathered([request(session) for session in sessions], TargetFault)
    if faults and not answers:
        raise _all_failed([session.endpoint.name for session in sessions], faults)
    return answers, faults


async def at_each(hubs: Sequence[str], requests: Sequence[Awaitable[str]]) -> str:
    """What each hub did, in words; a hub with an empty result did nothing.

    Raises AccelwatchError when one failed, with what the others did; UncertainError when that is unknown
    of one.
    """
    answers, faults = await gathered(requests, AccelwatchError)
    results: dict[int, str | AccelwatchError] = {**answers, **faults}
    text = "; ".join(f"{hub}: {results[at]}" for at, hub in enumerate(hubs) if results[at] != "")
    if any(isinstance(fault, UncertainError) for fault in faults.values()):
        raise UncertainError(text)
    if faults:
        raise AccelwatchError(text)
    return text


def _all_failed(names: Sequence[str], faults: Mapping[int, TargetFault]) -> TargetFault:
    """The first hub's fault with the words of all; a filter that all refuse is refused alike."""
    first = faults[min(faults)]
    if len({first_line(fault) for fault in faults.values()}) == 1:
        return first
    text = "; ".join(f"{names[hub]}: {first_line(fault)}" for hub, fault in sorted(faults.items()))
    return TargetFault(first.reason, text, code=first.code)
