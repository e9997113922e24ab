"""Several hubs as the Fleet screen's source: each followed by itself, all of them one picture."""

import asyncio
import contextlib
from collections.abc import Callable, Mapping, Sequence

from accelwatch.alerting.evaluation.explanation import Explanation
from accelwatch.base.clock import Clock, SystemClock
from accelwatch.base.errors import AccelwatchError, UnmetError
from accelwatch.base.slices import LongWork, Steps, at_once, in_slices
from accelwatch.fleet.documents.graphs import IncidentGraphs
from accelwatch.fleet.follow.failures.faults import TargetFault
from accelwatch.fleet.hub_client.connection.session import HubSession
from accelwatch.fleet.hub_client.once import first_view
from accelwatch.fleet.hub_client.several.changes import SeveralChanges
from accelwatch.fleet.hub_client.several.fan_out import gathered
from accelwatch.fleet.hub_client.several.hub_picture import HubPicture, hub_picture_of, hub_state
from accelwatch.fleet.hub_client.several.merging.histories import added_histories, graphs_in
from accelwatch.fleet.hub_client.several.merging.usage import usage_added
from accelwatch.fleet.hub_client.several.picture import SeveralPicture
from accelwatch.fleet.hub_client.several.remedies import SeveralRemedies
from accelwatch.fleet.hub_client.several.requests.routes import Routes
from accelwatch.fleet.hub_client.source import HubSource
from accelwatch.fleet.hub_states import HubState
from accelwatch.fleet.picture.model import FleetView, Problem, RecentHistory
from accelwatch.fleet.picture.source import SnapshotSource
from accelwatch.fleet.targets.hub_endpoint import HubEndpoint
from accelwatch.fleet.wire import FleetDocument
from accelwatch.node.usage.report import UsageReport

# How often the picture is remade although nothing comes, so that what is silent grows old.
_AGING_S = 1.0
# Of a picture that is remade at an interval: the pause, in multiples of the time to make it.
_LEAST_PAUSE = 5.0
# Between two reads of all devices of a hub whose stream is filtered, for the totals of shared nodes.
_UNFILTERED_S = 10.0


class SeveralHubs:
    """Implements `FleetSource`; the loop's thread only."""

    player = None

    def __init__(
        self,
        endpoints: Sequence[HubEndpoint],
        *,
        condition: str = "",
        clock: Clock | None = None,
        remade_s: float | None = None,
        refuse: Callable[[FleetDocument], str] = lambda _document: "",
    ) -> None:
        """Names of endpoints differ. Raises ConfigError.

        With `remade_s` the picture is remade at most so often, and its ages are as of then; else
        whenever something has come. `refuse` says why a hub with such totals is left out.
        """
        names = [endpoint.name for endpoint in endpoints]
        self.name = f"{len(names)} hubs"
        self._clock = clock or SystemClock()
        self._sources = [
            HubSource(endpoint, condition=condition, clock=self._clock) for endpoint in endpoints
        ]
        self._sessions = [HubSession(endpoint) for endpoint in endpoints]
        self.picture = SeveralPicture(names)
        self.routes = Routes(self.picture, self._views)
        self.changes = SeveralChanges([source.changes for source in self._sources], self.routes)
        self.remedies = SeveralRemedies(
            [source.remedies for source in self._sources], self.picture, self.routes
        )
        self._condition = condition
        self._remade_s = remade_s
        self._refuse = refuse
        # Hubs that are left out.
        self._refused: set[int] = set()
        self._view: FleetView | None = None
        self._is_due = True
        self._made_at = float("-inf")
        # How long making it lasted the last time.
        self._duration_s = 0.0
        self._making: asyncio.Task[None] | None = None

    def fleet(self) -> FleetView | None:
        """The newest picture; None until the first hub has answered."""
        # One that is being made in slices is shown when it is finished.
        if self._making is None and self._is_stale():
            steps = self._steps()
            self._view = None if steps is None else at_once(steps)
            self._duration_s = self._clock.monotonic() - self._made_at
        return self._view

    async def remake(self) -> None:
        """Make the picture again where that is due, in slices; `fleet` has it then."""
        if self._making is None and self._is_stale():
            self._making = asyncio.ensure_future(self._make_in_slices())
        if self._making is not None:
            await asyncio.shield(self._making)

    def _is_stale(self) -> bool:
        remade_s = self._remade_s
        pause_s = 0.0 if remade_s is None else max(remade_s, _LEAST_PAUSE * self._duration_s)
        waits = self._view is not None and self._clock.monotonic() - self._made_at < pause_s
        return not waits and (self._is_due or remade_s is not None)

    async def _make_in_slices(self) -> None:
        work = LongWork()
        try:
            steps = self._steps()
            self._view = None if steps is None else await in_slices(steps, work)
            self._duration_s = work.busy_seconds()
            # However long others had their turn between: `fleet` would make it again at once.
            self._made_at = self._clock.monotonic() - self._duration_s
        finally:
            self._making = None

    def _steps(self) -> Steps[FleetView] | None:
        """The steps to the picture of now; None where no hub has answered."""
        self._is_due, self._made_at = False, self._clock.monotonic()
        pictures, of_now = self._pictures(), self._remade_s is not None
        if not pictures:
            return None
        return self.picture.steps(pictures, self._condition, self._faults(), ages_of_now=of_now)

    def _view_of(self, hub: int) -> FleetView | None:
        """What a hub has said last; None of one that has said nothing, or is left out."""
        view = self._sources[hub].fleet()
        return None if view is None or self._refuse(view.sums) else view

    def _views(self) -> list[FleetView | None]:
        return [self._view_of(hub) for hub in range(len(self._sources))]

    def _picture(self, hub: int, now: float) -> HubPicture | None:
        view = self._view_of(hub)
        if view is None:
            return None
        return hub_picture_of(view, max(now - view.arrived_s, 0.0), self._fault_of(hub) or "")

    def _pictures(self) -> dict[int, HubPicture]:
        now = self._clock.monotonic()
        pictures = {hub: self._picture(hub, now) for hub in range(len(self._sources))}
        return {hub: picture for hub, picture in pictures.items() if picture is not None}

    def documents(self) -> list[FleetDocument]:
        """What hubs have said last of themselves, also those that are left out."""
        views = [source.fleet() for source in self._sources]
        return [view.sums for view in views if view is not None]

    def picture_of(self, hub: int) -> HubPicture | None:
        """The part of a hub as it counts now; None of one that has said nothing, or is left out."""
        return self._picture(hub, self._clock.monotonic())

    def fault(self, hub: int) -> str:
        """Why a hub need not be queried now: it is left out, silent, or has never answered."""
        fault, picture = self._fault_of(hub), self.picture_of(hub)
        if picture is None:
            return fault or "it has not answered yet"
        return (fault or "not responding") if picture.silent else ""

    def has_answered(self, hub: int) -> bool:
        """Whether a hub has said something, or why it does not."""
        return self._sources[hub].fleet() is not None or self._fault_of(hub) is not None

    def hub_states(self) -> tuple[HubState, ...]:
        """How each hub stands now."""
        pictures, faults = self._pictures(), self._faults()
        return tuple(
            hub_state(name, pictures.get(hub), faults.get(hub, ""), 0.0)
            for hub, name in enumerate(self.picture.hubs)
        )

    def _fault_of(self, hub: int) -> str | None:
        """What is wrong with a hub, or with the filter there; None while nothing is."""
        source = self._sources[hub]
        view, problem = source.fleet(), source.problem()
        if view is not None and (refusal := self._refuse(view.sums)):
            return refusal
        if problem is None:
            return None
        text = problem.text.removeprefix(f"{source.name}: ")
        return f"refuses the filter: {text}" if source.refuses_filter else text

    def _faults(self) -> Mapping[int, str]:
        """The same of each hub with which something is."""
        faults = {hub: self._fault_of(hub) for hub in range(len(self._sources))}
        return {hub: fault for hub, fault in faults.items() if fault is not None}

    def problem(self) -> Problem | None:
        """What is wrong with all hubs, or with the filter at all of them; None while one answers."""
        problems = [source.problem() for source in self._sources]
        existing = [problem for problem in problems if problem is not None]
        if len(existing) < len(self._sources):
            return None
        texts = dict.fromkeys(problem.text for problem in existing)
        return Problem(text="; ".join(texts), since=max(problem.since for problem in existing))

    def set_filter(self, text: str) -> None:
        """Want only devices for which this condition holds; empty: all."""
        self._condition = text
        self._is_due = True
        for hub, source in enumerate(self._sources):
            if hub not in self._refused:
                source.set_filter(text)

    def set_interval(self, interval_s: float) -> None:
        """Read a tick of each hub this often; never more often than it makes one."""
        for source in self._sources:
            source.set_interval(interval_s)

    def open_node(self, node: str) -> SnapshotSource:
        """The node's snapshots as its hub has them."""
        matches = self.routes.of_node(node)
        hub, own = matches[0] if matches else (0, node)
        return self._sources[hub].open_node(own)

    async def acknowledge(self, node: str, device: str | None) -> str:
        """At the node's hub. Raises AccelwatchError."""
        hub, own = self.routes.node(node)
        return await self._sources[hub].acknowledge(own, device)

    async def device_history(self, node: str, device: str) -> RecentHistory | None:
        """Recent history of a device by its id; None where there is none."""
        matches = self.routes.of_node(node)
        if not matches:
            return None
        return await self._sources[matches[0][0]].device_history(matches[0][1], device)

    async def graphs(self, incident: str) -> IncidentGraphs | None:
        """The graphs of an incident by its id in the picture."""
        try:
            hub, own = self.routes.id(incident)
        except UnmetError:
            return None
        graphs = await self._sources[hub].graphs(own)
        return None if graphs is None else graphs_in(graphs, hub, self.picture.owner)

    async def fleet_history(self) -> RecentHistory | None:
        """All hubs over the last hour; None where a hub keeps none, or a node would count twice."""
        owner = self.picture.owner
        hubs = self._speaking()
        if any(owner.hidden[hub] for hub in hubs):
            return None
        histories = await asyncio.gather(*(self._sources[hub].fleet_history() for hub in hubs))
        existing = [history for history in histories if history is not None]
        return added_histories(existing) if existing and len(existing) == len(histories) else None

    def _speaking(self) -> list[int]:
        """All hubs but those for all of whose nodes others speak."""
        hidden = self.picture.owner.hidden
        return [
            hub
            for hub, source in enumerate(self._sources)
            if (view := source.fleet()) is None or not 0 < len(view.nodes) == len(hidden[hub])
        ]

    async def explain(self, rule: str, entity: str) -> Explanation:
        """By the hub of the entity's node; a job or rack by the first that knows it.

        Raises AccelwatchError.
        """
        error: AccelwatchError | None = None
        for hub, own in self.routes.entity(entity):
            try:
                return await self._sources[hub].explain(rule, own)
            except AccelwatchError as refusal:
                error = error or refusal
        raise error or UnmetError(f"no hub knows {entity[:100]!r}")

    async def usage(self, by: str, since: str) -> UsageReport:
        """Who uses the devices of all hubs. Raises AccelwatchError when no hub has counted."""
        hubs = self._speaking()
        answers, refusals = await gathered(
            [self._sources[hub].usage(by, since) for hub in hubs], AccelwatchError
        )
        names = [self.picture.hubs[hub] for hub in hubs]
        reports = {names[at]: report for at, report in answers.items()}
        faults = {names[at]: str(refusal) for at, refusal in refusals.items()}
        if not reports:
            raise AccelwatchError("; ".join(f"{hub}: {text}" for hub, text in faults.items()))
        partly = any(self.picture.owner.hidden[hub] for hub in hubs)
        return usage_added(reports, faults, self.picture.owner.sentence if partly else "")

    def close(self) -> None:
        """Nothing is held outside `run`."""

    async def run(self, changed: Callable[[], None]) -> None:
        """Follow all hubs until cancelled."""

        def hub_changed() -> None:
            self._is_due = True
            self._unfilter_refused()
            changed()

        try:
            async with asyncio.TaskGroup() as group:
                for source in self._sources:
                    group.create_task(source.run(hub_changed), name=f"hub {source.name}")
                for hub in range(len(self._sources)):
                    group.create_task(self._poll_unfiltered(hub), name=f"devices of hub {hub}")
                while True:
                    await asyncio.sleep(_AGING_S)
                    if any(picture.age_s > _AGING_S for picture in self._pictures().values()):
                        hub_changed()
        finally:
            for session in self._sessions:
                await session.close()

    def _unfilter_refused(self) -> None:
        """Send no filter to hubs that are left out: in a loop they would keep each other's open."""
        for hub, source in enumerate(self._sources):
            view = source.fleet()
            is_refused = view is not None and bool(self._refuse(view.sums))
            if is_refused != (hub in self._refused):
                self._refused ^= {hub}
                source.set_filter("" if is_refused else self._condition)

    async def _poll_unfiltered(self, hub: int) -> None:
        """While a filter hides devices of shared nodes, read all of them once in a while."""
        while True:
            await asyncio.sleep(_AGING_S)
            view = self._sources[hub].fleet()
            if view is not None and view.filter and self.picture.owner.hidden[hub]:
                with contextlib.suppress(TargetFault):
                    self.picture.keep_unfiltered(hub, await first_view(self._sessions[hub]))
                    self._is_due = True
                await asyncio.sleep(_UNFILTERED_S)
