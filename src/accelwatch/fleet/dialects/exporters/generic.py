"""Red Hat's recording rules, which read like an exporter of several vendors' devices."""

from accelwatch.fleet.dialects.base.table import (
    MEGA,
    PERCENT,
    UNSCALED,
    Dialect,
    FamilyMapping,
    Labels,
    Scale,
)


def _hertz(name: str, domain: str) -> tuple[FamilyMapping, FamilyMapping]:
    """Published rules call megahertz hertz: a number that small is not hertz."""
    return (
        FamilyMapping(name=name, target=f"clock_hertz.{domain}", scale=MEGA, high=20_000),
        FamilyMapping(name=name, target=f"clock_hertz.{domain}", low=1e6),
    )


def _rule(name: str, target: str, scale: Scale = UNSCALED) -> FamilyMapping:
    return FamilyMapping(name=f"accelerator_{name}", target=target, scale=scale)


# Recording rules over other exporters, so the labels are the source's.
RED_HAT = Dialect(
    name="red-hat",
    vendor="",
    fingerprints=("accelerator_gpu_utilization", "accelerator_memory_used_bytes"),
    device_name="gpu",
    labels=Labels(
        uuid=("UUID", "uuid", "gpu_uuid"),
        pci=("pci_bus_id", "pci_bdf"),
        serial=("serial_number", "Serial"),
        index=("gpu", "gpu_id"),
        name=("device",),
        model=("modelName", "model_name", "card_series", "card_model"),
    ),
    rows=(
        _rule("gpu_utilization", "utilization_ratio", PERCENT),
        _rule("memory_total_bytes", "memory_size_bytes"),
        _rule("memory_used_bytes", "memory_used_bytes"),
        _rule("temperature_celsius", "temperature_celsius.gpu"),
        _rule("temperature_celcius", "temperature_celsius.gpu"),
        _rule("power_usage_watts", "power_watts"),
        *_hertz("accelerator_sm_clock_hertz", "sm"),
        *_hertz("accelerator_memory_clock_hertz", "memory"),
    ),
)
