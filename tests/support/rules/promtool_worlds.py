"""Tests inside rule files as tests of promtool: the same worlds as series that agents expose."""

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from accelwatch.alerting.rules.document import Scope
from accelwatch.alerting.rules.prometheus.alerting_rules import AlertingRule, exported
from accelwatch.alerting.rules.prometheus.rule_file import rule_file
from accelwatch.alerting.rules.rule import Rule
from accelwatch.alerting.rules.testing.rule_tests import Play, played
from accelwatch.alerting.rules.testing.world import Member
from accelwatch.alerting.rules.timing import Transition
from accelwatch.alerting.rules.verdict import Entity
from accelwatch.expr.promql import Assumed
from accelwatch.expr.vocabulary.rule_names import LABEL_PREFIX, of_host
from accelwatch.schema.catalogue.lookup import by_key
from accelwatch.schema.event import ErrorEvent

DOWN = ("lost", "unresponsive", "suspended", "excluded")
_GROUPED = {
    Scope.DEVICE: ("instance", "device"),
    Scope.NODE: ("instance",),
    Scope.JOB: ("job_id",),
    Scope.RACK: ("rack",),
}
Values = Sequence[float | None]


class WrittenSeries:
    """Series for promtool, of all members of a world."""

    def __init__(self, play: Play, ticks: int) -> None:
        self._play = play
        self._ticks = ticks
        self.series: dict[str, Values] = {}
        members = [one for one in play.members if one.fields.get("state") != "missing"]
        for node in dict.fromkeys(one.node for one in members):
            target = self._target([one for one in members if one.node == node])
            self._put("exporter_series", target, 1)
            self._count_states([one for one in members if one.node == node], target)
            for member in members:
                if member.node == node and member.device:
                    self._device(member, target)
                if member.node == node:
                    self._values(member, target)

    def _target(self, members: Sequence[Member]) -> dict[str, str]:
        """What all members have in common; a device may have labels of its own in such a world."""
        alike = {name: word for one in members for name, word in one.fields.items()}
        labels = {"instance": members[0].node}
        for name, word in alike.items():
            same = all(one.fields.get(name) == word for one in members)
            if name.startswith(LABEL_PREFIX) and same:
                labels[name.removeprefix(LABEL_PREFIX)] = str(word)
        return labels

    def _put(self, key: str, labels: Mapping[str, object], values: Values | float) -> None:
        inner = ",".join(
            f'{name}="{word}"' for name, word in labels.items() if word not in ("", None)
        )
        steps = values if isinstance(values, Sequence) else [values]
        self.series[f"{by_key()[key].family}{{{inner}}}"] = steps

    def _labels(self, member: Member, target: Mapping[str, str]) -> dict[str, object]:
        own = {
            name.removeprefix(LABEL_PREFIX): word
            for name, word in member.fields.items()
            if name.startswith(LABEL_PREFIX)
        }
        vendor = member.fields.get("vendor", "unknown")
        device = {"vendor": vendor, "device": member.device, "uuid": f"u-{member.device}"}
        return {**target, **own, **device}

    def _device(self, member: Member, target: Mapping[str, str]) -> None:
        labels, fields = self._labels(member, target), member.fields
        state = fields.get("state", "ok")
        self._put("device_up", labels, int(state not in DOWN))
        if state == "suspended":
            self._put("device_suspended", labels, 1)
        for key in ("device_info", "device_inventory_info"):
            own = {name: fields.get(name, "") for name in by_key()[key].labels}
            if key == "device_info" or any(own.values()):
                self._put(key, {**labels, **own}, 1)
        if "health" in fields:
            for word in ("ok", "degraded", "failed", "unknown"):
                self._put("health", {**labels, "state": word}, int(word == fields["health"]))
        if "driver_version" in fields:
            version = {"component": "driver", "version": fields["driver_version"]}
            self._put("driver_info", {**target, "vendor": labels["vendor"], **version}, 1)
        if "job" in fields:
            own = {name: fields.get(name, "") for name in ("user", "account", "queue")}
            job = {"scheduler": "slurm", "job_id": fields["job"], **own}
            self._put("job_allocation_info", {**labels, **job}, 1)
        self._events(member, labels)

    def _count_states(self, members: Sequence[Member], target: Mapping[str, str]) -> None:
        for vendor in {one.fields.get("vendor", "unknown") for one in members if one.device}:
            states = [
                one.fields.get("state", "ok")
                for one in members
                if one.device and one.fields.get("vendor", "unknown") == vendor
            ]
            for state in ("ok", "degraded", *DOWN):
                labels = {**target, "vendor": vendor, "state": state}
                self._put("devices", labels, states.count(state))

    def _values(self, member: Member, target: Mapping[str, str]) -> None:
        labels = self._labels(member, target)
        for series, values in self._play.scripts[member.node, member.device].items():
            words = dict(zip(by_key()[series[0]].labels, series[1:], strict=True))
            owner = target if of_host(series) else labels
            self._put(series[0], {**owner, **words}, values)

    def _events(self, member: Member, labels: Mapping[str, object]) -> None:
        by_code: dict[tuple[str, str], list[tuple[float, ErrorEvent]]] = {}
        for one in self._play.reported_events:
            event = one.event
            if event.trusted and (one.node, event.device_id) == (member.node, member.device):
                by_code.setdefault((event.code, event.category.value), []).append((one.at_s, event))
        for (code, category), times in by_code.items():
            series = {**labels, "code": code, "category": category}
            lasts: list[float | None] = []
            totals: list[float | None] = []
            for tick in range(self._ticks):
                until = [event for at_s, event in times if at_s <= tick * self._play.interval_s]
                lasts.append(max((event.time for event in until), default=None))
                totals.append(len(until) or None)
            self._put("error_event_last_timestamp_seconds", series, lasts)
            self._put("error_events_total", series, totals)

    def written(self) -> list[dict[str, str]]:
        """As promtool takes them."""
        return [
            {"series": series, "values": _spelt(values, self._ticks)}
            for series, values in self.series.items()
        ]


def _spelt(values: Values, ticks: int) -> str:
    whole = [*values[:ticks], *([values[-1]] * (ticks - len(values)))]
    if len(set(whole)) == 1 and whole[0] is not None:
        return f"{whole[0]!r}+0x{ticks - 1}"
    return " ".join("_" if one is None else repr(one) for one in whole)


def fired(rule: Rule, play: Play, ticks: int) -> dict[Entity, float]:
    """For whom our own engine fires, and when first, in seconds."""
    times: dict[Entity, float] = {}
    for change in played(rule, play, ticks):
        if change.transition is Transition.FIRED:
            times.setdefault(change.entity, change.time)
    return times


def _named(entity: Entity) -> dict[str, str]:
    words = {
        "instance": entity.node,
        "device": entity.device,
        "job_id": entity.job,
        "rack": entity.rack,
    }
    return {name: words[name] for name in _GROUPED[entity.scope]}


def group_of_tests(
    rule: Rule, name: str, play: Play, slack_s: float, ticks: int | None = None
) -> dict[str, Any]:
    """One test for promtool: whoever fires with us fires there, nobody else, and none much earlier."""
    expected = fired(rule, play, ticks or play.ticks)
    last_s = max(expected.values(), default=0.0)
    # What our engine says of a moment, Prometheus may say up to `slack_s` later.
    whole = max(ticks or play.ticks, math.ceil((last_s + slack_s) / play.interval_s) + 1)
    labels = ", ".join(_GROUPED[rule.scope])
    query = f'group by ({labels}) (max_over_time(ALERTS{{alertstate="firing"}}[10d]))'
    samples = [
        {"labels": "{" + ",".join(f'{k}="{v}"' for k, v in _named(one).items()) + "}", "value": 1}
        for one in expected
    ]
    queries = [
        {"expr": query, "eval_time": _time((whole - 1) * play.interval_s), "exp_samples": samples}
    ]
    before_s = min(expected.values(), default=0.0) - slack_s
    if before_s > 0:
        queries.insert(0, {"expr": query, "eval_time": _time(before_s), "exp_samples": []})
    return {
        "name": name,
        "interval": _time(play.interval_s),
        "input_series": WrittenSeries(play, whole).written(),
        "promql_expr_test": queries,
    }


def _time(seconds: float) -> str:
    return f"{round(seconds * 1000)}ms"


def write_tests(
    folder: Path,
    rule: Rule,
    plays: Sequence[tuple[str, Play]],
    slack_s: float,
    evaluated_s: float = 0.0,
) -> Iterator[Path]:
    """Files for promtool, one for each interval between ticks; none for a rule that is not exported.

    Rules are evaluated at every tick, or every `evaluated_s`, which is what promtool's time goes into.
    """
    for interval_s in sorted({play.interval_s for _, play in plays}):
        assumed = Assumed(scrape_s=interval_s)
        (made,) = exported({rule.id: rule}, assumed)
        if not isinstance(made, AlertingRule):
            return
        rules = folder / f"{rule.id}-{interval_s:g}.rules.yml"
        rules.write_text(rule_file([made]))
        tests = [
            group_of_tests(rule, f"{rule.id}: {name}", play, slack_s)
            for name, play in plays
            if play.interval_s == interval_s
        ]
        document = {
            "rule_files": [rules.name],
            "evaluation_interval": _time(max(interval_s, evaluated_s)),
            "tests": tests,
        }
        path = folder / f"{rule.id}-{interval_s:g}.test.yml"
        path.write_bytes(msgspec.json.encode(document))
        yield path
