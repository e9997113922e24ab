"""The catalogue is the schema: its rows keep the naming and unit rules, and everything follows them."""

import re

import pytest

from accelwatch.schema.catalogue.lookup import by_key, catalogue, opt_in_groups, reading_metrics
from accelwatch.schema.metrics import Kind, Metric, MetricSource, Scope, Series, Tier
from accelwatch.schema.series import primary_value
from support.rules.unit_suffixes import UNIT_SUFFIXES

FOREIGN_UNITS = re.compile(r"_(mhz|percent|pct|milliwatts|mw|mib|mebibytes|kb|ms|us|ns|mj)(_|$)")


def test_keys_are_unique_and_of_the_legacy_charset() -> None:
    keys = [row.key for row in catalogue()]
    assert len(keys) == len(set(keys))
    assert all(re.fullmatch(r"[a-z][a-z0-9_]*", key) for key in keys)


@pytest.mark.parametrize("row", catalogue(), ids=lambda row: row.key)
def test_name_says_the_unit(row: Metric) -> None:
    assert not FOREIGN_UNITS.search(row.key)
    if row.unit:
        assert row.key.endswith(UNIT_SUFFIXES[row.unit])
    assert row.key.endswith("_total") == (row.kind is Kind.COUNTER)
    assert row.key.endswith("_info") == (row.kind is Kind.INFO)


@pytest.mark.parametrize("row", catalogue(), ids=lambda row: row.key)
def test_row_is_whole(row: Metric) -> None:
    assert row.help.endswith(".")
    assert bool(row.group) == (row.tier is Tier.OPT_IN)
    assert bool(row.buckets) == (row.kind is Kind.HISTOGRAM)
    assert all(len(labels) == len(row.labels) for labels in row.primary)
    assert not {"vendor", "device", "uuid"} & set(row.labels) or row.tier is Tier.AGGREGATE


def test_the_design_table_is_there_in_full() -> None:
    counted = [row for row in catalogue() if row.scope is not Scope.NODE or row.group != "host"]
    assert len(counted) >= 99
    minimal = [row.key for row in catalogue() if row.tier is Tier.MINIMAL]
    assert len(minimal) == 23
    for key in ("device_up", "busy_seconds_total", "temperature_celsius", "reset_required"):
        assert key in minimal


def test_groups_are_the_documented_ones() -> None:
    documented = "pipes cores histograms pools components pcie links ecc processes clocks host"
    assert set(opt_in_groups()) == set(documented.split())


def test_backends_fill_only_rows_of_devices() -> None:
    assert all(row.source is MetricSource.READ for row in reading_metrics())
    assert by_key()["power_watts"] in reading_metrics()
    assert by_key()["device_up"] not in reading_metrics()


@pytest.mark.parametrize(
    ("by_domain", "meant"),
    [
        ({"graphics": 3, "sm": 2, "npu": 1, "memory": 9}, 3),
        ({"sm": 2, "memory": 9, "video": 8}, 2),
        ({"npu": 1, "memory": 9, "fabric": 8, "soc": 7}, 1),
        ({"soc": 7, "memory": 9}, 7),
        ({"memory": 9}, None),
    ],
)
def test_the_bare_clock_is_that_of_the_core(by_domain: dict[str, int], meant: int | None) -> None:
    """A device of which only one domain's clock is told had an empty column."""
    clocks: dict[Series, int] = {
        ("clock_hertz", domain): value for domain, value in by_domain.items()
    }
    limits: dict[Series, int] = {
        ("clock_limit_hertz", domain, "max"): value for domain, value in by_domain.items()
    }
    assert primary_value(clocks, by_key()["clock_hertz"]) == meant
    assert primary_value(limits, by_key()["clock_limit_hertz"]) == meant
