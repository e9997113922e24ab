"""What a GPU says of its own condition: throttling, wish for a reset, repairs, fabric, fans, memory."""

from typing import Any

from accelwatch.base.absence import Absence
from accelwatch.schema.reading import Collected, Number
from accelwatch.schema.recovery_action import concerns_device
from accelwatch_nvidia import mapping
from accelwatch_nvidia.mapping import Outcome, record_first
from accelwatch_nvidia.nvml.nvml import DeviceCalls
from accelwatch_nvidia.quantities import fabric, fields, placement
from accelwatch_nvidia.quantities.functions import (
    FABRIC_STRUCTURES,
    PLATFORM_STRUCTURES,
    SRAM_STRUCTURES,
)

# More than any board has; a count above it is no count.
MAX_FANS = 16

_REASONS_NOW = (
    "nvmlDeviceGetCurrentClocksEventReasons",
    "nvmlDeviceGetCurrentClocksThrottleReasons",
)
_REASONS_SUPPORTED = (
    "nvmlDeviceGetSupportedClocksEventReasons",
    "nvmlDeviceGetSupportedClocksThrottleReasons",
)


def supported_throttle_reasons(calls: DeviceCalls) -> int:
    """Mask of the reasons the device can report; all where it does not say."""
    answer = calls.first(_REASONS_SUPPORTED)
    return mapping.ALL_THROTTLE_BITS if isinstance(answer, Absence) else int(answer)


def read_throttle(
    calls: DeviceCalls, collected: Collected, supported: int, groups: frozenset[str]
) -> None:
    """State of each clock-limiting reason, and of idleness with the group `clocks`."""
    answer = calls.first(_REASONS_NOW)
    if "clocks" in groups:
        idle = answer if isinstance(answer, Absence) else mapping.idle(answer, supported)
        record_first(collected, ("clocks_idle",), idle)
    if isinstance(answer, Absence):
        collected.miss("throttle_active", answer)
        return
    for reason, active in mapping.throttle(answer, supported).items():
        collected.put("throttle_active", active, reason)


def read_memory(calls: DeviceCalls, collected: Collected) -> None:
    """Size, use and reservation; the older call counts the reservation as used."""
    answer = calls.query("nvmlDeviceGetMemoryInfo", calls.library.nvmlMemory_v2)
    if answer is Absence.UNSUPPORTED:
        answer = calls.query("nvmlDeviceGetMemoryInfo")
    elif not isinstance(answer, Absence):
        collected.put("memory_reserved_bytes", answer.reserved)
    if isinstance(answer, Absence):
        collected.miss("memory_size_bytes", answer)
        collected.miss("memory_used_bytes", answer)
        return
    collected.put("memory_size_bytes", answer.total)
    if answer.used <= answer.total:
        collected.put("memory_used_bytes", answer.used)
    else:
        collected.miss("memory_used_bytes", Absence.ERROR)


def read_recovery(
    answers: dict[tuple[int, int], int | float | Absence], collected: Collected
) -> None:
    """The recovery that the driver requests, from field 230; older drivers have fields 226 and 227."""
    action = answers[fields.RECOVERY_ACTION, 0]
    if not isinstance(action, Absence):
        name = mapping.recovery_action(int(action))
        collected.put("reset_required", int(concerns_device(name)))
        collected.put("recovery_action_info", 1, name)
        return
    collected.miss("recovery_action_info", action)
    older = [answers[pair, 0] for pair in (fields.RESET_STATUS, fields.DRAIN_AND_RESET_STATUS)]
    available = [status for status in older if not isinstance(status, Absence)]
    if available:
        collected.put("reset_required", int(any(available)))
    else:
        collected.miss("reset_required", action)


RECOVERY_FIELDS = (
    (fields.RECOVERY_ACTION, 0),
    (fields.RESET_STATUS, 0),
    (fields.DRAIN_AND_RESET_STATUS, 0),
)


def read_repairs(calls: DeviceCalls, collected: Collected) -> None:
    """Repairs that wait for a reset: of a memory bank or channel, and of a compute unit (TPC)."""
    pair = (fields.BANK_REMAP_PENDING, 0)
    if calls.fields([pair])[pair] == 1:
        collected.put("memory_repair_pending", 1)
    answer = calls.query("nvmlDeviceGetRepairStatus")
    if isinstance(answer, Absence):
        collected.miss("compute_repair_pending", answer)
        return
    channel, compute = answer
    collected.put("compute_repair_pending", int(compute != 0))
    if channel or ("memory_repair_pending",) not in collected.values:
        collected.put("memory_repair_pending", int(channel != 0))


def read_sram(calls: DeviceCalls, collected: Collected) -> None:
    """Whether uncorrected SRAM errors have passed the limit that NVIDIA has for the part."""
    status = calls.structure("nvmlDeviceGetSramEccErrorStatus", SRAM_STRUCTURES)
    exceeded = status if isinstance(status, Absence) else int(status.bThresholdExceeded != 0)
    record_first(collected, ("sram_error_threshold_exceeded",), exceeded)


def read_fabric(calls: DeviceCalls, collected: Collected) -> tuple[str, ...]:
    """State of the registration with the NVLink fabric; gives notes on what is wrong with it."""
    info = calls.structure("nvmlDeviceGetGpuFabricInfoV", FABRIC_STRUCTURES)
    if isinstance(info, Absence):
        for key in ("fabric_state_info", "fabric_clique_info", "fabric_cluster_info"):
            collected.miss(key, info)
        return ()
    registration = fabric.from_numbers(
        info.state, info.status, info.healthMask, int(getattr(info, "healthSummary", 0))
    )
    if registration.state is None:
        collected.miss("fabric_state_info", Absence.UNSUPPORTED)
    else:
        collected.put("fabric_state_info", 1, registration.state)
    cluster = placement.uuid_text(bytes(info.clusterUuid))
    placement.record_fabric(collected, registration, str(info.cliqueId), cluster)
    return registration.notes


def read_platform(calls: DeviceCalls, collected: Collected) -> None:
    """Chassis, slot, tray and host; and the module, which a GPU without a chassis has too."""
    module = calls.query("nvmlDeviceGetModuleId")
    if isinstance(module, Absence):
        collected.miss("platform_module_info", module)
    else:
        placement.record_module(collected, str(module))
    info = calls.structure("nvmlDeviceGetPlatformInfo", PLATFORM_STRUCTURES)
    if isinstance(info, Absence):
        collected.miss("platform_info", info)
        return
    serial, *numbers = (_raw(info, field) for field in _PLATFORM)
    slot, tray, host = (str(number[0]) for number in numbers)
    text = serial.partition(b"\0")[0].decode("ascii", "replace").strip()
    placement.record_platform(collected, text, slot, tray, host)


_PLATFORM = ("chassisSerialNumber", "slotNumber", "trayIndex", "hostId")


def _raw(structure: Any, field: str) -> bytes:
    """Bytes of a field: pynvml reads numbers of one byte as UTF-8 text, and fails from 128 on."""
    descriptor = getattr(type(structure), field)
    return bytes(structure)[descriptor.offset : descriptor.offset + descriptor.size]


def slowdown_margin(calls: DeviceCalls) -> Number | Absence:
    """The margin (T.Limit) at which the hardware slows the GPU down; below 0."""
    pair = (fields.SLOWDOWN_MARGIN, 0)
    return calls.fields([pair])[pair]


def read_headroom(collected: Collected, slowdown: Number | Absence) -> None:
    """Distance to the slowdown threshold, on GPUs that report a margin only."""
    margin = collected.values.get(("temperature_margin_celsius",))
    outcome: Outcome = slowdown
    if margin is None:
        outcome = collected.absent.get(("temperature_margin_celsius",), Absence.UNSUPPORTED)
    elif not isinstance(slowdown, Absence):
        outcome = mapping.celsius(margin - slowdown)
    record_first(collected, ("temperature_headroom_celsius",), outcome)


def fan_count(calls: DeviceCalls) -> int | Absence:
    """Number of fans; on drivers that cannot say, 1 where the first fan can be read."""
    answer = calls.query("nvmlDeviceGetNumFans")
    if not isinstance(answer, Absence):
        return int(answer)
    single = calls.query("nvmlDeviceGetFanSpeed")
    return single if isinstance(single, Absence) else 1


def read_fans(calls: DeviceCalls, collected: Collected, count: int | Absence) -> None:
    """Speed of each fan; pynvml reads the revolutions of the first fan only."""
    if isinstance(count, Absence):
        collected.miss("fan_speed_ratio", count)
        return
    for fan in range(min(count, MAX_FANS)):
        answer = calls.query("nvmlDeviceGetFanSpeed_v2", fan)
        if answer is Absence.UNSUPPORTED and fan == 0:
            answer = calls.query("nvmlDeviceGetFanSpeed")
        outcome = answer if isinstance(answer, Absence) else mapping.free_percent(answer)
        record_first(collected, ("fan_speed_ratio", str(fan)), outcome)
    if count:
        answer = calls.query("nvmlDeviceGetFanSpeedRPM")
        record_first(collected, ("fan_speed_rpm", "0"), answer)
