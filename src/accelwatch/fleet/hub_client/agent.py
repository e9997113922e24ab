"""The incidents of one machine, polled from its agent."""

import asyncio
from collections.abc import Callable
from typing import NoReturn

import msgspec

from accelwatch.alerting.evaluation.documents import IncidentsPage
from accelwatch.alerting.evaluation.explanation import Explanation
from accelwatch.alerting.evaluation.paths import INCIDENTS
from accelwatch.alerting.incidents.model.incident import IncidentState
from accelwatch.base.clock import Clock, SystemClock
from accelwatch.base.decode_errors import DECODE_ERRORS
from accelwatch.base.errors import AccelwatchError
from accelwatch.base.version import __version__
from accelwatch.fleet.documents.graphs import IncidentGraphs
from accelwatch.fleet.follow.failures.faults import Reason, TargetFault, first_line
from accelwatch.fleet.hub_client.connection.session import HubSession
from accelwatch.fleet.hub_client.explaining import explained
from accelwatch.fleet.hub_client.incident_changes import IncidentChanges
from accelwatch.fleet.hub_client.usage import usage_of
from accelwatch.fleet.picture.model import FleetView, Problem, RecentHistory
from accelwatch.fleet.picture.source import SnapshotSource
from accelwatch.fleet.targets.hub_endpoint import HubEndpoint
from accelwatch.fleet.wire import MOST_CLOSED, SCHEMA, FleetDocument, IncidentNow, RulesNow
from accelwatch.node.usage.report import UsageReport
from accelwatch.schema.timestamps import timestamp

EVERY_S = 2.0
_NO_RULES = 404
_ALL = {"state": "all", "limit": str(2 * MOST_CLOSED)}
_decode = msgspec.json.Decoder(IncidentsPage).decode


class AgentIncidents:
    """Implements `FleetSource` for the screens of incidents: the one node is this machine."""

    player = None
    remedies = None

    def __init__(self, endpoint: HubEndpoint, clock: Clock | None = None) -> None:
        """Raises ConfigError."""
        self.name = f"agent {endpoint.name}"
        self._session = HubSession(endpoint)
        self.changes = IncidentChanges(self._session)
        self._clock = clock or SystemClock()
        self._view: FleetView | None = None
        self._problem: Problem | None = None

    async def run(self, changed: Callable[[], None]) -> None:
        """Poll until cancelled."""
        try:
            while True:
                await self._poll()
                changed()
                await asyncio.sleep(EVERY_S)
        finally:
            await self.close_session()

    async def close_session(self) -> None:
        """Close every connection."""
        await self._session.close()

    async def _poll(self) -> None:
        try:
            page = _decode(await self._session.document(INCIDENTS, _ALL))
        except TargetFault as fault:
            if fault.code == _NO_RULES:
                page = IncidentsPage(evaluated=False)
            else:
                self._failed(_fault_text(fault, self.name))
                return
        except DECODE_ERRORS as error:
            self._failed(f"{self.name}: its answer cannot be read: {error}")
            return
        self._problem = None
        self._view = self._next_view(page)

    def _failed(self, text: str) -> None:
        since = self._clock.wall() if self._problem is None else self._problem.since
        self._problem = Problem(text=text, since=since)

    def _next_view(self, page: IncidentsPage) -> FleetView:
        before = self._view
        incidents = tuple(_incidents_of(page))
        unchanged = before is not None and before.incidents == incidents
        return FleetView(
            sequence=1 if before is None else before.sequence + 1,
            time=self._clock.wall(),
            arrived_s=self._clock.monotonic(),
            interval_s=EVERY_S,
            sums=_sums(page, self._clock.wall()),
            nodes=(),
            slots=(),
            devices=(),
            rules=_rules(page),
            incidents=before.incidents if before is not None and unchanged else incidents,
        )

    def fleet(self) -> FleetView | None:
        """The agent's last answer; None until the first."""
        return self._view

    def problem(self) -> Problem | None:
        """Why there is nothing new."""
        return self._problem

    def set_filter(self, text: str) -> None:
        """Devices are not shown here."""

    def set_interval(self, interval_s: float) -> None:
        """Incidents have an interval of their own."""

    async def acknowledge(self, node: str, _device: str | None, /) -> str:
        """Nothing is expected by an agent. Raises AccelwatchError."""
        raise AccelwatchError(f"{node}: an agent expects no devices")

    def open_node(self, node: str) -> SnapshotSource:
        """The machine is on the Local screen. Raises AccelwatchError."""
        _no_other(node)

    async def device_history(self, _node: str, _device: str) -> RecentHistory | None:
        """An agent keeps no history of devices."""
        return None

    async def graphs(self, _incident: str) -> IncidentGraphs | None:
        """An agent keeps no history of devices, and knows no peers."""
        return None

    async def fleet_history(self) -> RecentHistory | None:
        """It is one machine."""
        return None

    async def explain(self, rule: str, entity: str) -> Explanation:
        """A rule on an entity now, part by part. Raises AccelwatchError."""
        return await explained(self._session, rule, entity)

    async def usage(self, by: str, since: str) -> UsageReport:
        """Who uses the devices. Raises AccelwatchError."""
        return await usage_of(self._session, by, since)

    def close(self) -> None:
        """Nothing is held outside `run`."""


def _no_other(node: str) -> NoReturn:
    raise AccelwatchError(f"{node} is this machine")


def _fault_text(fault: TargetFault, name: str) -> str:
    if fault.reason is Reason.CONNECT:
        return f"no {name} answers"
    return f"{name}: {first_line(fault)}"


def _incidents_of(page: IncidentsPage) -> list[IncidentNow]:
    """Those that are over first, then those that go on; the latest of each last."""
    return [
        IncidentNow(
            incident=incident,
            nodes_total=len(incident.nodes),
            members_total=len(incident.members),
        )
        for incident in reversed(page.incidents)
    ]


def _rules(page: IncidentsPage) -> RulesNow:
    counts: dict[str, int] = {}
    muted = 0
    for incident in page.incidents:
        if incident.state != IncidentState.OPEN or incident.group_incident or incident.follows:
            continue
        if incident.muted_by is None:
            counts[incident.severity] = counts.get(incident.severity, 0) + 1
        muted += incident.muted_by is not None
    return RulesNow(
        evaluated=page.evaluated,
        rules=page.rules,
        problems=page.problems,
        open=counts,
        muted=muted,
        omitted=0,
        is_reset=False,
    )


def _sums(page: IncidentsPage, now: float) -> FleetDocument:
    devices = 0 if page.node is None else page.node.devices
    return FleetDocument(
        schema=SCHEMA,
        version=__version__,
        time=timestamp(now),
        nodes_total=1,
        nodes={"up": 1},
        devices_total=devices,
        devices={},
        health={},
        power_watts=None,
        memory_used_bytes=None,
        memory_size_bytes=None,
        utilization_ratio=None,
        conflicts=(),
    )
