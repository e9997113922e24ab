"""Intel XPU Manager: 1.x (`xpum_`, one module of its REST server) and 2.x (`hw_`, OpenTelemetry names).

1.x says percent in HELP and writes ratios; tiles carry `sub_dev`. 2.x puts statistics in labels, so a
sum over a family counts twice: an average is used before a maximum, the busiest engine as headline.
"""

from accelwatch.fleet.dialects.base.table import (
    MEGA,
    Combine,
    Dialect,
    FamilyMapping,
    Labels,
    mapped,
)

_SENSORS = {"mem": "memory", "memory": "memory", "gpu": "gpu", "global": "gpu", "": "gpu"}
_DOMAINS = {"gpu": "graphics", "mem": "memory", "": "graphics"}
_SEVERITY = {"correctable": "corrected", "uncorrectable": "uncorrected"}
_IO = {"network_io_direction": {"receive": "receive", "transmit": "transmit"}}
# zes_freq_throttle_reason_flags_t (zes_api.h).
_REASONS = {
    "ave_pwr_cap": "power",
    "burst_pwr_cap": "power",
    "current_limit": "power",
    "thermal_limit": "thermal_hardware",
    "psu_alert": "power_brake",
    "sw_range": "clock_setting",
    "hw_range": "other",
    "none": None,
}
# hw.state of the OpenTelemetry hardware conventions.
_STATES = {
    "ok": "ok",
    "degraded": "degraded",
    "failed": "failed",
    "predicted_failure": "degraded",
    "needs_cleaning": "degraded",
}


def _errors(name: str, location: str) -> FamilyMapping:
    return FamilyMapping(
        name=f"xpum_{name}_errors_total",
        target=f"ecc_location_errors_total.{{type}}.{location}",
        value_names={"type": _SEVERITY},
    )


XPUM = Dialect(
    name="xpum",
    vendor="intel",
    fingerprints=("xpum_power_watts", "xpum_engine_ratio", "xpum_memory_used_bytes"),
    device_name="intel",
    labels=Labels(
        uuid=("uuid",),
        pci=("pci_bdf",),
        name=("card",),
        model=("dev_name",),
        tile="sub_dev",
        namespace=("kube_namespace",),
        pod=("kube_pod",),
        container=("kube_container",),
    ),
    rows=(
        mapped("xpum_engine_ratio", "utilization_ratio"),
        mapped("xpum_engine_group_ratio", "engine_utilization_ratio.{type}"),
        mapped("xpum_memory_bandwidth_ratio", "memory_bandwidth_utilization_ratio"),
        mapped("xpum_eu_active_ratio", "compute_active_ratio"),
        mapped("xpum_memory_used_bytes", "memory_used_bytes"),
        FamilyMapping(
            name="xpum_temperature_celsius",
            target="temperature_celsius.{location}",
            value_names={"location": _SENSORS},
        ),
        mapped("xpum_power_watts", "power_watts"),
        mapped("xpum_energy_joules_total", "energy_joules_total.hardware"),
        FamilyMapping(
            name="xpum_frequency_mhz",
            target="clock_hertz.{location}",
            scale=MEGA,
            where={"type": ("actual",)},
            value_names={"location": _DOMAINS},
        ),
        mapped("xpum_pcie_read_bytes_total", "pcie_bytes_total.receive"),
        mapped("xpum_pcie_write_bytes_total", "pcie_bytes_total.transmit"),
        FamilyMapping(
            name="xpum_fabric_tx_bytes_total",
            target="interconnect_bytes_total.xelink.transmit",
            over="*",
            combine=Combine.SUM,
        ),
        _errors("cache", "cache"),
        _errors("non_compute", "non_compute"),
        mapped("xpum_resets_total", "resets_total"),
    ),
)


def _temperature(statistic: str) -> FamilyMapping:
    return FamilyMapping(
        name="hw_temperature_celsius",
        target="temperature_celsius.{hw_sensor_location}",
        where={"statistic": (statistic,)},
        value_names={"hw_sensor_location": _SENSORS},
    )


def _frequency(aggregation: str) -> FamilyMapping:
    return FamilyMapping(
        name="hw_frequency_hertz",
        target="clock_hertz.{hw_frequency_domain}",
        where={"aggregation": (aggregation,)},
        value_names={"hw_frequency_domain": _DOMAINS},
    )


XPUMD = Dialect(
    name="xpumd",
    vendor="intel",
    fingerprints=("hw_gpu_info", "hw_gpu_utilization_ratio"),
    device_name="intel",
    labels=Labels(
        uuid=("hw_id",), pci=("pci_bdf",), model=("hw_name",), tile="com_intel_subdevice_id"
    ),
    identity=("hw_gpu_info",),
    rows=(
        FamilyMapping(
            name="hw_gpu_utilization_ratio",
            target="utilization_ratio",
            where={"hw_gpu_task": ("", "general")},
        ),
        FamilyMapping(
            name="hw_gpu_utilization_ratio",
            target="utilization_ratio",
            over="hw_gpu_task",
            combine=Combine.MAX,
        ),
        FamilyMapping(
            name="hw_gpu_utilization_ratio",
            target="engine_utilization_ratio.{hw_gpu_task}",
            value_names={"hw_gpu_task": {"": None, "general": None}},
        ),
        mapped("hw_memory_bandwidth_utilization_ratio", "memory_bandwidth_utilization_ratio"),
        mapped("hw_memory_size_bytes", "memory_size_bytes"),
        mapped("hw_memory_usage_bytes", "memory_used_bytes"),
        _temperature(""),
        _temperature("max"),
        FamilyMapping(
            name="hw_power_watts",
            target="power_watts",
            where={"hw_sensor_location": ("card", "global")},
        ),
        FamilyMapping(
            name="hw_power_watts",
            target="power_watts",
            where={"hw_sensor_location": ("", "gpu", "package")},
        ),
        mapped("hw_power_limit_watts", "power_limit_watts.enforced"),
        FamilyMapping(
            name="hw_energy_joules_total",
            target="energy_joules_total.hardware",
            where={"hw_sensor_location": ("card", "global")},
        ),
        FamilyMapping(
            name="hw_energy_joules_total",
            target="energy_joules_total.hardware",
            where={"hw_sensor_location": ("", "gpu", "package")},
        ),
        _frequency(""),
        _frequency("avg"),
        _frequency("max"),
        FamilyMapping(
            name="hw_gpu_io_bytes_total",
            target="pcie_bytes_total.{network_io_direction}",
            value_names=_IO,
        ),
        FamilyMapping(
            name="hw_errors_total",
            target="ecc_errors_total.{error_type}",
            value_names={"error_type": _SEVERITY},
            over="error_category",
            combine=Combine.SUM,
        ),
        FamilyMapping(
            name="hw_frequency_throttle_status",
            target="throttle_active.{com_intel_speed_throttle_reason}",
            value_names={"com_intel_speed_throttle_reason": _REASONS},
            over="*",
            combine=Combine.MAX,
        ),
        FamilyMapping(
            name="hw_status",
            target="health.{hw_state}",
            where={"hw_type": ("", "gpu")},
            value_names={"hw_state": _STATES},
        ),
    ),
)
