"""What expressions mean, readings present and absent."""

import itertools
from collections.abc import Mapping

import pytest

from accelwatch.expr import (
    MISSING,
    UNKNOWN,
    Key,
    Lookup,
    Missing,
    Truth,
    Type,
    Value,
    compile_condition,
    compile_expression,
    device_names,
)

H100: Mapping[Key, Value] = {
    "vendor": "nvidia",
    "model": "NVIDIA H100 80GB HBM3",
    "driver_version": "535.104.05",
    "state": "ok",
    "health": "ok",
    "index": 3,
    ("power_watts",): 612.5,
    ("power_limit_watts", "enforced"): 700.0,
    ("temperature_celsius", "gpu"): 61.0,
    ("temperature_celsius", "memory"): 88.0,
    ("temperature_limit_celsius", "gpu", "slowdown"): 87.0,
    ("fan_speed_ratio", "1"): 0.4,
    ("memory_used_bytes",): 68719476736,
    ("memory_size_bytes",): 85899345920,
    ("throttle_active", "power"): 1.0,
    ("throttle_active", "thermal"): 0.0,
    ("link_up", "nvlink", "3"): 1,
    ("health", "ok"): 1.0,
    ("ecc_enabled",): True,
    ("utilization_ratio",): 0.0,
}

A, B, C = ("power_watts",), ("utilization_ratio",), ("memory_used_bytes",)


def over(readings: Mapping[Key, Value | Missing]) -> Lookup:
    return lambda key: readings.get(key, MISSING)


def truth(text: str, readings: Mapping[Key, Value | Missing] = H100) -> Truth:
    return compile_condition(text, device_names()).evaluate(over(readings))


def value(text: str, readings: Mapping[Key, Value | Missing] = H100) -> Value | Missing:
    return compile_expression(text, device_names()).value(over(readings))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('vendor == "nvidia" and temperature_celsius > 85', False),
        ('vendor == "nvidia" and temperature_celsius.memory > 85', True),
        ('vendor != "nvidia"', False),
        ("power_watts / power_limit_watts >= 0.875", True),
        ("temperature_celsius.gpu + 10 < temperature_limit_celsius.gpu.slowdown", True),
        ("temperature_limit_celsius == 87", True),
        ("fan_speed_ratio[1] == 0.4", True),
        ('fan_speed_ratio["1"] == 0.4', True),
        ("link_up.nvlink[3]", True),
        ("not link_up.nvlink[3]", False),
        ("throttle_active.power and not throttle_active.thermal", True),
        ("throttle_active.power + throttle_active.thermal == 1", True),
        ("throttle_active.power == True", True),
        ("ecc_enabled", True),
        ("ecc_enabled == 1", True),
        ('health == "ok" and health.ok', True),
        ("memory_used_bytes > GiB(60)", True),
        ("GiB(64) == memory_used_bytes", True),
        ("50 < temperature_celsius <= 61", True),
        ("50 < temperature_celsius < 61", False),
        ("index in (1, 2, 3)", True),
        ("index not in [1, 2, 3]", False),
        ('vendor in ("amd", "intel")', False),
        ('"H100" in model', True),
        ('"H200" not in model', True),
        ('"o" in state', True),
        ('state in ("ok", "degraded")', True),
        ("index in (1, index)", True),
        ("index not in (1, utilization_ratio)", True),
        ('matches(model, "H[12]00.*80GB")', True),
        ('matches(model, "^H100")', False),
        ('matches(model, "h100")', False),
        ('matches(model, "h100", ignore_case=True)', True),
        (r'matches(model, "\d{2}GB\b")', True),
        (r'matches(model, r"\s80")', True),
        (r'model == "a\"b"', False),
        ('version_lt(driver_version, "535.104.5")', False),
        ('version_lt(driver_version, "535.110")', True),
        ('version_lt("535", "535.0.0")', False),
        ("min(power_watts, 3, 4) == 3", True),
        ("max(power_watts, 3) == power_watts", True),
        ("abs(-3) == 3", True),
        ("7 // 2 == 3 and 7 % 2 == 1 and -7 // 2 == -4", True),
        ("True", True),
        ("True == False", False),
        ("(power_watts > 1) == (index > 1)", True),
        ("power_watts\n\t>\r\n 3", True),
        ("  power_watts > 3  ", True),
        ("present(power_watts) and missing(serial)", True),
        ("missing(serial == 'x')", True),
    ],
)
def test_meaning(text: str, expected: bool) -> None:
    assert truth(text) is expected


@pytest.mark.parametrize(
    "text",
    [
        'serial == "1"',
        "temperature_celsius.hotspot > 3",
        "fan_speed_ratio > 0",
        "fan_speed_ratio + 1 > 0",
        "not ecc_errors_total > 0",
        "ecc_errors_total in (0, 1)",
        "ecc_errors_total not in (0, 1)",
        "index in (1, ecc_errors_total)",
        "serial in ('a', 'b')",
        "'a' in serial",
        "0 <= ecc_errors_total < 3",
        "power_watts / utilization_ratio > 1",
        "power_watts // utilization_ratio > 1",
        "power_watts % 0 > 1",
        "min(power_watts, ecc_errors_total) > 0",
        "matches(serial, 'x')",
        "version_lt(model, '535')",
        "version_lt(serial, '535')",
        "reset_required",
        "GiB(ecc_errors_total) > 1",
        "1e308 * 10 > 1",
    ],
)
def test_absence_and_undefined_arithmetic_are_unknown(text: str) -> None:
    assert truth(text) is UNKNOWN


def test_a_false_pair_decides_a_chain_with_a_missing_end() -> None:
    assert truth("700 < power_watts < ecc_errors_total") is False
    assert truth("ecc_errors_total < power_watts < 3") is False


THREE: tuple[tuple[Truth, float | Missing], ...] = ((True, 1.0), (False, 0.0), (UNKNOWN, MISSING))


def kleene_and(values: list[Truth]) -> Truth:
    if any(v is False for v in values):
        return False
    return UNKNOWN if any(v is UNKNOWN for v in values) else True


def kleene_not(value: Truth) -> Truth:
    return value if value is UNKNOWN else value is False


@pytest.mark.parametrize("readings", list(itertools.product(THREE, repeat=3)))
def test_kleene_tables(readings: tuple[tuple[Truth, float | Missing], ...]) -> None:
    truths = [t for t, _ in readings]
    device: dict[Key, Value | Missing] = {
        ("ecc_enabled",): readings[0][1],
        ("reset_required",): readings[1][1],
        ("device_up",): readings[2][1],
    }
    disjunction = kleene_not(kleene_and([kleene_not(t) for t in truths]))
    assert truth("ecc_enabled and reset_required and device_up", device) is kleene_and(truths)
    assert truth("ecc_enabled or reset_required or device_up", device) is disjunction
    assert truth("not ecc_enabled", device) is kleene_not(truths[0])
    nested = kleene_and([kleene_not(truths[2]), disjunction])
    text = "not device_up and (ecc_enabled or (reset_required or device_up))"
    assert truth(text, device) is nested


def test_a_bare_name_is_the_first_primary_label_that_is_present() -> None:
    junction: dict[Key, Value | Missing] = {("temperature_celsius", "junction"): 70.0}
    assert value("temperature_celsius", junction) == 70.0
    assert value("temperature_celsius", {**junction, ("temperature_celsius", "gpu"): 50}) == 50
    assert value("temperature_celsius", {}) is MISSING
    names = compile_expression("temperature_celsius", device_names()).names
    assert names == {("temperature_celsius", "gpu"), ("temperature_celsius", "junction")}


def test_values_of_each_type() -> None:
    assert value("power_watts * 2") == 1225.0
    assert value("vendor") == "nvidia"
    assert value("power_watts > 3") is True
    assert value("serial") is MISSING
    assert compile_expression("power_watts * 2", device_names()).type is Type.NUMBER


def test_large_counters_stay_exact() -> None:
    counter = 2**63 + 1
    assert value("memory_used_bytes", {C: counter}) == counter
    assert truth("memory_used_bytes == 9223372036854775809", {C: counter}) is True


@pytest.mark.parametrize(
    "nonsense", [float("nan"), float("inf"), -float("inf"), 10**400, "612.5", MISSING]
)
def test_a_reading_that_is_no_number_counts_as_missing(nonsense: Value | Missing) -> None:
    assert truth("power_watts > 0", {A: nonsense}) is UNKNOWN
    assert truth("power_watts <= 0 or missing(power_watts)", {A: nonsense}) is True


def test_text_where_the_device_gives_a_number_counts_as_missing() -> None:
    assert truth("vendor == 'x'", {"vendor": 3}) is UNKNOWN


def test_long_text_is_not_matched() -> None:
    assert truth("matches(model, 'a*')", {"model": "a" * 129}) is UNKNOWN


def test_unknown_has_no_truth_value() -> None:
    with pytest.raises(TypeError, match="is True"):
        bool(UNKNOWN)


def test_names_are_those_that_may_be_looked_up() -> None:
    expression = compile_condition(
        'vendor in ("amd", model) or abs(power_watts) > fan_speed_ratio[1]', device_names()
    )
    assert expression.names == {"vendor", "model", ("power_watts",), ("fan_speed_ratio", "1")}
    keys: set[Key] = set()

    def lookup(key: Key) -> Value:
        keys.add(key)
        return f"a {key}" if isinstance(key, str) else 1.0

    expression.evaluate(lookup)
    assert keys == expression.names


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("memory_used_bytes * 3", 3 << 62),
        ("memory_used_bytes * 4", float(1 << 64)),
        ("memory_used_bytes * -4", -float(1 << 64)),
        ("-3 * memory_used_bytes", -(3 << 62)),
    ],
)
def test_whole_numbers_beyond_64_bits_become_floats(text: str, number: float) -> None:
    found = value(text, {C: 1 << 62})
    assert (found, type(found)) == (number, type(number))


@pytest.mark.parametrize(
    ("old", "vendor"), [("huawei", "ascend"), ("aws", "neuron"), ("google", "tpu")]
)
@pytest.mark.parametrize(
    "text",
    ['vendor == "{}"', '"{}" == vendor', 'vendor in ("nvidia", "{}")', 'not vendor != "{}"'],
)
def test_a_vendor_under_its_old_name_is_the_one_of_today(text: str, old: str, vendor: str) -> None:
    assert truth(text.format(old), {"vendor": vendor}) is True
    assert truth(text.format(old), {"vendor": "amd"}) is False


def test_only_a_vendor_has_an_old_name() -> None:
    assert truth('model == "google"', {"model": "tpu"}) is False
    assert truth('model == "google"', {"model": "google"}) is True
