"""What dcgm-exporter says by default, in its names and units before 4.9 and since.

Names, types, units and labels as in the exporter's default counters and its 4.9.0 release notes.
"""

from accelwatch.schema.reading import Number
from accelwatch_lab.simulator.exporters.foreign import (
    DeviceSample,
    Family,
    Value,
    device_samples,
    exposition,
    label_text,
    rate,
    rounded,
    scaled,
)
from accelwatch_lab.simulator.fleet import Fleet, Instant
from accelwatch_lab.simulator.nodes import Node

CONTENT_TYPE = "text/plain; charset=utf-8"
# What builds before 4.9 print for a value that a device did not give (DCGM_INT64_NOT_FOUND).
BLANK = "9223372036854775794"

_MIB = 1 / (1 << 20)
_DEV, _PROF = "DCGM_FI_DEV_", "DCGM_FI_PROF_"


def _last_code(sample: DeviceSample) -> Number | None:
    codes = [count for count in sample.condition.counts if count.code.startswith("xid_")]
    if not codes:
        return 0
    return int(max(codes, key=lambda count: count.last_time).code.removeprefix("xid_"))


def _free(scale: float) -> Value:
    def value(sample: DeviceSample) -> Number | None:
        size, used, kept = (
            sample.values.get((key,), 0)
            for key in ("memory_size_bytes", "memory_used_bytes", "memory_reserved_bytes")
        )
        return round((size - used - kept) * scale)

    return value


def _none(_sample: DeviceSample) -> Number | None:
    return 0


def _gauge(name: str, text: str, value: Value) -> Family:
    return Family(name, "gauge", text, value)


def _counter(name: str, text: str, value: Value) -> Family:
    return Family(name, "counter", text, value)


_NVLINK = ("interconnect_bytes_total", "nvlink", "transmit")

LEGACY = (
    _gauge(_DEV + "SM_CLOCK", "SM clock, MHz.", rounded(1e-6, "clock_hertz", "sm")),
    _gauge(_DEV + "MEM_CLOCK", "Memory clock, MHz.", rounded(1e-6, "clock_hertz", "memory")),
    _gauge(_DEV + "MEMORY_TEMP", "Memory, C.", rounded(1, "temperature_celsius", "memory")),
    _gauge(_DEV + "GPU_TEMP", "GPU, C.", rounded(1, "temperature_celsius", "gpu")),
    _gauge(_DEV + "POWER_USAGE", "Power, W.", scaled(1.0, "power_watts")),
    _counter(
        _DEV + "TOTAL_ENERGY_CONSUMPTION",
        "Energy, mJ.",
        rounded(1000, "energy_joules_total", "hardware"),
    ),
    _counter(
        _DEV + "PCIE_REPLAY_COUNTER", "PCIe replays.", rounded(1, "pcie_errors_total", "replay")
    ),
    _gauge(_DEV + "GPU_UTIL", "Utilization, %.", rounded(100, "utilization_ratio")),
    _gauge(
        _DEV + "MEM_COPY_UTIL",
        "Memory use, %.",
        rounded(100, "memory_controller_utilization_ratio"),
    ),
    _gauge(_DEV + "ENC_UTIL", "Encoder, %.", rounded(100, "engine_utilization_ratio", "encoder")),
    _gauge(_DEV + "DEC_UTIL", "Decoder, %.", rounded(100, "engine_utilization_ratio", "decoder")),
    _gauge(_DEV + "XID_ERRORS", "Last XID.", _last_code),
    _gauge(_DEV + "FB_FREE", "Free memory, MiB.", _free(_MIB)),
    _gauge(_DEV + "FB_USED", "Used memory, MiB.", rounded(_MIB, "memory_used_bytes")),
    _gauge(_DEV + "FB_RESERVED", "Reserved memory, MiB.", rounded(_MIB, "memory_reserved_bytes")),
    _counter(_DEV + "NVLINK_BANDWIDTH_TOTAL", "NVLink, MB/s.", rate(1e-6, *_NVLINK)),
    _gauge(_DEV + "VGPU_LICENSE_STATUS", "vGPU licence.", _none),
    _counter(
        _DEV + "UNCORRECTABLE_REMAPPED_ROWS",
        "Rows remapped for uncorrectable errors.",
        rounded(1, "memory_remapped_rows", "uncorrected"),
    ),
    _counter(
        _DEV + "CORRECTABLE_REMAPPED_ROWS",
        "Rows remapped for correctable errors.",
        rounded(1, "memory_remapped_rows", "corrected"),
    ),
    _gauge(_DEV + "ROW_REMAP_FAILURE", "Row remap failed.", rounded(1, "memory_repair_failed")),
    _gauge(_PROF + "GR_ENGINE_ACTIVE", "Engine active, ratio.", scaled(1.0, "utilization_ratio")),
    _gauge(
        _PROF + "PIPE_TENSOR_ACTIVE", "Tensor active, ratio.", scaled(1.0, "matrix_active_ratio")
    ),
    _gauge(
        _PROF + "DRAM_ACTIVE",
        "Memory active, ratio.",
        scaled(1.0, "memory_bandwidth_utilization_ratio"),
    ),
    _gauge(_PROF + "PCIE_TX_BYTES", "PCIe sent, B/s.", rate(1, "pcie_bytes_total", "transmit")),
    _gauge(_PROF + "PCIE_RX_BYTES", "PCIe received, B/s.", rate(1, "pcie_bytes_total", "receive")),
)

SINCE_49 = (
    _gauge(_DEV + "SM_CLOCK_HERTZ", "SM clock.", rounded(1, "clock_hertz", "sm")),
    _gauge(_DEV + "MEMORY_CLOCK_HERTZ", "Memory clock.", rounded(1, "clock_hertz", "memory")),
    _gauge(
        _DEV + "MEMORY_TEMP_CELSIUS",
        "Memory temperature.",
        rounded(1, "temperature_celsius", "memory"),
    ),
    _gauge(_DEV + "GPU_TEMP_CELSIUS", "GPU temperature.", rounded(1, "temperature_celsius", "gpu")),
    _gauge(_DEV + "BOARD_POWER_WATTS", "Power.", scaled(1.0, "power_watts")),
    _counter(
        _DEV + "GPU_ENERGY_JOULES_TOTAL", "Energy.", scaled(1.0, "energy_joules_total", "hardware")
    ),
    _counter(_DEV + "PCIE_REPLAY_TOTAL", "Replays.", rounded(1, "pcie_errors_total", "replay")),
    _gauge(_DEV + "GPU_UTIL_RATIO", "Utilization.", scaled(1.0, "utilization_ratio")),
    _gauge(
        _DEV + "MEMORY_UTIL_RATIO",
        "Memory use.",
        scaled(1.0, "memory_controller_utilization_ratio"),
    ),
    _gauge(_DEV + "ENC_UTIL_RATIO", "Encoder.", scaled(1.0, "engine_utilization_ratio", "encoder")),
    _gauge(_DEV + "DEC_UTIL_RATIO", "Decoder.", scaled(1.0, "engine_utilization_ratio", "decoder")),
    _gauge(_DEV + "XID_ERROR", "Last XID.", _last_code),
    _gauge(_DEV + "FB_FREE_BYTES", "Free memory.", _free(1)),
    _gauge(_DEV + "FB_USED_BYTES", "Used memory.", rounded(1, "memory_used_bytes")),
    _gauge(_DEV + "FB_RESERVED_BYTES", "Reserved memory.", rounded(1, "memory_reserved_bytes")),
    _gauge(_DEV + "FB_CAPACITY_BYTES", "Memory.", rounded(1, "memory_size_bytes")),
    _gauge(_DEV + "NVLINK_THROUGHPUT_BYTES_PER_SECOND", "NVLink.", rate(1, *_NVLINK)),
    _gauge(_DEV + "VGPU_LICENSE_STATUS", "vGPU licence.", _none),
    _counter(
        _DEV + "ROW_REMAP_UNCORRECTABLE_TOTAL",
        "Rows remapped for uncorrectable errors.",
        rounded(1, "memory_remapped_rows", "uncorrected"),
    ),
    _counter(
        _DEV + "ROW_REMAP_CORRECTABLE_TOTAL",
        "Rows remapped for correctable errors.",
        rounded(1, "memory_remapped_rows", "corrected"),
    ),
    _gauge(_DEV + "ROW_REMAP_FAILED", "Row remap failed.", rounded(1, "memory_repair_failed")),
    _gauge(_PROF + "GR_ENGINE_UTIL_RATIO", "Engine.", scaled(1.0, "utilization_ratio")),
    _gauge(_PROF + "TENSOR_UTIL_RATIO", "Tensor.", scaled(1.0, "matrix_active_ratio")),
    _gauge(_PROF + "DRAM_UTIL_RATIO", "Memory.", scaled(1.0, "memory_bandwidth_utilization_ratio")),
    _counter(
        _PROF + "PCIE_TX_BYTES_TOTAL", "PCIe sent.", rounded(1, "pcie_bytes_total", "transmit")
    ),
    _counter(
        _PROF + "PCIE_RX_BYTES_TOTAL", "PCIe received.", rounded(1, "pcie_bytes_total", "receive")
    ),
)


def _labels(sample: DeviceSample, *, legacy: bool) -> str:
    device = sample.unit.device
    return label_text(
        {
            "gpu": str(device.index),
            "UUID": device.uuid or "",
            "pci_bus_id": f"0000{(device.pci_bus_id or '').upper()}",
            "device": device.name,
            "modelName": device.model or "",
            "Hostname" if legacy else "hostname": sample.node.name,
            f"DCGM_FI_{'' if legacy else 'SYSTEM_'}DRIVER_VERSION": device.driver_version or "",
            "hpc_job": sample.job,
        }
    )


def _legacy_number(sample: DeviceSample, value: Number) -> str | None:
    if sample.condition.absence is not None:
        return BLANK
    return str(value) if isinstance(value, int) else f"{value:.6f}"


def _number(sample: DeviceSample, value: Number) -> str | None:
    if sample.condition.absence is not None:
        return None
    return str(value) if isinstance(value, int) else f"{value:.6f}"


def text(fleet: Fleet, node: Node, instant: Instant, *, legacy: bool) -> str:
    """The exposition of a node; devices of other vendors are not seen."""
    samples = [
        (sample, _labels(sample, legacy=legacy))
        for sample in device_samples(fleet, node, instant)
        if sample.unit.device.vendor == "nvidia"
    ]
    if legacy:
        return exposition(LEGACY, samples, _legacy_number)
    return exposition(SINCE_49, samples, _number)
