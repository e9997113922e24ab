"""The three questions of an operator, answered in sentences, and what is only assumed."""

from collections.abc import Iterator

from accelwatch_lab.recovery.report import BASELINES, RecordedSpares, Report, less
from accelwatch_lab.recovery.simulation import FIXED, MANUAL, OWN
from accelwatch_lab.recovery.site import MINUTE_S

TITLES = {
    MANUAL: "manual triage",
    FIXED: "retry every 11 min, same nodes",
    OWN: "accelwatch",
}


def answers(report: Report) -> list[str]:
    """How many spares, how often to save, what a faster load is worth."""
    spares, saving, faster = report.spares, report.saving, report.faster_load
    plan, own = report.plan, report.outcomes[OWN]
    recorded = None if spares.recorded is None else spares.recorded.enough
    enough = max(spares.clustered, spares.poisson, recorded or 0)
    now = ""
    if saving.interval_s is not None and saving.ratio_now is not None:
        now = f" Every {_minutes(saving.interval_s)}, as now, it is {saving.ratio_now[OWN]:.1%}."
    return [
        f"How many spares should I keep? {enough} for {plan.site.nodes} nodes: "
        f"{spares.mean_out:.1f} are out on average, and {spares.poisson} are enough 99 % of the "
        f"time if nodes fail independently, {spares.clustered} if outages come in clusters."
        f"{_recorded(spares.recorded, plan.site.nodes)}",
        f"How often should I save? Every {_minutes(saving.best_interval_s)}: a save holds the job "
        f"up for {_minutes(plan.site.save_s)}, and it ends {plan.ends_a_day:.2f} times a day. "
        f"{saving.ratio[OWN]:.1%} of the time is productive then.{now}",
        f"What would {_minutes(faster.less_s)} less load time be worth? Recovery would last "
        f"{_minutes(faster.mean_s)} on average, not {_minutes(own.mean_s)}: "
        f"{faster.device_hours_a_month:.0f} device-hours in 30 days.",
    ]


def _recorded(spares: RecordedSpares | None, nodes: int) -> str:
    """What a trace of outages says of spares."""
    if spares is None:
        return ""
    size = f"{spares.servers} servers, {spares.days:.0f} days, {spares.outages} outages"
    if spares.enough is None:
        return f" {spares.trace} ({size}) has too few servers for {nodes} nodes."
    return (
        f" In {spares.trace} ({size}) {spares.enough} were enough in 99 % of the hours for {nodes} "
        "of the servers."
    )


def comparison(report: Report) -> Iterator[str]:
    """How our policy compares with the baselines, and what it excluded wrongly."""
    for name in BASELINES:
        mean, p90 = less(report.outcomes, name)
        yield f"accelwatch against {TITLES[name]}: mean {-mean:+.0%}, p90 {-p90:+.0%}"
    own = report.outcomes[OWN]
    if own.right_exclusions:
        wrong = own.wrong_exclusions / own.right_exclusions
        yield f"it excludes {10 * wrong:.1f} healthy nodes for 10 broken ones"


def variations(report: Report) -> Iterator[str]:
    """What becomes of it with worse assumptions."""
    for variation in report.variations:
        own = variation.outcomes[OWN]
        against = [less(variation.outcomes, name) for name in BASELINES]
        worst = min(min(pair) for pair in against)
        yield (
            f"if {variation.change}: mean {_minutes(own.mean_s)}, p90 {_minutes(own.p90_s)}; "
            f"at least {worst:.0%} below both"
        )


def assumptions(report: Report) -> list[str]:
    """A warning where something of the detector is assumed."""
    if not report.plan.detector.is_assumed:
        return []
    return [
        "Figures of the detector that are marked `assumed` below are its goals and not measured; "
        "--measured FILE reads measured ones."
    ]


def _minutes(seconds: float) -> str:
    minutes = seconds / MINUTE_S
    return f"{minutes:.0f} min" if minutes >= 10 else f"{minutes:.3g} min"
