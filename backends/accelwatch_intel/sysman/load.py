"""Memory, heat, power, clocks and engines from Sysman: what a device does at the moment."""

from collections import defaultdict
from ctypes import byref, c_double

from accelwatch.base.absence import Absence
from accelwatch.base.errors import ReadError
from accelwatch.schema.reading import Number
from accelwatch_intel.sysman import structures
from accelwatch_intel.sysman.device import Component, Sink, SysmanCard

ByTile = dict[int | None, Number]

_ON_DEVICE = 1

# zes_temp_sensors_t to our sensor: the largest of all sensors is what the field calls junction.
#
# The minima among the sensors (3, 4, 5, 7) are left out.
_SENSORS = {0: "junction", 1: "gpu", 2: "memory", 6: "board", 8: "vr"}

# zes_power_level_t of the limit that is in force over seconds; zes_limit_unit_t of milliwatts.
_SUSTAINED, _POWER_UNIT = 1, 2

# zes_freq_domain_t.
_DOMAINS = {0: "graphics", 1: "memory", 2: "media"}

# zes_freq_throttle_reason_flags_t: PL1, PL2, current, TjMax, supply alert, software range, ...
_THROTTLE_BITS = (
    (1 << 0, "power"),
    (1 << 1, "power"),
    (1 << 2, "power"),
    (1 << 3, "thermal_hardware"),
    (1 << 4, "power_brake"),
    (1 << 5, "clock_setting"),
    (1 << 6, "other"),
    (1 << 7, "voltage"),
    (1 << 8, "thermal_hardware"),
    (1 << 9, "power"),
)

_ALL_ENGINES = 0
_GROUPS = {1: "compute", 2: "media", 3: "copy", 12: "render"}
# zes_engine_group_t: of several single engines of a name the busiest counts.
_SINGLES = {4: "compute", 5: "render", 8: "copy", 9: "video_enhance", 14: "video"}


def read_memory(card: SysmanCard, sink: Sink) -> None:
    """Size and used bytes of device memory, and its bandwidth ratio since the last reading."""
    size: ByTile = defaultdict(int)
    used: ByTile = defaultdict(int)
    for component, state in card.get_each("memory", "zesMemoryGetState", structures.MemoryState):
        if component.properties.location != _ON_DEVICE or not 0 <= state.free <= state.size:
            continue
        size[component.tile] += state.size
        used[component.tile] += state.size - state.free
    sink.spread({tile: value for tile, value in size.items() if value}, sum, "memory_size_bytes")
    sink.spread(
        {tile: used[tile] for tile, value in size.items() if value}, sum, "memory_used_bytes"
    )


def read_bandwidth(card: SysmanCard, sink: Sink) -> None:
    """Memory bandwidth in use as a share of the peak."""
    ratios: ByTile = {}
    states = card.get_each("memory", "zesMemoryGetBandwidth", structures.MemoryBandwidth)
    for number, (component, state) in enumerate(states):
        if component.properties.location != _ON_DEVICE or state.maxBandwidth == 0:
            continue
        moved = state.readCounter + state.writeCounter
        rate = card.rates.per_second(f"bandwidth{number}", moved, state.timestamp / 1e6)
        if rate is None:
            sink.card_values.miss("memory_bandwidth_utilization_ratio", Absence.NOT_COLLECTED)
        else:
            ratios[component.tile] = max(
                min(rate / state.maxBandwidth, 1.0), ratios.get(component.tile, 0)
            )
    sink.spread(ratios, max, "memory_bandwidth_utilization_ratio")


def read_temperatures(card: SysmanCard, sink: Sink) -> None:
    """Largest temperature of each kind of sensor."""
    by_sensor: dict[str, ByTile] = defaultdict(dict)
    for component in card.components("temperature"):
        sensor = _SENSORS.get(component.properties.type)
        celsius = c_double(0.0)
        if sensor is None:
            continue
        try:
            card.sysman.call("zesTemperatureGetState", component.handle, byref(celsius))
        except ReadError as error:
            sink.card_values.miss("temperature_celsius", error.absence, sensor)
            continue
        values = by_sensor[sensor]
        values[component.tile] = max(celsius.value, values.get(component.tile, celsius.value))
        if component.properties.maxTemperature > 0:
            limit = component.properties.maxTemperature
            sink.fill(None, limit, "temperature_limit_celsius", sensor, "max_operating")
    for sensor, values in by_sensor.items():
        sink.spread(values, max, "temperature_celsius", sensor)


def read_power(card: SysmanCard, sink: Sink) -> None:
    """Energy and power of the card and of each tile, by Sysman's own timestamps.

    A counter at 0 has never counted: xe shows it so where the card has none.
    """
    visited: set[int | None] = set()
    for component, state in card.get_each(
        "power", "zesPowerGetEnergyCounter", structures.EnergyCounter
    ):
        if component.tile in visited:
            continue
        visited.add(component.tile)
        if state.energy > 0:
            sink.fill(component.tile, state.energy / 1e6, "energy_joules_total", "hardware")
        elif component.tile is None:
            sink.card_values.miss("energy_joules_total", Absence.ERROR, "hardware")
        watts = card.rates.per_second(
            f"energy{component.tile}", state.energy / 1e6, state.timestamp / 1e6
        )
        if watts:
            sink.fill(component.tile, watts, "power_watts")
        elif component.tile is None:
            reason = Absence.NOT_COLLECTED if watts is None else Absence.ERROR
            sink.card_values.miss("power_watts", reason)


def read_power_limits(card: SysmanCard, sink: Sink) -> None:
    """Limits in force of the card's first power domain, and its rated and settable bounds."""
    card_domain = next(
        (component for component in card.components("power") if component.tile is None), None
    )
    if card_domain is None:
        return
    properties = card_domain.properties
    bounds = {
        "default": properties.defaultLimit,
        "min": properties.minLimit,
        "max": properties.maxLimit,
    }
    for limit, milliwatts in bounds.items():
        if milliwatts > 0:
            sink.fill(None, milliwatts / 1e3, "power_limit_watts", limit)
    for row in card.sysman.structures(
        "zesPowerGetLimitsExt", card_domain.handle, structures.PowerLimit
    ):
        sustained = row.level == _SUSTAINED and row.limitUnit == _POWER_UNIT
        if sustained and row.enabled and row.limit > 0:
            sink.fill(None, row.limit / 1e3, "power_limit_watts", "enforced")


def read_frequencies(card: SysmanCard, sink: Sink) -> None:
    """Clocks by domain; throttle reasons over all domains. Negative is unknown, 0 is asleep."""
    states = card.get_each("frequency", "zesFrequencyGetState", structures.FrequencyState)
    actual: dict[str, ByTile] = defaultdict(dict)
    for component, state in states:
        domain = _DOMAINS.get(component.properties.type)
        if domain is None:
            continue
        values = actual[domain]
        if state.actual >= 0:
            values[component.tile] = max(state.actual * 1e6, values.get(component.tile, 0))
        for limit, megahertz in (
            ("max", component.properties.max),
            ("min", component.properties.min),
        ):
            if megahertz > 0:
                sink.fill(None, megahertz * 1e6, "clock_limit_hertz", domain, limit)
        if state.currentVoltage > 0 and component.properties.type == 0:
            sink.fill(None, state.currentVoltage, "voltage_volts", "gpu")
    for domain, values in actual.items():
        sink.spread(values, max, "clock_hertz", domain)
    _throttle([(component, state.throttleReasons) for component, state in states], sink)


def _throttle(masks: list[tuple[Component, int]], sink: Sink) -> None:
    if not masks:
        return
    for reason in dict.fromkeys(reason for _, reason in _THROTTLE_BITS):
        bits = sum(bit for bit, name in _THROTTLE_BITS if name == reason)
        values: ByTile = {}
        for component, mask in masks:
            values[component.tile] = max(int(mask & bits != 0), values.get(component.tile, 0))
        sink.spread(values, max, "throttle_active", reason)


def read_engines(card: SysmanCard, sink: Sink) -> None:
    """Busy ratio of the device and of its engine groups since the last reading.

    A group whose counters are both 0 is not counted by this driver.
    """
    device: ByTile = {}
    grouped: dict[str, ByTile] = defaultdict(dict)
    single: dict[str, ByTile] = defaultdict(dict)
    states = card.get_each("engine", "zesEngineGetActivity", structures.EngineStats)
    for number, (component, state) in enumerate(states):
        if state.activeTime == 0 and state.timestamp == 0:
            continue
        rate = card.rates.per_second(f"engine{number}", state.activeTime, state.timestamp)
        if rate is None:
            sink.card_values.miss("utilization_ratio", Absence.NOT_COLLECTED)
            continue
        group, ratio = component.properties.type, min(rate, 1.0)
        if group == _ALL_ENGINES:
            _record_largest(device, component.tile, ratio)
        elif group in _GROUPS:
            _record_largest(grouped[_GROUPS[group]], component.tile, ratio)
        elif group in _SINGLES:
            _record_largest(single[_SINGLES[group]], component.tile, ratio)
    sink.spread(device, max, "utilization_ratio")
    for engine, values in {**single, **grouped}.items():
        sink.spread(values, max, "engine_utilization_ratio", engine)


def _record_largest(values: ByTile, tile: int | None, ratio: float) -> None:
    values[tile] = max(ratio, values.get(tile, 0.0))
