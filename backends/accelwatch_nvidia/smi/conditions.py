"""What nvidia-smi's XML says of repairs, license, fabric and location of a GPU. Pure."""

import xml.etree.ElementTree as ET  # only Element; parsing is in smi.document
from collections.abc import Mapping

from accelwatch.base.absence import Absence
from accelwatch.schema import recovery_action
from accelwatch.schema.reading import Collected
from accelwatch_nvidia.mapping import record_first
from accelwatch_nvidia.quantities import placement
from accelwatch_nvidia.quantities.fabric import Registration, registration
from accelwatch_nvidia.quantities.licensing import STATES
from accelwatch_nvidia.smi import text as smi_text
from accelwatch_nvidia.smi.document import INFOROM
from accelwatch_nvidia.smi.elements import meaningful_text, text_at
from accelwatch_nvidia.smi.memory_errors import REPAIR_PENDING

# Of a guest; other modes list products that need no license there.
_VIRTUAL = "VGPU"
# Drivers from R418 on, and before.
_LICENSED_PRODUCTS = ("vgpu_software_licensed_product", "grid_licensed_product")
# Per element of `fabric/health`: what it says of a healthy fabric; an absence is no fault either.
_GOOD_TEXTS: Mapping[str, frozenset[str]] = {
    "bandwidth": frozenset({"full"}),
    "route_recovery_in_progress": frozenset({"false"}),
    "route_unhealthy": frozenset({"false"}),
    "access_timeout_recovery": frozenset({"false"}),
    "incorrect_configuration": frozenset({"none", "false"}),
    "summary": frozenset({"healthy", "limited capacity"}),
}
# Other words are NVML's sentence for the return code, `Unknown Error` among them.
_NO_FAILURE = ("success", "n/a", "")


def read_conditions(gpu: ET.Element, collected: Collected) -> None:
    """The infoROM, pending repairs, and the recovery that the driver requests."""
    inforom = text_at(gpu, INFOROM)
    corrupted = Absence.UNSUPPORTED if inforom is None else smi_text.flag(inforom)
    record_first(collected, ("inforom_corrupted",), corrupted)
    for path in REPAIR_PENDING:
        text = text_at(gpu, path)
        pending = Absence.UNSUPPORTED if text is None else smi_text.flag(text)
        if isinstance(pending, Absence):
            record_first(collected, ("memory_repair_pending",), pending)
        elif pending or ("memory_repair_pending",) not in collected.values:
            collected.put("memory_repair_pending", pending)
    action = text_at(gpu, "gpu_recovery_action")
    name = smi_text.label_value(action or "unknown")
    if action is not None and smi_text.absence(action) is None and name != "unknown":
        name = recovery_action.name_of(name)
        collected.put("recovery_action_info", 1, name)
        collected.put("reset_required", int(recovery_action.concerns_device(name)))
        return
    older = [
        smi_text.flag(text_at(gpu, f"gpu_reset_status/{tag}") or "N/A")
        for tag in ("reset_required", "drain_and_reset_recommended")
    ]
    available = [state for state in older if not isinstance(state, Absence)]
    if available:
        collected.put("reset_required", int(any(available)))


def read_platform(gpu: ET.Element, collected: Collected) -> None:
    """Rack, tray and slot."""

    def platform_text(tag: str) -> str:
        return meaningful_text(gpu, f"platformInfo/{tag}") or ""

    placement.record_module(collected, platform_text("module_id"))
    placement.record_platform(
        collected,
        platform_text("chassis_serial_number"),
        platform_text("slot_number"),
        platform_text("tray_index"),
        platform_text("host_id"),
    )


def read_license(gpu: ET.Element, collected: Collected) -> None:
    """State of a virtual GPU's license, without the day on which it ends."""
    mode = text_at(gpu, "gpu_virtualization_mode/virtualization_mode")
    if mode is not None and mode != _VIRTUAL:
        collected.miss("vgpu_license_info", Absence.UNSUPPORTED)
        return
    statuses = (text_at(gpu, f"{product}/license_status") for product in _LICENSED_PRODUCTS)
    text = next((text for text in statuses if text), "N/A")
    if why := smi_text.absence(text):
        collected.miss("vgpu_license_info", why)
        return
    state = smi_text.label_value(text.replace("(", "").replace(")", ""))
    state = "licensed" if state.startswith("licensed") else state
    if state in STATES:
        collected.put("vgpu_license_info", 1, state)
    else:
        collected.miss("vgpu_license_info", Absence.ERROR)


def read_fabric(gpu: ET.Element, collected: Collected) -> tuple[str, ...]:
    """The registration with the NVLink fabric; gives notes on it."""
    state = text_at(gpu, "fabric/state") or "N/A"
    if why := smi_text.absence(state):
        collected.miss("fabric_state_info", why)
        return ()
    health = gpu.find("fabric/health")
    registered = _registration(
        state,
        text_at(gpu, "fabric/status") or "N/A",
        {leaf.tag: (leaf.text or "").strip() for leaf in health} if health is not None else {},
    )
    if registered.state is not None:
        collected.put("fabric_state_info", 1, registered.state)
    clique, cluster = (
        meaningful_text(gpu, f"fabric/{tag}") or "" for tag in ("cliqueId", "clusterUuid")
    )
    placement.record_fabric(collected, registered, clique, cluster)
    return registered.notes


def _registration(state: str, status: str, health: Mapping[str, str]) -> Registration:
    """Registration of nvidia-smi's `fabric` element; `health` holds the text of each of its leaves."""
    faults = [
        f"{tag.replace('_', ' ')}: {text}"
        for tag, good in _GOOD_TEXTS.items()
        if (text := health.get(tag, "N/A"))
        and smi_text.absence(text) is None
        and text.lower() not in good
    ]
    failure = "" if status.lower() in _NO_FAILURE else status
    limited = health.get("summary", "").lower() == "limited capacity"
    return registration(smi_text.label_value(state), failure, faults, limited=limited)
