"""Exporters of NPUs: Gaudi, Ascend, Rebellions, Furiosa, Neuron, TPU, Tenstorrent."""

from accelwatch.base.absence import Absence
from accelwatch.fleet.dialects.base.table import (
    GIB,
    INT32_BLANK,
    MEGA,
    MIB,
    MICRO,
    MILLI,
    PERCENT,
    UINT32_BLANK,
    UNSCALED,
    Combine,
    Cores,
    Dialect,
    FamilyMapping,
    Labels,
    Processes,
    ProcessRow,
    Scale,
    mapped,
)
from accelwatch.schema.values.card_wide import BOARD_POWER
from accelwatch.system.kernel.pcie_link import GENERATIONS


def _gaudi(name: str, target: str, scale: Scale = UNSCALED) -> FamilyMapping:
    return mapped(f"habanalabs_{name}", target, scale)


# A failed driver read is written as 0; the exporter refuses more than one scrape in 5 s (429).
GAUDI = Dialect(
    name="gaudi-metric-exporter",
    vendor="habana",
    device_name="gaudi",
    fingerprints=("habanalabs_utilization", "habanalabs_temperature_onchip"),
    zero_may_be_failure=True,
    labels=Labels(
        uuid=("UUID",),
        serial=("Serial",),
        index=("id",),
        driver=("driver",),
        firmware=("spi",),
        namespace=("pod_namespace",),
        pod=("pod_name",),
        container=(),
    ),
    rows=(
        _gaudi("utilization", "utilization_ratio", PERCENT),
        _gaudi("memory_total_bytes", "memory_size_bytes"),
        _gaudi("memory_used_bytes", "memory_used_bytes"),
        _gaudi("temperature_onchip", "temperature_celsius.gpu"),
        _gaudi("temperature_onboard", "temperature_celsius.board"),
        _gaudi("temperature_threshold_slowdown", "temperature_limit_celsius.gpu.slowdown"),
        _gaudi("temperature_threshold_shutdown", "temperature_limit_celsius.gpu.shutdown"),
        _gaudi("power_mW", "power_watts", MILLI),
        _gaudi("power_default_limit_mW", "power_limit_watts.default", MILLI),
        _gaudi("clock_soc_mhz", "clock_hertz.soc", MEGA),
        _gaudi("clock_soc_max_mhz", "clock_limit_hertz.soc.max", MEGA),
        _gaudi("pci_link_width", "pcie_link_width_lanes.current"),
        _gaudi("pcie_replay_count", "pcie_errors_total.replay"),
        _gaudi("ecc_feature_mode", "ecc_enabled"),
        FamilyMapping(
            name="habanalabs_pending_rows_state", target="memory_repair_pending", flag=True
        ),
        _gaudi("nic_port_status", "link_up.ethernet.{port}"),
        FamilyMapping(
            name="habanalabs_nic_port_status",
            target="interconnect_links.ethernet.up",
            over="port",
            combine=Combine.SUM,
        ),
    ),
)


def _ascend(name: str, target: str, scale: Scale = UNSCALED) -> FamilyMapping:
    return mapped(f"npu_chip_info_{name}", target, scale)


# Words of the die's id on a chip that has none.
_NO_DIE = "-".join(["0" * 8] * 5)

# Of one chip that are exported in words; the exporter has up to 128.
_MOST_CODES = 16

# MB is MiB; every sample has a timestamp; -1 is a failed read. Of a 310P the power is what the card's
# microcontroller measures (mind-cluster, collectPower), repeated by each chip of the card.
ASCEND = Dialect(
    name="npu-exporter",
    vendor="ascend",
    device_name="ascend",
    models=(
        (r"(\d[0-9A-Za-z]*)(?:-Ascend-V\d+)?", r"Ascend \1"),
        (r"(Ascend\w+)(?:-Ascend-V\d+)?", r"\1"),
    ),
    fingerprints=("npu_chip_info_*",),
    blanks={
        -1: Absence.ERROR,
        UINT32_BLANK: Absence.UNSUPPORTED,
        INT32_BLANK: Absence.UNSUPPORTED,
    },
    labels=Labels(
        uuid=("vdie_id",),
        pci=("pcie_bus_info",),
        index=("id",),
        model=("model_name", "modelName"),
        positional=(_NO_DIE,),
        no_uuid=_NO_DIE,
        pod=("pod_name",),
        container=("container_name",),
    ),
    processes=Processes(
        rows=(ProcessRow(name="npu_chip_info_process_info", field="gpu_memory_bytes", scale=MIB),),
        shown_by=("npu_chip_info_process_info_num",),
        pid="process_id",
    ),
    rows=(
        _ascend("utilization", "utilization_ratio", PERCENT),
        _ascend("overall_utilization", "utilization_ratio", PERCENT),
        _ascend("cube_utilization", "matrix_active_ratio", PERCENT),
        _ascend("vector_utilization", "pipe_active_ratio.vector", PERCENT),
        _ascend("hbm_bandwidth_utilization", "memory_bandwidth_utilization_ratio", PERCENT),
        FamilyMapping(
            name="npu_chip_info_hbm_total_memory", target="memory_size_bytes", scale=MIB, low=1
        ),
        _ascend("total_memory", "memory_size_bytes", MIB),
        _ascend("hbm_used_memory", "memory_used_bytes", MIB),
        _ascend("used_memory", "memory_used_bytes", MIB),
        _ascend("temperature", "temperature_celsius.gpu"),
        _ascend("hbm_temperature", "temperature_celsius.memory"),
        _ascend("power", "power_watts"),
        _ascend("voltage", "voltage_volts.core"),
        _ascend("aicore_current_freq", "clock_hertz.npu", MEGA),
        _ascend("link_status", "link_up.roce.0"),
        _ascend("hbm_ecc_single_bit_error_cnt", "ecc_errors_total.corrected"),
        _ascend("hbm_ecc_double_bit_error_cnt", "ecc_errors_total.uncorrected"),
        _ascend("hbm_ecc_total_single_bit_error_cnt", "ecc_lifetime_errors.corrected"),
        _ascend("hbm_ecc_total_double_bit_error_cnt", "ecc_lifetime_errors.uncorrected"),
        _ascend("hbm_ecc_single_bit_isolated_pages_cnt", "memory_retired_pages.single_bit"),
        _ascend("hbm_ecc_double_bit_isolated_pages_cnt", "memory_retired_pages.double_bit"),
        FamilyMapping(
            name="npu_chip_info_health_status", target="health", states={1: "ok", 0: "failed"}
        ),
        FamilyMapping(
            name="npu_chip_info_network_status",
            target="fabric_state_info",
            states={1: None, 0: "unhealthy"},
        ),
    ),
    remarks={
        f"npu_chip_info_error_code{number}": "npu-exporter reports error code {:X}"
        for number in ("", *(f"_{at}" for at in range(1, _MOST_CODES)))
    },
    card_wide={("power_watts",): BOARD_POWER},
)


def _rebellions(
    name: str, legacy: str, *rows: tuple[str, Scale, float | None, float | None]
) -> tuple[FamilyMapping, ...]:
    return tuple(
        FamilyMapping(name=family, target=target, scale=scale, low=low, high=high)
        for family in (f"rbln_npu_{name}", f"RBLN_DEVICE_STATUS:{legacy}")
        for target, scale, low, high in rows
    )


# The inverse of the others.
_RBLN_HEALTH: dict[float, str | None] = {0: "ok", 1: "failed"}
# What states of the device's state machine mean. `ready`, `busy` and `finish` leave it to
# rbln_npu_health.
_RBLN_STATES = {"fault": "failed", "not_found": "failed", "init": "degraded"}


def _rbln_state(state: str, health: str) -> FamilyMapping:
    where = {"state": (state,)}
    states: dict[float, str | None] = {1: health, 0: None}
    return FamilyMapping(name="rbln_npu_device_status", target="health", where=where, states=states)


def _rbln_generation(speed: float, generation: int) -> FamilyMapping:
    return FamilyMapping(
        name="rbln_npu_pcie_link_speed_gts",
        target="pcie_link_generation.current",
        scale=(2 * generation, round(2 * speed)),
        low=speed - 0.1,
        high=speed + 0.1,
    )


# Early versions wrote GiB for bytes, and with an old daemon 1/1000 of degrees and 1/10^6 of watts.
REBELLIONS = Dialect(
    name="rbln-metrics-exporter",
    vendor="rebellions",
    device_name="rbln",
    fingerprints=("rbln_npu_*", "RBLN_DEVICE_STATUS:*"),
    labels=Labels(
        uuid=("uuid",),
        name=("name",),
        model=("card",),
        driver=("driver_version",),
        firmware=("firmware_version",),
    ),
    rows=(
        *_rebellions("utilization", "UTILIZATION", ("utilization_ratio", PERCENT, None, None)),
        *_rebellions(
            "memory_total",
            "DRAM_TOTAL",
            ("memory_size_bytes", GIB, None, 4096),
            ("memory_size_bytes", UNSCALED, 1 << 24, None),
        ),
        *_rebellions(
            "memory_used",
            "DRAM_USED",
            ("memory_used_bytes", GIB, None, 4096),
            ("memory_used_bytes", UNSCALED, 4097, None),
        ),
        *_rebellions(
            "temperature",
            "TEMPERATURE",
            ("temperature_celsius.gpu", UNSCALED, 1, None),
            ("temperature_celsius.gpu", (1000, 1), 0.0, 0.2),
        ),
        *_rebellions(
            "power",
            "CARD_POWER",
            ("power_watts", UNSCALED, 0.1, None),
            ("power_watts", MEGA, 0.0, 0.01),
        ),
        FamilyMapping(
            name="rbln_npu_device_status",
            target="reported_status_info.{state}",
            low=1,
        ),
        mapped("rbln_npu_pcie_link_width", "pcie_link_width_lanes.current"),
        *(_rbln_generation(*pair) for pair in GENERATIONS.items()),
        *(_rbln_state(*pair) for pair in _RBLN_STATES.items()),
        FamilyMapping(name="rbln_npu_health", target="health", states=_RBLN_HEALTH),
        FamilyMapping(name="RBLN_DEVICE_STATUS:HEALTH", target="health", states=_RBLN_HEALTH),
    ),
)


def _furiosa(name: str, target: str, scale: Scale = UNSCALED) -> FamilyMapping:
    return mapped(f"furiosa_npu_{name}", target, scale)


# Partitions repeat the device's series; the first counts.
FURIOSA = Dialect(
    name="furiosa-metrics-exporter",
    vendor="furiosa",
    device_name="npu",
    fingerprints=("furiosa_npu_alive", "furiosa_npu_core_utilization"),
    labels=Labels(
        uuid=("uuid",),
        pci=("pci_bus_id",),
        name=("device",),
        model=("arch",),
        architecture=("arch",),
        driver=("driver_version",),
        firmware=("firmware_version",),
    ),
    rows=(
        FamilyMapping(
            name="furiosa_npu_core_utilization",
            target="utilization_ratio",
            scale=PERCENT,
            over="core",
            combine=Combine.MEAN,
        ),
        _furiosa("core_utilization", "core_utilization_ratio.{core}", PERCENT),
        _furiosa("dram_total", "memory_size_bytes"),
        _furiosa("dram_usage", "memory_used_bytes"),
        FamilyMapping(
            name="furiosa_npu_hw_temperature",
            target="temperature_celsius.{label}",
            value_names={"label": {"peak": "gpu", "ambient": "board"}},
        ),
        FamilyMapping(name="furiosa_npu_hw_power", target="power_watts", where={"label": ("rms",)}),
        FamilyMapping(
            name="furiosa_npu_core_frequency",
            target="clock_hertz.npu",
            scale=MEGA,
            over="core",
            combine=Combine.MEAN,
        ),
        _furiosa("alive", "device_up"),
    ),
)


def _neuron_memory(over: str) -> tuple[FamilyMapping, ...]:
    return tuple(
        FamilyMapping(
            name=f"neuroncore_memory_usage_{component}",
            target="memory_used_bytes",
            group="neuroncore",
            over=over,
            optional=component != "tensors",
        )
        for component in (
            "tensors",
            "constants",
            "model_code",
            "model_shared_scratchpad",
            "runtime_memory",
        )
    )


_NEURON_LOAD = "neuroncore_utilization_ratio"
# Of a page that does not say how many cores a device has.
_NEURON_CORES = Dialect(
    name="neuron-monitor",
    vendor="neuron",
    device_name="neuroncore",
    fingerprints=(_NEURON_LOAD,),
    labels=Labels(index=("neuroncore",), namespace=(), pod=(), container=(), pod_uid=()),
    rows=(
        FamilyMapping(
            name=_NEURON_LOAD, target="utilization_ratio", over="runtime_tag", combine=Combine.MAX
        ),
        *_neuron_memory("runtime_tag"),
    ),
)
# Cores are those in use. Counts of ECC errors are added up again with each record, so they are read for
# the devices that they name.
NEURON = Dialect(
    name="neuron-monitor",
    vendor="neuron",
    device_name="neuron",
    fingerprints=(_NEURON_LOAD, "hardware_ecc_events_total"),
    identity=("hardware_ecc_events_total",),
    labels=Labels(index=("neuron_device_index",), namespace=(), pod=(), container=(), pod_uid=()),
    rows=(
        FamilyMapping(
            name=_NEURON_LOAD,
            target="utilization_ratio",
            over="*",
            combine=Combine.SUM,
            per_core=True,
        ),
        FamilyMapping(
            name=_NEURON_LOAD,
            target="core_utilization_ratio.{neuroncore}",
            over="runtime_tag",
            combine=Combine.MAX,
        ),
        *_neuron_memory("*"),
    ),
    cores=Cores(
        label="neuroncore",
        device="neuron_device_index",
        info="neuron_hardware_info",
        per_device="neuroncore_per_device_count",
        otherwise=_NEURON_CORES,
    ),
)

# Names without a prefix: only the label `make` distinguishes them. Those that end in `_node` are
# there for every device, the others only while a container holds it, and name that container.
TPU = Dialect(
    name="gke-tpu",
    vendor="tpu",
    device_name="tpu",
    fingerprints=(
        *("tensorcore_utilization", "duty_cycle", "memory_bandwidth_utilization"),
        *("tensorcore_utilization_node", "duty_cycle_node", "memory_total_node"),
    ),
    models=(
        (r"tpu-?v5-?lite(?:-\w+)?", "TPU v5e"),
        (r"tpu-?(v\d+[a-z]?|7x)(?:-\w+)?", r"TPU \1"),
    ),
    required={"make": "cloud-tpu"},
    where={"make": ("cloud-tpu",)},
    # The node's number at its provider, and the chip's within the node.
    labels=Labels(
        uuid=("accelerator_id",), positional=(r"\d+-(?P<index>\d{1,4})",), model=("model",)
    ),
    rows=(
        mapped("duty_cycle_node", "utilization_ratio", PERCENT),
        mapped("duty_cycle", "utilization_ratio", PERCENT),
        mapped("tensorcore_utilization_node", "matrix_active_ratio", PERCENT),
        mapped("tensorcore_utilization", "matrix_active_ratio", PERCENT),
        mapped("memory_bandwidth_utilization_node", "memory_bandwidth_utilization_ratio", PERCENT),
        mapped("memory_bandwidth_utilization", "memory_bandwidth_utilization_ratio", PERCENT),
        mapped("memory_total_node", "memory_size_bytes"),
        mapped("memory_total", "memory_size_bytes"),
        mapped("memory_used_node", "memory_used_bytes"),
        mapped("memory_used", "memory_used_bytes"),
    ),
)


def _hwmon(sensor: str, target: str, scale: Scale) -> FamilyMapping:
    return FamilyMapping(
        name="tt_hwmon_sensor_value",
        target=target,
        scale=scale,
        where={"sensor": (sensor, f"{sensor}_input")},
    )


# hwmon values are in the kernel's units: millidegrees, microwatts, millivolts.
TENSTORRENT = Dialect(
    name="tt-metrics-exporter",
    vendor="tenstorrent",
    device_name="tt",
    fingerprints=("tt_device_info",),
    identity=("tt_device_info", "tt_firmware_info"),
    labels=Labels(
        pci=("pci_bdf",),
        serial=("serial",),
        index=("device",),
        model=("board_type", "card_type"),
        architecture=("architecture",),
        firmware=("fw_bundle_version",),
        namespace=("pod_namespace",),
        pod=("pod_name",),
        container=("container_name",),
    ),
    rows=(
        mapped("tt_memory_total_bytes", "memory_size_bytes"),
        mapped("tt_memory_used_bytes", "memory_used_bytes"),
        _hwmon("temp1", "temperature_celsius.gpu", MILLI),
        _hwmon("power1", "power_watts", MICRO),
        _hwmon("in0", "voltage_volts.core", MILLI),
        FamilyMapping(
            name="tt_firmware_clock_frequency_mhz",
            target="clock_hertz.{clock}",
            scale=MEGA,
            value_names={"clock": {"ai": "npu", "axi": "fabric", "arc": "soc"}},
        ),
        FamilyMapping(
            name="tt_pci_link_width_lanes",
            target="pcie_link_width_lanes.{state}",
        ),
        FamilyMapping(name="tt_health_reset_required", target="reset_required", flag=True),
        mapped("tt_device_present", "device_up"),
    ),
)
