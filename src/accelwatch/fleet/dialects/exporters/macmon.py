"""macmon: the page of `macmon serve` on a Mac with Apple Silicon. One GPU a machine, named by its chip.

Releases before 0.8 export no `active_ratio`: their load of GPU and CPU is scaled by the clock, which is
no busy time, and is not read. From 0.8 on it stands beside, as `usage_ratio` and `scaled_ratio`.
"""

from accelwatch.fleet.dialects.base.table import (
    MEGA,
    UNSCALED,
    Dialect,
    FamilyMapping,
    Labels,
    Scale,
)

_FANS: dict[str, str | None] = {f"fan{number}": str(number) for number in range(16)}


def _row(
    name: str, target: str, scale: Scale = UNSCALED, low: float | None = None
) -> FamilyMapping:
    return FamilyMapping(name=f"macmon_{name}", target=target, scale=scale, low=low)


# A temperature of 0 is that of a chip of which macmon knows no sensor. Memory is the machine's.
MACMON = Dialect(
    name="macmon",
    vendor="apple",
    fingerprints=("macmon_*",),
    labels=Labels(
        only="apple0",
        model=("chip",),
        namespace=(),
        pod=(),
        container=(),
        pod_uid=(),
    ),
    identity=("macmon_cpu_power_watts",),
    rows=(
        _row("gpu_active_ratio", "utilization_ratio"),
        _row("gpu_freq_mhz", "clock_hertz.graphics", MEGA),
        _row("gpu_power_watts", "power_watts"),
        _row("gpu_ram_power_watts", "power_component_watts.sram"),
        _row("ane_power_watts", "power_component_watts.ane"),
        _row("gpu_temp_celsius", "temperature_celsius.gpu", low=0.1),
        _row("memory_ram_total_bytes", "memory_size_bytes"),
        _row("memory_ram_used_bytes", "memory_used_bytes"),
        FamilyMapping(
            name="macmon_fan_speed_rpm", target="fan_speed_rpm.{fan}", value_names={"fan": _FANS}
        ),
    ),
    host=(
        _row("cpu_active_ratio", "host_cpu_utilization_ratio"),
        _row("memory_ram_total_bytes", "host_memory_size_bytes"),
        _row("memory_ram_used_bytes", "host_memory_used_bytes"),
        _row("memory_swap_total_bytes", "host_swap_size_bytes"),
        _row("memory_swap_used_bytes", "host_swap_used_bytes"),
    ),
)
