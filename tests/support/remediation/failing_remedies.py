"""Remedies with which everything is wrong of which a shipped alert speaks."""

import time
from collections.abc import Mapping, Sequence

from accelwatch.alerting.incidents.model.incident import Incident
from accelwatch.exposition.histogram import Histogram
from accelwatch.fleet.remedies.current import CurrentRemedies
from accelwatch.fleet.remedies.measures import current_series
from accelwatch.remediation.policy.guards.data_guard import DataGuardState
from accelwatch.remediation.policy.guards.failure_domains import FailureDomain
from accelwatch.remediation.policy.guards.limits.breaker import BreakerState, BreakerStatus
from accelwatch.remediation.policy.guards.limits.budget import BudgetState, Own
from accelwatch.remediation.policy.state.model import Clocks, Remedy, RemedyState
from accelwatch.remediation.policy.state.orders import Stop
from accelwatch.remediation.policy.state.spares.model import Spare, SpareState, SpareStatus
from accelwatch.remediation.policy.state.stage import Stage
from accelwatch.remediation.policy.state.world import World
from accelwatch.remediation.settings import RemedySettings
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Number

_AN_HOUR_S = 3600.0
_STAGES = (Stage.UNKNOWN, Stage.FAILED, Stage.AWAITING_APPROVAL, Stage.DRAINING)


def sick_state(now: float) -> RemedyState:
    """As an engine has it that is stopped, frozen, late, without spares and without budget."""
    since = now - _AN_HOUR_S
    domain = FailureDomain(node="n1", pools=("train",), domains=())
    return RemedyState(
        remedies={
            f"n{number}": Remedy(
                node=f"n{number}",
                stage=stage,
                clocks=Clocks(
                    since=since, begun=since, overdue=stage.value if stage is Stage.DRAINING else ""
                ),
            )
            for number, stage in enumerate(_STAGES)
        },
        stop=Stop(by="kim", at=since),
        breaker=BreakerState(standing=BreakerStatus.OPEN),
        budget=BudgetState(own={"n1": Own(place=domain, incidents=("i1",), at=since)}),
        spares=SpareState(spares={"s1": Spare(standing=SpareStatus.FAILED)}),
        world=World(guard=DataGuardState(why="too few nodes are heard")),
    )


class SickRemedies:
    """In the place of a hub's remedies: their series are those of the real measures."""

    problems: tuple[str, ...] = ()
    stalled = ""

    def series(self) -> dict[Series, Number]:
        now = time.time()
        return dict(current_series(sick_state(now), RemedySettings(), now))

    @property
    def current(self) -> CurrentRemedies:
        return CurrentRemedies(sick_state(time.time()), RemedySettings(), {}, ())

    def histograms(self) -> Mapping[Series, Histogram]:
        return {}

    def on_changes(self, incidents: Sequence[Incident]) -> None:
        """Nothing is done about them."""

    async def stop(self) -> None:
        """Nothing runs."""
