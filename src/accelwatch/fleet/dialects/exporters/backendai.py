"""The page of Backend.AI's agent (port 6003, `/metrics`): what its accelerator plug-ins measure.

One family has all of it: `backendai_device_utilization` with `device_metric_name` (`cuda_mem`), whose
beginning is the plug-in, and `value_type` (`current`, `capacity`, for some `pct`). The open CUDA plug-in
exports memory and utilization alone and names a device by NVML's index; others name a uuid or a PCI id
and may export power and temperature. Exponents have three digits (`8.589934592e+010`).

Families of containers and processes are not read: they name a session, but no device of it, and stay for
ten minutes after its end. The labels `user_id` and `project_id` are uuids.
"""

from accelwatch.fleet.dialects.base.table import (
    PERCENT,
    UNSCALED,
    Dialect,
    FamilyMapping,
    Labels,
    Scale,
)

_DEVICES = "backendai_device_utilization"
_METRIC, _VALUE = "device_metric_name", "value_type"
_QUANTITIES = ("mem", "util", "power", "temperature")
# A CUDA or NVML index, a PCI id, the vendor's name with the index (`npu0`, `rngd0`).
_POSITIONAL = (
    r"(?P<index>[0-9]{1,4})",
    r"(?P<pci>(?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-9a-f])",
    r"[a-z]{2,10}(?P<index>[0-9]{1,4})",
)

# Vendor, as our own agent calls it, to the plug-ins for its devices: those of the manager's table of
# resource slot types, and the shorter `lpu`.
PLUGINS: dict[str, tuple[str, ...]] = {
    "nvidia": ("cuda",),
    "amd": ("rocm",),
    "tpu": ("tpu",),
    "graphcore": ("ipu",),
    "rebellions": ("atom", "atom-plus", "atom-max"),
    "habana": ("gaudi", "gaudi2", "gaudi3"),
    "furiosa": ("warboy", "rngd"),
    "hyperaccel": ("lpu", "hyperaccel-lpu"),
}
_GPUS = frozenset({"nvidia", "amd"})


def _row(
    plugins: tuple[str, ...],
    quantity: str,
    target: str,
    scale: Scale = UNSCALED,
    value: str = "current",
) -> FamilyMapping:
    return FamilyMapping(
        name=_DEVICES,
        target=target,
        scale=scale,
        where={_METRIC: tuple(f"{name}_{quantity}" for name in plugins), _VALUE: (value,)},
    )


def _dialect(vendor: str, plugins: tuple[str, ...]) -> Dialect:
    """Devices of one vendor: ids of two plug-ins may be alike, so each has its own."""
    return Dialect(
        name=f"backendai-{vendor}",
        vendor=vendor,
        kind="gpu" if vendor in _GPUS else "npu",
        fingerprints=(_DEVICES,),
        shares_families=True,
        where={
            _METRIC: tuple(f"{name}_{quantity}" for name in plugins for quantity in _QUANTITIES)
        },
        labels=Labels(uuid=("device_id",), positional=_POSITIONAL),
        rows=(
            _row(plugins, "util", "utilization_ratio", PERCENT),
            _row(plugins, "mem", "memory_size_bytes", value="capacity"),
            _row(plugins, "mem", "memory_used_bytes"),
            _row(plugins, "power", "power_watts"),
            _row(plugins, "temperature", "temperature_celsius.gpu"),
        ),
    )


BACKENDAI_DEVICES: tuple[Dialect, ...] = tuple(
    _dialect(vendor, plugins) for vendor, plugins in PLUGINS.items()
)


def _host(target: str, value: str) -> FamilyMapping:
    return FamilyMapping(name=_DEVICES, target=target, where={_METRIC: ("mem",), _VALUE: (value,)})


# The node itself, also one without an accelerator.
BACKENDAI = Dialect(
    name="backendai",
    vendor="",
    fingerprints=(_DEVICES,),
    labels=Labels(),
    host=(
        _host("host_memory_size_bytes", "capacity"),
        _host("host_memory_used_bytes", "current"),
    ),
)
