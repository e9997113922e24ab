"""The tests inside rule files: each is a small world that its rule is played on, tick by tick."""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from accelwatch.alerting.rules.document import CaseDocument
from accelwatch.alerting.rules.engine import Engine
from accelwatch.alerting.rules.rule import Rule, needs_of
from accelwatch.alerting.rules.testing.series_script import values_of
from accelwatch.alerting.rules.testing.world import Member, World
from accelwatch.alerting.rules.timing import Transition
from accelwatch.alerting.rules.verdict import VerdictChange
from accelwatch.base.durations import seconds
from accelwatch.base.errors import ConfigError, ExpressionError, UsageError
from accelwatch.base.names.host_ranges import expand
from accelwatch.expr.checking.tree import Reading
from accelwatch.expr.rule import compile_rule_value
from accelwatch.schema.event import Category, ErrorEvent
from accelwatch.schema.metrics import Series
from accelwatch.schema.renamed import current_vendor

DEFAULT_NODE = "n1"
_OWN_KEYS = frozenset({"node", "device", "values", "events", "labels"})
_EXPECTATIONS = {"fires": Transition.FIRED, "clears": Transition.CLEARED}

Script = dict[Series, list[float | None]]


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """How a test went; `failures` is empty when it passed."""

    rule: str
    test: str
    failures: tuple[str, ...] = ()


class ReportedEvent(msgspec.Struct, frozen=True):
    """An event, and when it is received."""

    at_s: float
    node: str
    event: ErrorEvent


class Play(msgspec.Struct, kw_only=True):
    """A test as it is played."""

    interval_s: float
    members: list[Member] = []
    # The values of each node and device.
    scripts: dict[tuple[str, str], Script] = {}
    reported_events: list[ReportedEvent] = []

    @property
    def ticks(self) -> int:
        """How many there are until everything has happened."""
        lengths = [len(values) for script in self.scripts.values() for values in script.values()]
        last_s = max((reported.at_s for reported in self.reported_events), default=0.0)
        return max([*lengths, int(last_s // self.interval_s) + 2, 1])


def run(rule: Rule) -> Iterator[Result]:
    """Play a rule's tests. Raises nothing: what is wrong with a test is a failure of it."""
    for case in rule.tests:
        try:
            failures = tuple(_failures(rule, case))
        except (ConfigError, ExpressionError, UsageError) as error:
            failures = (str(error),)
        yield Result(rule=rule.id, test=case.name, failures=failures)


def _failures(rule: Rule, case: CaseDocument) -> Iterator[str]:
    unknown = set(case.expect) - set(_EXPECTATIONS)
    if unknown or "fires" not in case.expect:
        raise ConfigError("expect: {fires: {name: time}}, and clears likewise; fires: {} is never")
    play = read_case(case)
    expectations = {verb: _expected_times(verb, expected) for verb, expected in case.expect.items()}
    last_s = max((at_s for times in expectations.values() for at_s in times.values()), default=0.0)
    changes = played(rule, play, max(play.ticks, int(last_s // play.interval_s) + 2))
    for verb, times in expectations.items():
        actual = _times(changes, _EXPECTATIONS[verb])
        yield from _differences(verb, times, actual, play.interval_s)


def _expected_times(verb: str, expected: object) -> dict[str, float]:
    if not isinstance(expected, dict):
        raise ConfigError(f"expect.{verb}: a mapping of names to times")
    return {name: _seconds(at) for name, at in _expanded(expected)}


def _differences(
    verb: str, expected: Mapping[str, float], times: Mapping[str, float], interval_s: float
) -> Iterator[str]:
    for name, at_s in expected.items():
        actual = times.get(name)
        if actual is None:
            yield f"{name} never {verb}; expected at {at_s:g} s"
        elif not at_s <= actual < at_s + interval_s:
            yield f"{name} {verb} at {actual:g} s; expected at {at_s:g} s"
    for name, actual in times.items():
        if name not in expected:
            yield f"{name} {verb} at {actual:g} s; expected never"


def played(rule: Rule, play: Play, ticks: int) -> list[VerdictChange]:
    """What changes in so many ticks."""
    world = World(needs_of([rule]), play.interval_s, play.members)
    engine = world.engine = Engine({rule.id: rule})
    reported_events = sorted(play.reported_events, key=lambda entry: entry.at_s)
    changes: list[VerdictChange] = []
    for tick in range(ticks):
        now = tick * play.interval_s
        for key, script in play.scripts.items():
            at = {series: values[min(tick, len(values) - 1)] for series, values in script.items()}
            world.members[key].values = {s: v for s, v in at.items() if v is not None}
        world.tick(now)
        while reported_events and reported_events[0].at_s <= now:
            reported = reported_events.pop(0)
            world.add_event(reported.node, reported.event)
        changes += engine.step(world.subjects(), now, now)
    return changes


def _times(changes: list[VerdictChange], transition: Transition) -> dict[str, float]:
    """When each entity first had a transition; one of the default node has its device's name."""
    times: dict[str, float] = {}
    for change in changes:
        if change.transition is transition:
            times.setdefault(_name(change), change.time)
    return times


def _name(change: VerdictChange) -> str:
    entity = change.entity
    if entity.device:
        return entity.device if entity.node == DEFAULT_NODE else f"{entity.node}/{entity.device}"
    return entity.node or entity.job or entity.rack


def read_case(case: CaseDocument) -> Play:
    """A test as it is played. Raises ConfigError, ExpressionError, UsageError."""
    interval_s = _seconds(case.every)
    if not 0 < interval_s <= 3600:
        raise ConfigError("every: a time above 0, at most an hour")
    play = Play(interval_s=interval_s)
    for at, entry in enumerate(case.given):
        try:
            _add(play, entry)
        except (ConfigError, ExpressionError, UsageError) as error:
            raise ConfigError(f"given[{at}]: {error}") from None
    if not play.members:
        raise ConfigError("given: there is no device or node")
    return play


def _add(play: Play, entry: Mapping[str, Any]) -> None:
    fields = {name: value for name, value in entry.items() if name not in _OWN_KEYS}
    for name, value in fields.items():
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise ConfigError(f"{name}: text or a number is expected")
    if isinstance(vendor := fields.get("vendor"), str):
        fields["vendor"] = current_vendor(vendor)
    labels = entry.get("labels", {})
    fields |= {f"labels.{name}": str(value) for name, value in labels.items()}
    script = {series_named(name): values_of(text) for name, text in entry.get("values", {}).items()}
    for node in expand(str(entry.get("node", DEFAULT_NODE))):
        for device in expand(str(entry["device"])) if "device" in entry else [""]:
            key = node, device
            if key in play.scripts:
                raise ConfigError(f"{'/'.join(filter(None, key))} is given twice")
            play.members.append(Member(node=node, device=device, fields=fields))
            play.scripts[key] = script
            play.reported_events += [
                _reported_event(node, device, event) for event in entry.get("events", [])
            ]


def _reported_event(node: str, device: str, written: Mapping[str, Any]) -> ReportedEvent:
    # Its shape was checked with the file (`loading.case_events`).
    at_s, age_s = _seconds(written["at"]), _seconds(written.get("age", 0))
    event = ErrorEvent(
        code=str(written["code"]),
        category=Category(written.get("category", Category.OTHER)),
        time=at_s - age_s,
        text=str(written.get("text", written["code"])),
        source="kernel_log",
        device_id=device,
        subject=str(written.get("subject", "")),
        trusted=bool(written.get("trusted", True)),
    )
    return ReportedEvent(at_s, node, event)


def series_named(name: str) -> Series:
    """The series that a name of the language stands for. Raises ExpressionError, ConfigError."""
    tree = compile_rule_value(name).tree
    key = tree.keys[0] if isinstance(tree, Reading) else None
    if not isinstance(key, tuple):
        raise ConfigError(f"values: {name} is not a series")
    return key


def _expanded(expected: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for names, at in expected.items():
        for name in expand(str(names)):
            yield name, at


def _seconds(written: object) -> float:
    return seconds(str(written))
