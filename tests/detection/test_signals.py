"""The tables of signals name what the catalogue has."""

from accelwatch.detection.signals.device_signals import DEVICE_SIGNALS
from accelwatch.detection.signals.node_signals import NODE_SIGNALS
from accelwatch.detection.signals.signal import ANY, Form, SignalRow
from accelwatch.schema.catalogue.lookup import by_key
from accelwatch.schema.metrics import Kind, Scope

# The label of the row itself is left out.
_OF_ROW = "node"
# Gauges that only grow, whose steps are what counts.
_GROWING = {"memory_remapped_rows"}
_FAMILIES = {
    *("power", "thermal", "clock", "compute", "memory", "nvlink", "pcie", "ecc"),
    *("fabric", "storage", "host", "scrape"),
}


def _all() -> tuple[SignalRow, ...]:
    return (*DEVICE_SIGNALS, *NODE_SIGNALS)


def test_each_series_is_of_the_catalogue() -> None:
    for key, *labels in (signal.series for signal in _all()):
        expected = [label for label in by_key()[key].labels if label != _OF_ROW]
        assert len(labels) == len(expected), key


def test_levels_are_those_of_the_catalogue() -> None:
    assert {by_key()[signal.series[0]].scope for signal in DEVICE_SIGNALS} == {Scope.DEVICE}
    assert Scope.DEVICE not in {by_key()[signal.series[0]].scope for signal in NODE_SIGNALS}


def test_what_counts_is_a_rate() -> None:
    for signal in _all():
        counts = by_key()[signal.series[0]].kind is Kind.COUNTER
        assert (signal.form is Form.RATE) == (counts or signal.series[0] in _GROWING), signal


def test_several_series_are_folded_and_a_single_series_is_not() -> None:
    for signal in _all():
        assert (ANY in signal.series) == (signal.fold is not None), signal


def test_each_signal_has_a_resolution_and_a_family() -> None:
    assert {signal.family for signal in _all()} == _FAMILIES
    assert all(signal.step > 0 and signal.relative > 0 for signal in _all())


def test_no_series_is_there_twice() -> None:
    for table in (DEVICE_SIGNALS, NODE_SIGNALS):
        assert len({signal.series for signal in table}) == len(table)
