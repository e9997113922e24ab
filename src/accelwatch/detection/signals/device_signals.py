"""The signals of a device, family by family."""

from accelwatch.detection.signals.signal import Direction, Form, SignalRow, faults

_GIB = float(2**30)
_MHZ = 1e6
# Byte counters come in blocks of up to 8 GiB; over the 30 s between samples that is the least rate
# which can be distinguished from none.
_BLOCK = 8 * _GIB / 30.0

_POWER = (
    # Watts are recorded to 1 W. Devices differ by 0.2-0.5 % of the level after their own offset.
    SignalRow(("power_watts",), "power", step=1.0, phase=True),
    # A limit is set, not measured: any difference of more than rounding means something.
    SignalRow(("power_limit_watts", "enforced"), "power", direction=Direction.LOW, step=1.0),
    # Joules a second: the power again, by another sensor. Samples jitter by a second in 30.
    SignalRow(("energy_joules_total", "hardware"), "power", Form.RATE, step=1.0, relative=0.03),
    # Flags are compared as shares: a fifth of peers that have it is no outlier.
    SignalRow(("throttle_active", "power"), "power", direction=Direction.HIGH, step=0.5),
    SignalRow(("throttle_active", "power_brake"), "power", direction=Direction.HIGH, step=0.5),
    # Seconds a second; drivers count in steps of a sample of theirs.
    SignalRow(("throttle_seconds_total", "power"), "power", Form.RATE, Direction.HIGH, step=0.02),
)

_THERMAL = (
    # Sensors have 1 degree, and a reading alternates between two neighbours.
    SignalRow(("temperature_celsius", "gpu"), "thermal", direction=Direction.HIGH, step=1.0),
    SignalRow(("temperature_celsius", "memory"), "thermal", direction=Direction.HIGH, step=1.0),
    SignalRow(("temperature_headroom_celsius",), "thermal", direction=Direction.LOW, step=1.0),
    SignalRow(
        ("throttle_active", "thermal_software"), "thermal", direction=Direction.HIGH, step=0.5
    ),
    SignalRow(
        ("throttle_active", "thermal_hardware"), "thermal", direction=Direction.HIGH, step=0.5
    ),
    SignalRow(
        ("throttle_seconds_total", "thermal_software"),
        "thermal",
        Form.RATE,
        Direction.HIGH,
        step=0.02,
    ),
    # Fans are set in hundredths and differ between slots in a chassis.
    SignalRow(("fan_speed_ratio", "0"), "thermal", step=0.02),
)

_CLOCK = (
    # Clocks move in steps of 15 MHz.
    SignalRow(("clock_hertz", "graphics"), "clock", direction=Direction.LOW, step=15 * _MHZ),
    SignalRow(("clock_hertz", "sm"), "clock", direction=Direction.LOW, step=15 * _MHZ),
    SignalRow(("clock_hertz", "memory"), "clock", direction=Direction.LOW, step=15 * _MHZ),
    # A cap that somebody set; any step of it means something.
    SignalRow(
        ("clock_limit_hertz", "graphics", "max"), "clock", direction=Direction.LOW, step=15 * _MHZ
    ),
    SignalRow(("clock_limit_hertz", "sm", "max"), "clock", direction=Direction.LOW, step=15 * _MHZ),
    # P0 to P15, whole numbers; a device alternates by one between samples.
    SignalRow(("performance_state",), "clock", direction=Direction.HIGH, step=0.5),
)

_COMPUTE = (
    # Recorded to 0.01, sampled by the driver over a part of the interval only: members of a job in
    # lock step agree to 0.005.
    SignalRow(("utilization_ratio",), "compute", step=0.01, phase=True),
    # Ratios of the profiling counters are recorded to 0.001.
    # Who does more of the work than its peers is in no pain by that.
    SignalRow(("compute_active_ratio",), "compute", direction=Direction.LOW, step=0.005),
    SignalRow(("compute_occupancy_ratio",), "compute", direction=Direction.LOW, step=0.005),
    SignalRow(
        ("matrix_active_ratio",), "compute", direction=Direction.LOW, step=0.002, relative=0.01
    ),
    # Whole numbers; a helper process that comes and goes is no fault.
    SignalRow(("processes", "compute"), "compute", direction=Direction.LOW, step=0.25),
)

_MEMORY = (
    # As utilization, and coarser.
    SignalRow(
        ("memory_controller_utilization_ratio",), "memory", direction=Direction.LOW, step=0.01
    ),
    SignalRow(
        ("memory_bandwidth_utilization_ratio",),
        "memory",
        direction=Direction.LOW,
        step=0.005,
        relative=0.01,
    ),
    # Allocators reserve blocks and caches differ; a device without the job's memory is far below.
    SignalRow(("memory_used_bytes",), "memory", step=0.5 * _GIB, relative=0.02),
    # What the driver keeps is the same on the same model, but for some MiB.
    SignalRow(("memory_reserved_bytes",), "memory", step=0.0625 * _GIB, inventory=True),
    # Bytes that are not there any more; sizes do not vary.
    SignalRow(
        ("memory_size_bytes",),
        "memory",
        direction=Direction.LOW,
        step=0.0625 * _GIB,
        inventory=True,
    ),
)

_NVLINK = (
    # Whole links.
    SignalRow(("interconnect_links", "nvlink", "up"), "nvlink", direction=Direction.LOW, step=0.1),
    # Traffic varies by 10 % of its mean between samples, independently in each device.
    SignalRow(
        ("interconnect_bytes_total", "nvlink", "receive"),
        "nvlink",
        Form.RATE,
        Direction.LOW,
        step=_BLOCK,
        relative=0.02,
        phase=True,
    ),
    SignalRow(
        ("interconnect_bytes_total", "nvlink", "transmit"),
        "nvlink",
        Form.RATE,
        Direction.LOW,
        step=_BLOCK,
        relative=0.02,
    ),
    # Errors are whole events, one in some 30 s at the least.
    faults(("interconnect_errors_total", "nvlink", "crc_flit"), "nvlink"),
    faults(("interconnect_errors_total", "nvlink", "replay"), "nvlink"),
    faults(("interconnect_errors_total", "nvlink", "recovery"), "nvlink"),
)

_PCIE = (
    # Whole generations and lanes. An idle device rests at a lower generation, which its peers do too.
    SignalRow(
        ("pcie_link_generation", "current"),
        "pcie",
        direction=Direction.LOW,
        step=0.1,
        by_slot=True,
    ),
    SignalRow(
        ("pcie_link_width_lanes", "current"),
        "pcie",
        direction=Direction.LOW,
        step=0.1,
        by_slot=True,
    ),
    # Across the devices of a node the spread is 1.3-1.6 times the mean: peers say little, so that
    # only what is far out counts.
    SignalRow(
        ("pcie_bytes_total", "receive"), "pcie", Form.RATE, Direction.LOW, step=1e8, relative=0.25
    ),
    SignalRow(
        ("pcie_bytes_total", "transmit"), "pcie", Form.RATE, Direction.LOW, step=1e8, relative=0.25
    ),
    faults(("pcie_errors_total", "replay"), "pcie"),
)

_ECC = (
    faults(("ecc_errors_total", "corrected"), "ecc"),
    faults(("ecc_errors_total", "uncorrected"), "ecc"),
    # Gauges of the catalogue that only grow; whole rows. The channel of counters counts their steps.
    faults(("memory_remapped_rows", "corrected"), "ecc"),
    faults(("memory_remapped_rows", "uncorrected"), "ecc"),
    # Flags, for the hard rules.
    SignalRow(("memory_repair_pending",), "ecc", direction=Direction.HIGH, step=0.5),
    SignalRow(("memory_repair_failed",), "ecc", direction=Direction.HIGH, step=0.5),
    SignalRow(("reset_required",), "ecc", direction=Direction.HIGH, step=0.5),
)

# Whether the exporter could read it: a flag, for the structural channel.
_PRESENCE = (SignalRow(("device_up",), "scrape", direction=Direction.LOW, step=0.5),)

DEVICE_SIGNALS: tuple[SignalRow, ...] = (
    *_POWER,
    *_THERMAL,
    *_CLOCK,
    *_COMPUTE,
    *_MEMORY,
    *_NVLINK,
    *_PCIE,
    *_ECC,
    *_PRESENCE,
)
