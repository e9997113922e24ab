"""A report for people: a row per policy, the answers, and where every input is from."""

from collections.abc import Iterator

from accelwatch.base.untrusted_text import printable
from accelwatch.cli.table_lines import columns
from accelwatch_lab.recovery.answers import TITLES, answers, assumptions, comparison, variations
from accelwatch_lab.recovery.detector import Delay, Share
from accelwatch_lab.recovery.failures import BY_NAME, Channel, Recall
from accelwatch_lab.recovery.rates import DAY_S
from accelwatch_lab.recovery.report import Report
from accelwatch_lab.recovery.simulation import Outcome
from accelwatch_lab.recovery.site import MINUTE_S

_HEAD = (
    "POLICY", "MEAN", "MEDIAN", "P90", "IN 60 MIN", "FIRST TRY", "NO PERSON", "ATTEMPTS",
    "PRODUCTIVE",
)  # fmt: skip
_RECALLED = {
    Recall.XID: "detector finds, with an Xid",
    Recall.NO_XID: "detector finds, without",
    Recall.GROUP: "detector finds, shared cause",
}
_DELAYED = {
    Channel.HARD: "delay, log or lost device",
    Channel.NUMERIC: "delay, by its peers",
    Channel.HANG: "delay, job stands still",
}
_MONTH_DAYS = 30


def table(report: Report) -> str:
    """All of a report as text."""
    faults, seed = report.plan.faults, report.plan.seed
    title = f"from a fault to the first productive step; {faults} faults, seed {seed}"
    rows = [_row(outcome, report.saving.ratio[name]) for name, outcome in report.outcomes.items()]
    lines = [title, "", *columns([_HEAD, *rows]), "", *comparison(report)]
    lines += [*variations(report), "", *answers(report), "", *assumptions(report)]
    lines += ["", *columns([("INPUT", "VALUE", "SOURCE"), *_inputs(report)])]
    return "".join(f"{printable(line)}\n" for line in lines)


def _row(outcome: Outcome, productive: float) -> tuple[str, ...]:
    attempts = outcome.attempts_per_success
    return (
        TITLES[outcome.policy],
        *(_minutes(value) for value in (outcome.mean_s, outcome.median_s, outcome.p90_s)),
        *(f"{share:.0%}" for share in (outcome.within_hour, outcome.first_try)),
        f"{outcome.without_person:.0%}",
        "-" if attempts is None else f"{attempts:.1f}",
        f"{productive:.1%}",
    )


def _inputs(report: Report) -> Iterator[tuple[str, str, str]]:
    site, rates, detector = report.plan.site, report.plan.rates, report.plan.detector
    for name, rate in rates.by_kind.items():
        if rate:
            text = f"{rate * site.nodes * _MONTH_DAYS:.1f} in 30 days"
            yield BY_NAME[name].title, text, rates.source_of(name)
    yield "load", _minutes(site.load_s), "--load; default: arXiv:2605.09370v1"
    yield "save", _minutes(site.save_s), "--save; default: assumed"
    yield "repair", f"{site.repair_s / DAY_S:.1f} d", "--repair; default: trace of InfiniteHBD"
    yield "a person's triage", _minutes(site.triage_s), "--triage; default: Minder (30 min)"
    shares = {
        **{_RECALLED[group]: share for group, share in detector.recall.items()},
        "names the right node": detector.right_node,
        "reports a shared cause as one": detector.single_group,
    }
    for title, share in shares.items():
        yield title, f"{share.value:.0%}", _origin(share, detector.source)
    for channel, delay in detector.delays.items():
        text = f"{delay.median_s:.0f} s, p95 {delay.p95_s:.0f} s"
        yield _DELAYED[channel], text, _origin(delay, detector.source)


def _origin(value: Share | Delay, source: str) -> str:
    detail = getattr(value, "detail", "")
    texts = {"assumed": "assumed: goal of the detector", "stated": "option"}
    return texts.get(value.origin.value, f"measured: {', '.join(filter(None, (detail, source)))}")


def _minutes(seconds: float) -> str:
    return f"{seconds / MINUTE_S:.0f} min"
