"""The state of a hub or an agent, queried once, as the observed state from which `why` answers."""

import asyncio
from collections.abc import Sequence

import msgspec

from accelwatch.alerting.evaluation.documents import IncidentDocument, IncidentsPage
from accelwatch.base.decode_errors import DECODE_ERRORS
from accelwatch.base.errors import WireError
from accelwatch.fleet.documents.remedies import RemediesPage
from accelwatch.fleet.follow.failures.faults import Reason, TargetFault
from accelwatch.fleet.hub_client.connection.session import HubSession, Requests, node_path
from accelwatch.fleet.hub_client.node import read_node
from accelwatch.fleet.hub_client.once import first_view
from accelwatch.fleet.hub_client.several.requests.session import SeveralSession
from accelwatch.fleet.hub_client.source import device_history_of
from accelwatch.fleet.picture.model import FleetView
from accelwatch.fleet.picture.remedies import next_step
from accelwatch.fleet.picture.why.answer import Answer, answer
from accelwatch.fleet.picture.why.concerns import about
from accelwatch.fleet.picture.why.observed_state import (
    ObservedDevice,
    ObservedState,
    observed_fleet,
    observed_machine,
    with_node,
)
from accelwatch.fleet.picture.why.subject import Kind, Subject, subject_of
from accelwatch.fleet.picture.why.troubles import troubles
from accelwatch.fleet.picture.why.waiting import idle_since, waiting
from accelwatch.schema.json import wire

_NO_PAGE = 404
# Nodes whose own documents are read for an answer: those with the worst troubles.
_MOST_NODES = 4
# Idle devices whose histories are fetched.
_MOST_HISTORIES = 3
_decode_incidents = msgspec.json.Decoder(IncidentsPage).decode


async def fetch_explanation(session: HubSession | SeveralSession, what: str) -> Answer:
    """Why it is as it is, of a hub, or of the agent that listens there instead.

    Raises TargetFault; UnmetError for a name that means nothing there.
    """
    observed = await _observed_state(session)
    subject = subject_of(observed, what)
    for node in nodes_to_read(observed, subject):
        observed = await _read(session, observed, node)
    subject = subject_of(observed, what)
    since = await _idle_since(session, waiting(observed, subject))
    return answer(msgspec.structs.replace(observed, idle_since=since), subject)


async def _idle_since(session: Requests, devices: Sequence[ObservedDevice]) -> float:
    """When the last of a few of them stopped working, by their histories; 0 where none shows it."""
    histories = [
        device_history_of(session, device.node, device.id) for device in devices[:_MOST_HISTORIES]
    ]
    return max(
        (idle_since(history) for history in await asyncio.gather(*histories) if history),
        default=0.0,
    )


def nodes_to_read(observed: ObservedState, subject: Subject) -> list[str]:
    """The nodes whose own documents say more about its faults."""
    wrong = about(troubles(observed), subject)
    nodes = [node for trouble in wrong for node in trouble.nodes[:1]]
    if subject.kind in (Kind.DEVICE, Kind.NODE):
        nodes = [*(device.node for device in subject.devices[:1]), *nodes]
    return list(dict.fromkeys(nodes))[:_MOST_NODES]


async def _observed_state(session: HubSession | SeveralSession) -> ObservedState:
    try:
        await session.document("/v1/fleet")
    except TargetFault as fault:
        if fault.code != _NO_PAGE:
            raise
        return await _of_agent(session)
    view, incidents, steps = await asyncio.gather(
        _view_of(session), _incidents(session), _steps(session)
    )
    observed = observed_fleet(view, steps)
    return msgspec.structs.replace(observed, incidents=incidents)


async def _view_of(session: HubSession | SeveralSession) -> FleetView:
    return await (first_view(session) if isinstance(session, HubSession) else session.view())


async def _of_agent(session: Requests) -> ObservedState:
    body, incidents = await asyncio.gather(session.document("/v1/snapshot"), _incidents(session))
    try:
        snapshot = wire.decode(body)
    except (*DECODE_ERRORS, WireError) as error:
        raise TargetFault(Reason.GARBAGE, f"neither a hub nor an agent: {error}") from error
    return observed_machine(snapshot, incidents)


async def _incidents(session: Requests) -> tuple[IncidentDocument, ...]:
    """The open incidents; none of a server without rules, or too old for the page."""
    try:
        body = await session.document("/v1/incidents", {"state": "open"})
        return _decode_incidents(body).incidents
    except TargetFault as fault:
        if fault.code != _NO_PAGE:
            raise
    except DECODE_ERRORS as error:
        raise TargetFault(Reason.GARBAGE, f"no page of incidents: {error}") from error
    return ()


async def _steps(session: Requests) -> dict[str, str]:
    """What the hub does about nodes, in words; nothing of one that does not act."""
    try:
        body = await session.document("/v1/remedies")
        page = msgspec.json.decode(body, type=RemediesPage)
    except TargetFault as fault:
        if fault.code != _NO_PAGE:
            raise
        return {}
    except DECODE_ERRORS as error:
        raise TargetFault(Reason.GARBAGE, f"no page of remedies: {error}") from error
    steps = {remedy.node: next_step(remedy) for remedy in page.remedies}
    return {
        node: f"{step.stage}: {step.text}" if step.text else step.stage
        for node, step in steps.items()
    }


async def _read(session: Requests, observed: ObservedState, node: str) -> ObservedState:
    """The observed state with the node's own document; as it was where the hub has none of it."""
    try:
        reply = read_node(node, await session.document(node_path(node)), 0.0)
    except TargetFault as fault:
        if fault.code == _NO_PAGE:
            return observed
        raise
    return with_node(observed, node, reply.snapshot, silent=reply.silent, remedy=reply.remedy)
