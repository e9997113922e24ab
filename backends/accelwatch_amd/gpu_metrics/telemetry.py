"""The gpu_metrics table in our units; it fills what files and hwmon have left open.

Units are those of the kernel header's comments and of the drivers that fill the tables: degrees, watts
and percent in format 1; hundredths of a degree and milliwatts in formats 2 and 3, with hundredths of
a percent in format 2.
"""

from statistics import fmean

from accelwatch.schema.reading import Collected
from accelwatch_amd.gpu_metrics.table import Table
from accelwatch_amd.sysfs.tree import fill

_MHZ = 1_000_000
_KIB = 1024
# More than links move in a machine's life.
_MOST_KIB = 1 << 53
# Energy counters tick 15.259 uJ.
_JOULES_PER_TICK = 2.0**-16
# Compute boards. On Radeon the counter is 0 or ticks differently, so it is not read there.
_ENERGY_TARGETS = ("gfx906", "gfx908", "gfx90a", "gfx94", "gfx95")
# From this revision on the table is the data-centre one, whose umc activity is bandwidth.
_MODERN = (1, 4)

_SENSORS_1 = (
    ("temperature_edge", "gpu"),
    ("temperature_hotspot", "junction"),
    ("temperature_mem", "memory"),
    ("temperature_vrgfx", "vr"),
    ("temperature_vrsoc", "vr"),
)
_SENSORS_APU = (("temperature_gfx", "gpu"), ("temperature_soc", "soc"))
# Field and domain, best source first.
_CLOCKS = (
    ("current_gfxclk", "graphics"),
    ("current_socclk", "soc"),
    ("current_uclk", "memory"),
    ("current_fclk", "fabric"),
    ("current_vclk0", "video"),
    ("current_vclk", "video"),
    ("current_dclk0", "video_decode"),
    ("current_dclk", "video_decode"),
    ("average_gfxclk", "graphics"),
    ("average_socclk", "soc"),
    ("average_uclk", "memory"),
    ("average_fclk", "fabric"),
    ("average_vclk", "video"),
)
_COMPONENTS_APU = (
    ("average_gfx_power", "compute"),
    ("average_soc_power", "soc"),
    ("average_cpu_power", "cpu"),
    ("average_all_core_power", "cpu"),
    ("average_ipu_power", "npu"),
)
_PCIE_ERRORS = (
    ("pcie_replay_count_acc", "replay"),
    ("pcie_replay_rover_count_acc", "replay_rollover"),
    ("pcie_l0_to_recov_count_acc", "l0_to_recovery"),
    ("pcie_nak_sent_count_acc", "nak_sent"),
    ("pcie_nak_rcvd_count_acc", "nak_received"),
)


def read_telemetry(table: Table, architecture: str | None, out: Collected) -> None:
    """Record what a table has and no other source has filled yet."""
    if table.revision[0] == 1:
        _board(table, out)
        _energy(table, architecture, out)
        if table.revision >= _MODERN:
            _bandwidth(table, out)
            _engines(table, out)
            _links(table, out)
    else:
        _apu(table, out)
    _clocks(table, out)


def _board(table: Table, out: Collected) -> None:
    for field, sensor in _SENSORS_1:
        degrees = table.numbers.get(field, 0)
        if 0 < degrees <= 250:
            fill(out, "temperature_celsius", degrees, sensor)
    for number, degrees_or_none in enumerate(table.arrays.get("temperature_hbm", ())):
        if degrees_or_none and degrees_or_none <= 250:
            fill(out, "temperature_celsius", degrees_or_none, f"hbm{number}")
    for field in ("curr_socket_power", "average_socket_power"):
        if field in table.numbers:
            fill(out, "power_watts", table.numbers[field])
    _percent(table, "average_gfx_activity", out, "utilization_ratio")
    _percent(table, "average_mm_activity", out, "engine_utilization_ratio", "vcn")
    if table.revision < _MODERN:
        _percent(table, "average_umc_activity", out, "memory_controller_utilization_ratio")
        for field, rail in (
            ("voltage_gfx", "graphics"),
            ("voltage_soc", "soc"),
            ("voltage_mem", "memory"),
        ):
            if table.numbers.get(field):
                fill(out, "voltage_volts", table.numbers[field] / 1000, rail)


def _percent(table: Table, field: str, out: Collected, key: str, *labels: str) -> None:
    number = table.numbers.get(field)
    if number is not None and number <= 100:
        fill(out, key, number / 100, *labels)


def _energy(table: Table, architecture: str | None, out: Collected) -> None:
    ticks = table.numbers.get("energy_accumulator")
    if ticks and (architecture or "").startswith(_ENERGY_TARGETS):
        fill(out, "energy_joules_total", ticks * _JOULES_PER_TICK, "hardware")


def _bandwidth(table: Table, out: Collected) -> None:
    """On these boards `mem_busy_percent` and umc activity are one figure: the DRAM bandwidth in use."""
    series = ("memory_controller_utilization_ratio",)
    out.values.pop(series, None)
    out.absent.pop(series, None)
    _percent(table, "average_umc_activity", out, "memory_bandwidth_utilization_ratio")


def partition_engines(table: Table, number: int) -> dict[str, list[int | None]]:
    """Instant busy percent of one partition: `gfx` by compute die, `vcn`, `jpeg` by engine."""
    names = (("gfx", "gfx_busy_inst"), ("vcn", "vcn_busy"), ("jpeg", "jpeg_busy"))
    return {name: list(table.arrays.get(f"{field}_{number}", ())) for name, field in names}


def mean_ratio(percents: list[int | None]) -> float | None:
    """Mean of the elements that are percentages, as a ratio; None where there is none."""
    valid = [percent for percent in percents if percent is not None and percent <= 100]
    return fmean(valid) / 100 if valid else None


def _engines(table: Table, out: Collected) -> None:
    engines: dict[str, list[int | None]] = {
        "vcn": list(table.arrays.get("vcn_activity", ())),
        "jpeg": list(table.arrays.get("jpeg_activity", ())),
    }
    dies = list(table.arrays.get("gfx_busy_inst", ()))
    for number in range(table.partitions()):
        busy = partition_engines(table, number)
        dies += [percent for percent in busy.pop("gfx") if percent is not None]
        for name, percents in busy.items():
            engines[name] += percents
    for name, percents in engines.items():
        ratio = mean_ratio(percents)
        if ratio is not None:
            fill(out, "engine_utilization_ratio", ratio, name)
    for number, percent in enumerate(dies):
        if percent is not None and percent <= 100:
            fill(out, "core_utilization_ratio", percent / 100, f"xcc{number}")


def _links(table: Table, out: Collected) -> None:
    for field, kind in _PCIE_ERRORS:
        if field in table.numbers:
            fill(out, "pcie_errors_total", table.numbers[field], kind)
    _traffic(table, out)
    status = [up for up in table.arrays.get("xgmi_link_status", ()) if up in (0, 1)]
    if status:
        fill(out, "interconnect_links", status.count(1), "xgmi", "up")
        fill(out, "interconnect_links", status.count(0), "xgmi", "down")
    for link, up in enumerate(table.arrays.get("xgmi_link_status", ())):
        if up in (0, 1):
            fill(out, "link_up", up, "xgmi", str(link))


def _traffic(table: Table, out: Collected) -> None:
    for field, direction in (
        ("xgmi_read_data_acc", "receive"),
        ("xgmi_write_data_acc", "transmit"),
    ):
        moved = table.arrays.get(field, ())
        if any(amount and amount > _MOST_KIB for amount in moved):
            continue
        if moved:
            total = sum(amount or 0 for amount in moved)
            fill(out, "interconnect_bytes_total", total * _KIB, "xgmi", direction)
        for link, amount in enumerate(moved):
            if amount is not None:
                fill(out, "link_bytes_total", amount * _KIB, "xgmi", str(link), direction)


def _apu(table: Table, out: Collected) -> None:
    for field, sensor in _SENSORS_APU:
        hundredths = table.numbers.get(field, 0)
        if 0 < hundredths <= 25_000:
            fill(out, "temperature_celsius", hundredths / 100, sensor)
    if "average_socket_power" in table.numbers:
        fill(out, "power_watts", table.numbers["average_socket_power"] / 1000)
    for field, component in _COMPONENTS_APU:
        if field in table.numbers:
            fill(out, "power_component_watts", table.numbers[field] / 1000, component)
    scale = 100 if table.revision[0] == 3 else 10_000
    for field, key, labels in (
        ("average_gfx_activity", "utilization_ratio", ()),
        ("average_mm_activity", "engine_utilization_ratio", ("vcn",)),
        ("average_vcn_activity", "engine_utilization_ratio", ("vcn",)),
    ):
        number = table.numbers.get(field)
        if number is not None and number <= scale:
            fill(out, key, number / scale, *labels)


def _clocks(table: Table, out: Collected) -> None:
    for field, domain in _CLOCKS:
        several = [mhz for mhz in table.arrays.get(field, ()) if mhz is not None]
        mhz = table.numbers.get(field, max(several, default=None))
        if mhz is not None and mhz <= 20_000:
            fill(out, "clock_hertz", mhz * _MHZ, domain)
