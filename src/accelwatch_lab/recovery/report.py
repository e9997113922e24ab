"""The answer to an operator: outcomes of the policies, spares, interval, what a faster load is worth."""

from collections.abc import Iterator

import msgspec

from accelwatch_lab.recovery.checkpoints import best_interval, effective_ratio
from accelwatch_lab.recovery.detector import Origin, Share
from accelwatch_lab.recovery.failures import CODE_SHARE
from accelwatch_lab.recovery.outages import OutageTrace, spares_in_trace
from accelwatch_lab.recovery.policies.person import RIGHT
from accelwatch_lab.recovery.rates import DAY_S
from accelwatch_lab.recovery.simulation import FIXED, MANUAL, OWN, Outcome, Plan, simulate
from accelwatch_lab.recovery.spares import clustered_spares, poisson_spares

BASELINES = (MANUAL, FIXED)
FASTER_S = 600.0
_MONTH_DAYS = 30.0


class Saving(msgspec.Struct, frozen=True, kw_only=True):
    """How often to save, seconds, and the effective training time ratio by policy."""

    best_interval_s: float
    ratio: dict[str, float]
    # At the interval of now, where there is one.
    interval_s: float | None
    ratio_now: dict[str, float] | None


class RecordedSpares(msgspec.Struct, frozen=True, kw_only=True):
    """Spares that were enough in 99 % of the hours of a trace of outages."""

    # None where the job has more nodes than the trace has servers.
    enough: int | None
    trace: str
    servers: int
    days: float
    outages: int


class Spares(msgspec.Struct, frozen=True, kw_only=True):
    """Nodes that are out on average, and spares that are enough 99 % of the time."""

    mean_out: float
    poisson: int
    clustered: int
    recorded: RecordedSpares | None


class FasterLoad(msgspec.Struct, frozen=True, kw_only=True):
    """What a load that is this much shorter is worth under our policy."""

    less_s: float
    mean_s: float
    ratio: float
    device_hours_a_month: float


class Variation(msgspec.Struct, frozen=True, kw_only=True):
    """The same with an assumption that is worse for us."""

    change: str
    outcomes: dict[str, Outcome]


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """All of it; times in seconds, shares from 0 to 1."""

    plan: Plan
    outcomes: dict[str, Outcome]
    saving: Saving
    spares: Spares
    faster_load: FasterLoad
    variations: tuple[Variation, ...]


def report(plan: Plan, trace: OutageTrace | None = None) -> Report:
    """Simulate, and answer; spares also by the outages of a trace, where there is one."""
    outcomes = simulate(plan)
    saving = _saving(plan, outcomes)
    return Report(
        plan=plan,
        outcomes=outcomes,
        saving=saving,
        spares=_spares(plan, trace),
        faster_load=_faster(plan, saving),
        variations=tuple(
            Variation(change=change, outcomes=simulate(worse)) for change, worse in _worse(plan)
        ),
    )


def less(outcomes: dict[str, Outcome], baseline: str) -> tuple[float, float]:
    """By which shares the mean and the p90 of our policy are below those of a baseline."""
    own, other = outcomes[OWN], outcomes[baseline]
    return 1.0 - own.mean_s / other.mean_s, 1.0 - own.p90_s / other.p90_s


def _saving(plan: Plan, outcomes: dict[str, Outcome]) -> Saving:
    save_s, now = plan.site.save_s, plan.site.save_interval_s
    ends_per_s = plan.ends_a_day / DAY_S
    best = best_interval(save_s, ends_per_s)

    def ratios(interval_s: float) -> dict[str, float]:
        return {
            name: effective_ratio(save_s, interval_s, ends_per_s, outcome.mean_s)
            for name, outcome in outcomes.items()
        }

    return Saving(
        best_interval_s=best,
        ratio=ratios(best),
        interval_s=now,
        ratio_now=None if now is None else ratios(now),
    )


def _spares(plan: Plan, trace: OutageTrace | None) -> Spares:
    nodes, repair_days = plan.site.nodes, plan.site.repair_s / DAY_S
    per_day = plan.rates.hardware_per_day(nodes)
    return Spares(
        mean_out=per_day * repair_days,
        poisson=poisson_spares(per_day * repair_days),
        clustered=clustered_spares(per_day, repair_days, nodes, plan.chance("spares")),
        recorded=None if trace is None else _recorded(plan, trace),
    )


def _recorded(plan: Plan, trace: OutageTrace) -> RecordedSpares:
    return RecordedSpares(
        enough=spares_in_trace(trace, plan.site.nodes, plan.chance("outages")),
        trace=trace.name,
        servers=trace.servers,
        days=trace.days,
        outages=trace.count,
    )


def _faster(plan: Plan, saving: Saving) -> FasterLoad:
    site = plan.site
    less_s = min(FASTER_S, site.load_s)
    faster = msgspec.structs.replace(site, load_s=site.load_s - less_s)
    outcomes = simulate(msgspec.structs.replace(plan, site=faster))
    ratio = _saving(plan, outcomes).ratio[OWN]
    hours = site.nodes * site.devices * 24.0 * _MONTH_DAYS
    return FasterLoad(
        less_s=less_s,
        mean_s=outcomes[OWN].mean_s,
        ratio=ratio,
        device_hours_a_month=(ratio - saving.ratio[OWN]) * hours,
    )


def _worse(plan: Plan) -> Iterator[tuple[str, Plan]]:
    """Assumptions that carry the result, each set to what is known of the worse."""
    right, by_kind = plan.detector.right_node, plan.rates.by_kind
    if right.origin is Origin.ASSUMED and right.value > RIGHT:
        worse = msgspec.structs.replace(plan.detector, right_node=Share(RIGHT, Origin.ASSUMED))
        change = f"it names the right node in {RIGHT:.0%} only"
        yield change, msgspec.structs.replace(plan, detector=worse)
    if by_kind.get("software", 0.0) and not by_kind.get("code", 0.0):
        change = f"a restart does not cure {CODE_SHARE:.0%} of the ends by software (ByteRobust)"
        rates = plan.rates.with_code(CODE_SHARE)
        yield change, msgspec.structs.replace(plan, rates=rates)
