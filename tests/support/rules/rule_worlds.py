"""Small fleets out of plain lists, in which rules are evaluated, and texts of rules for them."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from hypothesis import strategies as st

from accelwatch.expr.checking.tree import EventPattern
from accelwatch.expr.environment import Group
from accelwatch.expr.rule import RuleExpression
from accelwatch.expr.vocabulary.kleene import MISSING, Key, Missing, Value
from accelwatch.schema.metrics import Series

NOW = 1_800_000_000.0
T = TypeVar("T")
# A window as an environment is asked for it.
WindowKey = tuple[str, Series, int, float | None]


@dataclass
class World:
    """Devices side by side: a list a key, as long as there are devices; None is missing."""

    size: int
    numbers: Mapping[Key, Sequence[float | None]] = field(default_factory=dict)
    texts: Mapping[str, Sequence[str | None]] = field(default_factory=dict)
    windows: Mapping[WindowKey, Sequence[float | None]] = field(default_factory=dict)
    lasts: Mapping[EventPattern, Sequence[float | None]] = field(default_factory=dict)
    counts: Mapping[tuple[EventPattern, int], Sequence[int | None]] = field(default_factory=dict)
    # The number of each device's group.
    groups: Mapping[str, Sequence[int | None]] = field(default_factory=dict)
    fired: Mapping[str, Sequence[bool]] = field(default_factory=dict)
    now: float = NOW

    @property
    def rows(self) -> tuple["Row", ...]:
        return tuple(Row(self, at) for at in range(self.size))


@dataclass(frozen=True)
class Row:
    """One device: an environment for the scalar code."""

    world: World
    at: int

    @property
    def now(self) -> float:
        return self.world.now

    def lookup(self, key: Key) -> Value | Missing:
        column: Value | None = None
        if key in self.world.numbers:
            column = self.world.numbers[key][self.at]
        elif isinstance(key, str) and key in self.world.texts:
            column = self.world.texts[key][self.at]
        return MISSING if column is None else column

    def window(
        self, kind: str, key: Series, seconds: int, quantile: float | None, *, of_job: bool = False
    ) -> float | None:
        column = self.world.windows.get((kind, key, seconds, quantile))
        return None if column is None else column[self.at]

    def last(self, pattern: EventPattern) -> float | None:
        column = self.world.lasts.get(pattern)
        return None if column is None else column[self.at]

    def occurrences(self, pattern: EventPattern, seconds: int) -> int | None:
        column = self.world.counts.get((pattern, seconds))
        return None if column is None else column[self.at]

    def group(self, by: str) -> Group | None:
        column = self.world.groups.get(by)
        mine = None if column is None else column[self.at]
        if column is None or mine is None:
            return None
        members = [at for at, one in enumerate(column) if one == mine]
        return Group([Row(self.world, at) for at in members], members.index(self.at))

    def firing(self, rule: str) -> bool | None:
        column = self.world.fired.get(rule)
        return None if column is None else column[self.at]


QUANTITIES = ("power_watts", "utilization_ratio", "temperature_celsius", "host_blocked_processes")
FLAGS = ("throttle_active.power", "ecc_enabled")
WORDS = ("model", "vendor", "driver_version", "labels.pool", "job")
TEXTS = ("a", "b", "H100 80GB", "H100", "535.104", "550.1", "v1.2")
WINDOWS = (
    'avg(power_watts, "5m")',
    'min(temperature_celsius, "1m")',
    'max(host_blocked_processes, "20s")',
    'delta(power_watts, "5m")',
    'rate(energy_joules_total, "5m")',
    'delta(energy_joules_total, "1h")',
    'quantile(power_watts, 0.9, "5m")',
    'duty(ecc_enabled, "10m")',
    "age(power_watts)",
    'since("xid", code == 79)',
    'since(event("xid", code in [48, 79]))',
    'last("boot")',
    'since("boot")',
    'count("xid", code < 60, within="24h")',
)
BY = ("node", "job", "rack", "model", "stage", "job_model", "stage_model")


def _short(strategy: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """The same under a short name: Hypothesis writes out what a strategy is made of."""

    @st.composite
    def text(draw: st.DrawFn) -> str:
        return draw(strategy)

    return text()


_plain_number = st.one_of(
    st.sampled_from(QUANTITIES),
    st.sampled_from(FLAGS),
    st.sampled_from(WINDOWS),
    st.sampled_from(["0", "1", "2", "0.5", "7", "-3", "KiB(1)"]),
)


def _computed(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    pair = st.tuples(inner, st.sampled_from(["+", "-", "*", "/", "//", "%"]), inner)
    called = st.tuples(st.sampled_from(["min", "max"]), inner, inner)
    return st.one_of(
        pair.map(lambda one: f"({one[0]} {one[1]} {one[2]})"),
        called.map(lambda one: f"{one[0]}({one[1]}, {one[2]})"),
        inner.map(lambda one: f"abs({one})"),
        inner.map(lambda one: f"(-{one})"),
        inner.map(lambda one: f"MHz({one})"),
    )


_local_number = _short(st.recursive(_plain_number, _computed, max_leaves=3))
_peers = st.one_of(
    st.tuples(st.sampled_from(["peer_median", "peer_z"]), _local_number, st.sampled_from(BY)).map(
        lambda one: f'{one[0]}({one[1]}, by="{one[2]}")'
    ),
    st.sampled_from(BY).map(lambda by: f'peers_affected("other.rule", by="{by}")'),
    st.sampled_from(BY).map(lambda by: f'peers_affected("no.rule", by="{by}")'),
)
_peers = _short(_peers)
_number = _short(st.one_of(_local_number, _peers, st.tuples(_peers, _local_number).map("+".join)))
_text = st.one_of(st.sampled_from(WORDS), st.sampled_from(TEXTS).map(lambda one: f'"{one}"'))
_words = st.one_of(
    st.tuples(_text, st.sampled_from(["==", "!=", "in", "not in"]), _text).map(" ".join),
    st.tuples(st.sampled_from(WORDS), st.lists(_text, min_size=1, max_size=3)).map(
        lambda one: f"{one[0]} in [{', '.join(one[1])}]"
    ),
    st.sampled_from(WORDS).map(lambda one: f'matches({one}, "H[12]00")'),
    st.tuples(st.sampled_from(WORDS), _text).map(lambda one: f"version_lt({one[0]}, {one[1]})"),
    st.sampled_from(WORDS).map(lambda one: f"missing({one})"),
    st.tuples(_text, _text, _text).map(lambda one: f"{one[0]} == {one[1]} != {one[2]}"),
)


def _compared(numbers: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    order = st.sampled_from(["<", "<=", "==", "!=", ">", ">="])
    listed = st.lists(numbers, min_size=1, max_size=3).map(", ".join)
    return st.one_of(
        st.tuples(numbers, order, numbers).map(lambda one: f"({' '.join(one)})"),
        st.tuples(numbers, order, numbers, order, numbers).map(lambda one: f"({' '.join(one)})"),
        st.tuples(numbers, st.sampled_from(["in", "not in"]), listed).map(
            lambda one: f"({one[0]} {one[1]} [{one[2]}])"
        ),
        numbers.map(lambda one: f"missing({one})"),
        numbers.map(lambda one: f"present({one})"),
    )


def _joined(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    several = st.lists(inner, min_size=2, max_size=3)
    return st.one_of(
        inner.map(lambda one: f"(not {one})"),
        several.map(lambda some: f"({' and '.join(some)})"),
        several.map(lambda some: f"({' or '.join(some)})"),
        st.tuples(inner, inner).map(lambda one: f"(({one[0]}) == ({one[1]}))"),
        inner.map(lambda one: f"(({one}) == True)"),
        inner.map(lambda one: f"missing({one})"),
    )


def _conditions(numbers: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    leaf = st.one_of(
        _compared(numbers),
        _words.map(lambda one: f"({one})"),
        st.sampled_from(FLAGS),
        st.sampled_from(
            [
                "True",
                "False",
                'changed(power_watts, "1h")',
                'event("xid", code == 79, within="10s")',
                'event("boot")',
                'event("boot", within="3s")',
                'event("xid", code == 79, until="boot")',
            ]
        ),
    )
    return _short(st.recursive(_short(leaf), _joined, max_leaves=4))


_inner = _conditions(_number)
_folds = st.tuples(st.sampled_from(BY), st.sampled_from(["any", "all"]), _inner).map(
    lambda one: f"{one[0]}.{one[1]}({one[2]})"
)
_counts = st.one_of(
    st.tuples(st.sampled_from(BY), st.sampled_from(["count", "share"]), _inner).map(
        lambda one: f"{one[0]}.{one[1]}({one[2]})"
    ),
    st.sampled_from(BY).map(lambda by: f"{by}.count()"),
)
_whole_number = _short(st.one_of(_number, _short(_counts)))

# Texts of numbers.
values = _whole_number
# Texts of conditions.
conditions = _short(
    st.recursive(
        _short(st.one_of(_conditions(_number), _folds, _compared(_whole_number))),
        _joined,
        max_leaves=4,
    )
)

_number_or_none = st.one_of(
    st.none(), st.integers(-3, 4).map(float), st.sampled_from([0.1, 612.5, 1e12])
)
_text_or_none = st.one_of(st.none(), st.sampled_from(TEXTS))
_when = st.one_of(
    st.none(),
    st.just(-math.inf),
    st.sampled_from([0.0, 5.0, 10.0, 11.0, 1e6]).map(lambda s: NOW - s),
)


@st.composite
def worlds(draw: st.DrawFn, rule: RuleExpression) -> World:
    """A fleet of up to a dozen devices in which everything that a rule asks for is drawn."""
    size, needs = draw(st.integers(1, 12)), rule.needs

    def column(one: st.SearchStrategy[T]) -> list[T]:
        return draw(st.lists(one, min_size=size, max_size=size))

    labels = [f"labels.{one}" for one in sorted(needs.labels)]
    events = sorted(needs.events, key=repr)
    number = st.one_of(st.none(), st.integers(0, draw(st.integers(0, 2))))
    return World(
        size=size,
        numbers={one: column(_number_or_none) for one in sorted(needs.series)},
        texts={one: column(_text_or_none) for one in (*sorted(needs.fields), *labels)},
        windows={
            (one.kind, one.series, one.seconds, one.quantile): column(_number_or_none)
            for one in sorted(needs.windows, key=repr)
        },
        lasts={one.pattern: column(_when) for one in events},
        counts={
            (one.pattern, one.seconds): column(st.one_of(st.none(), st.integers(0, 5)))
            for one in events
        },
        groups={one: column(number) for one in sorted(needs.groups)},
        fired={"other.rule": column(st.booleans())},
    )
