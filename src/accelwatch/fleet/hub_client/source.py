"""A hub as the Fleet screen's source: its stream followed for as long as the dashboard runs."""

import asyncio
import contextlib
from collections.abc import Callable

import msgspec

from accelwatch.alerting.evaluation.explanation import Explanation
from accelwatch.base.backoff import SpreadBackoff
from accelwatch.base.clock import Clock, SystemClock
from accelwatch.base.decode_errors import DECODE_ERRORS
from accelwatch.base.errors import AccelwatchError, UnmetError, WireError
from accelwatch.fleet.documents.fleet import (
    FLEET_HISTORY,
    Acknowledged,
    FleetHistory,
    HistoryDocument,
)
from accelwatch.fleet.documents.graphs import IncidentGraphs
from accelwatch.fleet.follow.failures.faults import Reason, TargetFault, first_line
from accelwatch.fleet.hub_client.connection.messages import Received, tag
from accelwatch.fleet.hub_client.connection.session import HubSession, Requests, node_path
from accelwatch.fleet.hub_client.connection.stream import follow
from accelwatch.fleet.hub_client.explaining import explained
from accelwatch.fleet.hub_client.graphs import graphs_of
from accelwatch.fleet.hub_client.incident_changes import IncidentChanges
from accelwatch.fleet.hub_client.labels import Labels
from accelwatch.fleet.hub_client.node import NodeSource
from accelwatch.fleet.hub_client.picture import Picture
from accelwatch.fleet.hub_client.remedies import Remedies
from accelwatch.fleet.hub_client.usage import usage_of
from accelwatch.fleet.picture.model import FleetView, Problem, RecentHistory
from accelwatch.fleet.targets.hub_endpoint import HubEndpoint
from accelwatch.fleet.wire import DeviceSlot, FleetEvent, FleetHello, FleetTick
from accelwatch.node.usage.report import UsageReport
from accelwatch.schema.timestamps import unix_seconds

_decode = msgspec.json.Decoder(HistoryDocument).decode
_decode_fleet = msgspec.json.Decoder(FleetHistory).decode
_MAX_BACKOFF_S = 5.0
# What a hub answers to a filter that it cannot read.
_REFUSED = 400
# Share of the wanted interval from which on a tick counts: the hub's own ticks are not exact.
_EARLY = 0.9


async def device_history_of(session: Requests, node: str, device: str) -> RecentHistory | None:
    """The history of a device by its id; None where there is none or the hub has no such page."""
    with contextlib.suppress(*DECODE_ERRORS, TargetFault, WireError):
        history = _decode(await session.document(node_path(node, "/history"), {"device": device}))
        if history.values:
            end = unix_seconds(history.end)
            values, growth = history.values, history.growth
            return RecentHistory(step_s=history.step_s, end=end, values=values, growth=growth)
    return None


class _Changed(Exception):  # noqa: N818 - no mistake: another filter was set
    """The stream has to be requested again."""


class HubSource:
    """Implements `FleetSource`; the loop's thread only."""

    player = None

    def __init__(
        self,
        endpoint: HubEndpoint,
        *,
        condition: str = "",
        clock: Clock | None = None,
        exit_reason: Callable[[], str | None] = lambda: None,
    ) -> None:
        """`exit_reason` says how the hub's process has ended, if it is ours and has. Raises
        ConfigError.
        """
        self.name = endpoint.name
        # Ticks that the hub left out because we read too slowly.
        self.missed_ticks = 0
        self._session = HubSession(endpoint)
        # By whom incidents are silenced and closed.
        self.changes = IncidentChanges(self._session)
        # What is done about incidents.
        self.remedies = Remedies(self._session, self._is_evaluated)
        self._clock = clock or SystemClock()
        self._exit_reason = exit_reason
        self._backoff = SpreadBackoff(_MAX_BACKOFF_S)
        self._picture = Picture(endpoint.device_limit)
        self._labels = Labels(self._session, self._picture, self._clock)
        self._view: FleetView | None = None
        self._problem: Problem | None = None
        self._refusal: Problem | None = None
        self._desired = condition
        # The filter of the connection that is open.
        self._requested = condition
        # The last filter that the hub accepted.
        self._good = ""
        self._reconnect = asyncio.Event()
        self._changed: Callable[[], None] = lambda: None
        self._interval_s = 0.0
        self._reported_interval_s = 1.0
        self._sequence = 0
        self._left_out = 0
        self._accepted_at = float("-inf")

    def fleet(self) -> FleetView | None:
        """The newest tick; None until the first."""
        return self._view

    def problem(self) -> Problem | None:
        """What is wrong with the hub, else with the filter; None while all is well."""
        return self._problem or self._refusal

    @property
    def refuses_filter(self) -> bool:
        """Whether the only fault is that the hub does not accept the filter."""
        return self._problem is None and self._refusal is not None

    def set_filter(self, text: str) -> None:
        """Want only devices for which this condition holds; empty: all."""
        if text != self._desired or self._refusal is not None:
            self._desired, self._refusal = text, None
            self._reconnect.set()

    def set_interval(self, interval_s: float) -> None:
        """Read a tick this often; never more often than the hub makes one."""
        self._interval_s = interval_s

    def open_node(self, node: str) -> NodeSource:
        """The node's snapshots as the hub has them."""
        return NodeSource(HubSession(self._session.endpoint), node, clock=self._clock)

    def close(self) -> None:
        """Nothing is held outside `run`."""

    async def acknowledge(self, node: str, device: str | None) -> str:
        """Stop expecting what has gone of a node; what was done, in words. Raises AccelwatchError."""
        query = {} if device is None else {"device": device}
        try:
            body = await self._session.post(node_path(node, "/acknowledge"), query)
        except TargetFault as fault:
            kind = UnmetError if fault.code == 404 else AccelwatchError
            raise kind(f"the hub did not acknowledge: {fault}") from fault
        with contextlib.suppress(*DECODE_ERRORS):
            reply = msgspec.json.decode(body, type=Acknowledged)
            count = reply.devices_removed
            done = f"{node}: {count} missing device{'' if count == 1 else 's'} acknowledged"
            if reply.problem:
                raise AccelwatchError(f"{done}, but not written to the audit log: {reply.problem}")
            return done
        return f"{node} acknowledged"

    async def device_history(self, node: str, device: str) -> RecentHistory | None:
        """Recent history of a device by its id; None where there is none."""
        return await device_history_of(self._session, node, device)

    async def graphs(self, incident: str) -> IncidentGraphs | None:
        """The evidence of an incident over time beside its peers; None of a hub that makes no graphs."""
        return await graphs_of(self._session, incident)

    async def fleet_history(self) -> RecentHistory | None:
        """The fleet over the last hour; None of a hub that does not keep it."""
        with contextlib.suppress(*DECODE_ERRORS, TargetFault, WireError):
            kept = _decode_fleet(await self._session.document(FLEET_HISTORY))
            return RecentHistory(step_s=kept.step_s, end=unix_seconds(kept.end), values=kept.values)
        return None

    async def explain(self, rule: str, entity: str) -> Explanation:
        """A rule on an entity now, part by part. Raises AccelwatchError when the hub cannot say."""
        return await explained(self._session, rule, entity)

    async def usage(self, by: str, since: str) -> UsageReport:
        """Who uses the devices. Raises AccelwatchError."""
        return await usage_of(self._session, by, since)

    async def run(self, changed: Callable[[], None]) -> None:
        """Follow the hub until cancelled."""
        self._changed = changed
        polling = asyncio.create_task(self.remedies.run(changed), name="remedies")
        try:
            while True:
                try:
                    await self._follow()
                except _Changed:
                    continue
                except TargetFault as fault:
                    await self._failed(fault)
        finally:
            polling.cancel()
            self._labels.stop()
            await asyncio.gather(polling, return_exceptions=True)
            await self._session.close()

    def _is_evaluated(self) -> bool:
        rules = None if self._view is None else self._view.rules
        return rules is not None and rules.evaluated

    async def _follow(self) -> None:
        """One connection, until it fails or another filter is wanted."""
        self._reconnect.clear()
        self._requested = self._good if self._refusal is not None else self._desired
        self._sequence = self._left_out = 0
        self._accepted_at = float("-inf")
        self._picture.reset()
        following = asyncio.ensure_future(
            follow(
                self._session, self._requested, self._receive, self._needs_decoding, incidents=True
            )
        )
        waiting = asyncio.ensure_future(self._reconnect.wait())
        try:
            await asyncio.wait((following, waiting), return_when=asyncio.FIRST_COMPLETED)
            if following.done():
                following.result()
        finally:
            for task in (following, waiting):
                task.cancel()
            await asyncio.gather(following, waiting, return_exceptions=True)
        raise _Changed

    async def _failed(self, fault: TargetFault) -> None:
        """Say so, and wait; a filter that the hub refuses gives way to the one before it."""
        now = self._clock.wall()
        refused = fault.code == _REFUSED or fault.reason is Reason.BUSY
        if refused and self._requested and self._requested != self._good:
            self._refusal = Problem(text=first_line(fault), since=now)
            self._changed()
            return
        text = self._exit_reason() or f"{self.name}: {first_line(fault)}"
        since = now if self._problem is None else self._problem.since
        self._problem = Problem(text=text, since=since)
        self._changed()
        with contextlib.suppress(TimeoutError):
            wait = self._backoff.next(fault.retry_after_s)
            async with asyncio.timeout(wait):
                await self._reconnect.wait()

    def _needs_decoding(self, body: bytes) -> bool:
        """Whether a frame is worth decoding: ticks that come too early are not."""
        if tag(body) != "tick":
            return True
        now = self._clock.monotonic()
        least_s = max(self._interval_s, self._reported_interval_s) * _EARLY
        if self._interval_s > self._reported_interval_s and now - self._accepted_at < least_s:
            self._left_out += 1
            return False
        return True

    def _receive(self, message: Received) -> None:
        if isinstance(message, DeviceSlot):
            self._picture.assign_slot(message)
        elif isinstance(message, FleetEvent):
            self._picture.event(message)
        elif isinstance(message, FleetHello):
            self._reported_interval_s = message.interval_s
        elif isinstance(message, FleetTick):
            self._tick(message)
        else:
            self._picture.apply_incident(message)

    def _tick(self, tick: FleetTick) -> None:
        now = self._clock.monotonic()
        self._view = self._picture.view(tick, now, self._reported_interval_s, self._requested)
        if self._sequence:
            self.missed_ticks += max(0, tick.sequence - self._sequence - 1 - self._left_out)
        self._sequence, self._left_out, self._accepted_at = tick.sequence, 0, now
        self._problem = None
        self._good = self._requested
        self._backoff.succeeded()
        self._labels.refresh(node.node for node in tick.nodes)
        self._changed()
