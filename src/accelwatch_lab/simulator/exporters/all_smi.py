"""What all-smi says of GPUs: `instance` is the host, `gpu` the model; a value it lacks is left out."""

from accelwatch.schema.reading import Number
from accelwatch_lab.simulator.exporters.foreign import (
    DeviceSample,
    Family,
    Value,
    device_samples,
    exposition,
    label_text,
    rounded,
    scaled,
)
from accelwatch_lab.simulator.fleet import Fleet, Instant
from accelwatch_lab.simulator.nodes import Node

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_GPU = "all_smi_gpu_"


def _temperature(sample: DeviceSample) -> Number | None:
    for sensor in ("gpu", "junction"):
        if (value := sample.values.get(("temperature_celsius", sensor))) is not None:
            return value
    return None


def _family(name: str, text: str, value: Value, kind: str = "gauge") -> Family:
    return Family(_GPU + name, kind, text, value)


FAMILIES = (
    _family("utilization", "Utilization, %", scaled(100.0, "utilization_ratio")),
    _family("memory_used_bytes", "Memory used", rounded(1, "memory_used_bytes")),
    _family("memory_total_bytes", "Memory", rounded(1, "memory_size_bytes")),
    _family("temperature_celsius", "Temperature", _temperature),
    _family("power_consumption_watts", "Power", scaled(1.0, "power_watts")),
    _family("frequency_mhz", "Clock, MHz", rounded(1e-6, "clock_hertz", "graphics")),
    _family("pcie_gen_current", "PCIe", rounded(1, "pcie_link_generation", "current")),
    _family("pcie_width_current", "PCIe lanes", rounded(1, "pcie_link_width_lanes", "current")),
    _family(
        "clock_graphics_max_mhz",
        "Highest clock, MHz",
        rounded(1e-6, "clock_limit_hertz", "graphics", "max"),
    ),
    _family(
        "clock_memory_max_mhz",
        "Highest memory clock, MHz",
        rounded(1e-6, "clock_limit_hertz", "memory", "max"),
    ),
    _family("power_limit_current_watts", "Limit", scaled(1.0, "power_limit_watts", "enforced")),
    _family("power_limit_max_watts", "Highest limit", scaled(1.0, "power_limit_watts", "max")),
    _family("performance_state", "P-state", rounded(1, "performance_state")),
    _family(
        "temperature_threshold_slowdown_celsius",
        "Slowdown",
        rounded(1, "temperature_limit_celsius", "gpu", "slowdown"),
    ),
    _family(
        "temperature_threshold_shutdown_celsius",
        "Shutdown",
        rounded(1, "temperature_limit_celsius", "gpu", "shutdown"),
    ),
    _family(
        "memory_bandwidth_utilization",
        "Memory controller, ratio",
        scaled(1.0, "memory_controller_utilization_ratio"),
    ),
    _family("sm_occupancy", "Occupancy, ratio", scaled(1.0, "compute_occupancy_ratio")),
)


def _labels(sample: DeviceSample) -> dict[str, str]:
    device = sample.unit.device
    return {
        "gpu": device.model or "",
        "instance": sample.node.name,
        "gpu_uuid": device.uuid or "",
        "gpu_index": str(device.index),
    }


def _number(sample: DeviceSample, value: Number) -> str | None:
    return None if sample.condition.absence is not None else f"{round(value, 4)}"


def _info(samples: list[DeviceSample]) -> str:
    lines = ["# HELP all_smi_gpu_info Device\n# TYPE all_smi_gpu_info gauge\n"]
    for sample in samples:
        device = sample.unit.device
        labels = {
            **_labels(sample),
            "type": "GPU",
            "driver_version": device.driver_version or "",
            "architecture": device.architecture or "",
        }
        lines.append(f"all_smi_gpu_info{label_text(labels)} 1\n")
    return "".join(lines)


def text(fleet: Fleet, node: Node, instant: Instant) -> str:
    """The exposition of a node."""
    samples = device_samples(fleet, node, instant)
    return _info(samples) + exposition(
        FAMILIES, [(sample, label_text(_labels(sample))) for sample in samples], _number
    )
