"""The hubs that are followed, their picture, and the requests that go to them."""

import asyncio
import secrets
from collections.abc import Callable, Iterator, Sequence

import msgspec

from accelwatch.base.clock import Clock
from accelwatch.base.version import __version__
from accelwatch.fleet.follow.failures.faults import Reason, TargetFault
from accelwatch.fleet.global_hub.events import NumberedEvents
from accelwatch.fleet.global_hub.session import FollowedSession
from accelwatch.fleet.hub_client.several.requests.several_requests import SeveralRequests
from accelwatch.fleet.hub_client.several.source import SeveralHubs
from accelwatch.fleet.hub_states import HubState
from accelwatch.fleet.picture.model import FleetView
from accelwatch.fleet.targets.hub_endpoint import HubEndpoint
from accelwatch.fleet.wire import SCHEMA, FleetDocument
from accelwatch.schema.timestamps import timestamp

# How often the picture is remade at most: each time costs a walk over all devices.
REMADE_S = 0.5
# Ids of hubs below this one; more of them would be a loop through hubs that restart.
_MOST_IDS = 256
# From here on a hub's clock counts as off; a message is seconds late at most.
_CLOCK_OFF_S = 60.0
_RESTART = "targets.hubs has changed since this hub started: restart it to follow what it says now"
LOOP = "it follows this hub, itself or through another: take one of them out of targets.hubs"


class FollowedHubs:
    """The loop's thread only."""

    def __init__(self, endpoints: Sequence[HubEndpoint], clock: Clock) -> None:
        """Names of endpoints differ. Raises ConfigError."""
        # By which a hub that follows us is recognised among those that we follow.
        self.id = secrets.token_hex(8)
        self.endpoints = tuple(endpoints)
        self.clock = clock
        self.hubs = self.source()
        # Of all hubs, in one numbering for the page and every stream without a filter.
        self.events = NumberedEvents()
        self.sessions = [
            FollowedSession(endpoint, self._fault_of(number))
            for number, endpoint in enumerate(endpoints)
        ]
        self.requests = SeveralRequests(
            self.sessions,
            self.hubs.picture,
            self.hubs.routes,
            self._check,
            advice="ask one of the hubs that this hub follows",
        )
        # Whether the configuration has named other hubs since.
        self.restart_requested = False
        self._task: asyncio.Task[None] | None = None

    def source(self, condition: str = "") -> SeveralHubs:
        """One more picture of the same hubs, with a filter of its own."""
        return SeveralHubs(
            self.endpoints,
            condition=condition,
            clock=self.clock,
            remade_s=REMADE_S,
            refuse=self._loop,
        )

    def start(self) -> None:
        """Begin to follow."""
        self._task = asyncio.create_task(self.hubs.run(lambda: None), name="hubs")

    async def stop(self) -> None:
        """Follow nothing any more."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        for session in self.sessions:
            await session.close()

    @property
    def alive(self) -> bool:
        """Whether the hubs are being followed."""
        return self._task is not None and not self._task.done()

    @property
    def names(self) -> Sequence[str]:
        """The names of the hubs, in the order of the configuration."""
        return self.hubs.picture.hubs

    def view(self) -> FleetView | None:
        """The picture of all hubs; None until one has answered."""
        return self.hubs.fleet()

    def document(self) -> FleetDocument:
        """The fleet in numbers, and how each hub stands."""
        view = self.view()
        if view is None:
            states = self.hubs.hub_states()
            problems = tuple(f"hub {state.name}: {state.fault}" for state in states)
            sums = msgspec.structs.replace(_EMPTY, problems=problems)
        else:
            states, sums = tuple(view.hubs), view.sums
            problems = (*map(_omission, filter(_omits, states)), *self._clock_problems())
            sums = msgspec.structs.replace(sums, problems=(*sums.problems, *problems))
        if self.restart_requested:
            sums = msgspec.structs.replace(sums, problems=(_RESTART, *sums.problems))
        return msgspec.structs.replace(
            sums,
            version=__version__,
            time=timestamp(self.clock.wall()),
            hubs=states,
            hub_ids=self._ids(),
        )

    def _clock_problems(self) -> Iterator[str]:
        """Hubs whose clocks differ from ours."""
        wall = self.clock.wall()
        for number, name in enumerate(self.names):
            picture = self.hubs.picture_of(number)
            ahead_s = 0.0 if picture is None else picture.view.time - (wall - picture.age_s)
            if abs(ahead_s) > _CLOCK_OFF_S:
                where = "ahead of" if ahead_s > 0 else "behind"
                yield (
                    f"hub {name}: its clock is {abs(ahead_s):.0f} s {where} this hub's: times of its "
                    "events and incidents are its own"
                )

    def _ids(self) -> tuple[str, ...]:
        below = (id_ for document in self.hubs.documents() for id_ in document.hub_ids)
        return tuple(dict.fromkeys((self.id, *below)))[:_MOST_IDS]

    def _loop(self, document: FleetDocument) -> str:
        return LOOP if self.id in document.hub_ids else ""

    def _fault_of(self, hub: int) -> Callable[[], str]:
        return lambda: self.hubs.fault(hub)

    async def _check(self) -> None:
        await self.hubs.remake()
        if self.view() is None:
            faults = "; ".join(
                f"hub {state.name}: {state.fault}" for state in self.hubs.hub_states()
            )
            raise TargetFault(Reason.BUSY, f"no hub has answered yet: {faults}")


def _omits(state: HubState) -> bool:
    return state.omitted > 0


def _omission(state: HubState) -> str:
    return (
        f"hub {state.name}: {state.omitted} of its devices and nodes are not shown: raise device_limit "
        "of its entry in targets.hubs"
    )


_EMPTY = FleetDocument(
    schema=SCHEMA,
    version=__version__,
    time=timestamp(0.0),
    nodes_total=0,
    nodes={},
    devices_total=0,
    devices={},
    health={},
    power_watts=None,
    memory_used_bytes=None,
    memory_size_bytes=None,
    utilization_ratio=None,
    conflicts=(),
)
