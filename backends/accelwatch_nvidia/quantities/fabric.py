"""Registration of a GPU with its NVLink fabric, as NVML numbers it. Pure.

The numbers are those of nvml.h, "Fabric definitions".
"""

from collections.abc import Callable

import msgspec

# nvmlGpuFabricState_t (nvml.h); 0 means that there is no fabric.
STATES = {1: "not_started", 2: "in_progress", 3: "completed"}

_HEALTHY = frozenset({0, 1})
# NVML_GPU_FABRIC_HEALTH_SUMMARY_*: 0 not supported, 1 healthy, 2 unhealthy, 3 limited capacity.
_LIMITED_CAPACITY = 3


class Registration(msgspec.Struct, frozen=True):
    """State as a label value (None: there is no fabric) and, in words, what is wrong."""

    state: str | None
    notes: tuple[str, ...] = ()

    @property
    def registered(self) -> bool:
        """Whether the GPU is part of the fabric, however well."""
        return self.state in ("completed", "unhealthy", "limited_capacity")


class _Bits(msgspec.Struct, frozen=True):
    """One field of NVML_GPU_FABRIC_HEALTH_MASK and the values of it that are faults."""

    shift: int
    width: int
    fault: Callable[[int], str | None]


def _on(value: int, text: str) -> Callable[[int], str | None]:
    return lambda number: text if number == value else None


_CONFIGURATIONS = {
    2: "wrong system GUID",
    3: "wrong chassis serial number",
    4: "no partition",
    5: "too few NVLinks",
    6: "incompatible GPU firmware",
    7: "invalid location",
    8: "invalid GPU state",
}


def _configuration(number: int) -> str | None:
    """0 is not supported and 1 is none; every other value, also of a newer header, names a fault."""
    if number <= 1:
        return None
    return f"incorrect configuration: {_CONFIGURATIONS.get(number, number)}"


# Of the two-bit fields 1 is true and 2 false; of the fabric manager 1 is connected. Bits 12-13, whether
# a partition is assigned, are no fault of their own: a node may wait for its tenant.
_MASK = (
    _Bits(0, 2, _on(1, "degraded bandwidth")),
    _Bits(2, 2, _on(1, "route recovery in progress")),
    _Bits(4, 2, _on(1, "route unhealthy")),
    _Bits(6, 2, _on(1, "access timeout recovery in progress")),
    _Bits(8, 4, _configuration),
    _Bits(14, 2, _on(2, "global fabric manager disconnected")),
)


def from_numbers(state: int, status: int, health_mask: int, summary: int) -> Registration:
    """Registration of nvmlGpuFabricInfo: `status` is an NVML return code, `summary` 0 where unknown."""
    if state == 0:
        return Registration(None)
    faults = [
        text
        for bits in _MASK
        if (text := bits.fault(health_mask >> bits.shift & (1 << bits.width) - 1))
    ]
    if summary not in _HEALTHY and summary != _LIMITED_CAPACITY and not faults:
        faults.append("unhealthy" if summary == 2 else f"health summary {summary}")
    limited = summary == _LIMITED_CAPACITY
    failure = f"registration ended with NVML status {status}" if status else ""
    return registration(STATES.get(state, str(state)), failure, faults, limited=limited)


def registration(state: str, failure: str, faults: list[str], *, limited: bool) -> Registration:
    """`completed` holds only for a registration that succeeded on a fabric without a fault.

    How it `failure` counts for a completed one alone (nvml.h, nvmlGpuFabricInfo_v2_t).
    """
    if limited:
        faults = [*faults, "limited capacity"]
    failed = bool(failure) and state == "completed"
    notes = tuple(f"fabric: {text}" for text in ([failure] if failed else []) + faults)
    if state != "completed" or not notes:
        return Registration(state, notes)
    if failed:
        return Registration("failed", notes)
    return Registration(
        "limited_capacity" if faults == ["limited capacity"] else "unhealthy", notes
    )
