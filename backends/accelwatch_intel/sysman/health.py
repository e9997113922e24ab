"""Errors, repairs, the PCIe link and the fabric from Sysman: how well a device is."""

from collections import defaultdict
from ctypes import byref, c_ubyte

from accelwatch.base.errors import ReadError
from accelwatch.schema.reading import Link, Number
from accelwatch_intel.sysman import structures
from accelwatch_intel.sysman.calls import NotSupported
from accelwatch_intel.sysman.device import Component, Sink, SysmanCard

_SEVERITIES = {0: "corrected", 1: "uncorrected"}
# zes_ras_error_category_exp_t that are hardware errors; 0 counts engine resets.
_LOCATIONS = {3: "compute", 4: "non_compute", 5: "cache", 7: "memory"}
_RESETS = 0

_ECC_STATES = {1: 1, 2: 0}
_WEDGED, _REPAIR = 1, 2

# zes_fabric_port_status_t healthy and degraded.
_PORT_UP = (1, 2)

_MEMORY_HEALTH = {
    2: "device memory has many corrected errors and needs a reset",
    3: "device memory runs with banks switched off",
    4: "device memory has so many uncorrected errors that the card should be replaced",
}


def read_ras(card: SysmanCard, sink: Sink) -> None:
    """ECC and engine error counters by severity, of the device and of each tile; never cleared."""
    totals: dict[str, dict[int | None, Number]] = defaultdict(lambda: defaultdict(int))
    located: dict[tuple[str, str], int] = defaultdict(int)
    resets: list[int] = []
    for component in card.components("ras"):
        severity = _SEVERITIES.get(component.properties.type)
        if severity is None:
            continue
        counts = _ras_counts(card, component)
        for category, location in _LOCATIONS.items():
            if category in counts:
                totals[severity][component.tile] += counts[category]
                located[severity, location] += counts[category]
        resets.append(counts.get(_RESETS, 0))
    for severity, values in totals.items():
        sink.spread(dict(values), sum, "ecc_errors_total", severity)
    for (severity, location), count in located.items():
        sink.fill(None, count, "ecc_location_errors_total", severity, location)
    if resets:
        sink.fill(None, sum(resets), "resets_total")


def _ras_counts(card: SysmanCard, component: Component) -> dict[int, int]:
    """Errors by category: by the newer call, which alone counts memory, else by the older one."""
    try:
        rows = card.sysman.structures("zesRasGetStateExp", component.handle, structures.RasCount)
        return {row.category: row.errorCounter for row in rows}
    except NotSupported:
        state = structures.RasState()
        state.stype = structures.STYPES[structures.RasState]
        card.sysman.call("zesRasGetState", component.handle, c_ubyte(0), byref(state))
        return dict(enumerate(state.category))


def read_ecc(card: SysmanCard, sink: Sink) -> None:
    """Whether ECC is on; nothing where it is unavailable."""
    state = card.sysman.get("zesDeviceGetEccState", card.handle, structures.EccProperties)
    if state.currentState in _ECC_STATES:
        sink.fill(None, _ECC_STATES[state.currentState], "ecc_enabled")


def read_state(card: SysmanCard, sink: Sink) -> None:
    """Whether the driver requests a reset, and the recovery it requests."""
    state = card.sysman.get("zesDeviceGetState", card.handle, structures.DeviceState)
    sink.fill(None, int(state.reset & (_WEDGED | _REPAIR) != 0), "reset_required")
    sink.fill(None, int(state.reset & _REPAIR != 0), "memory_repair_pending")
    sink.fill(None, 1, "recovery_action_info", "reset" if state.reset else "none")


def read_pci(card: SysmanCard, sink: Sink) -> None:
    """Bytes and replays of the PCIe link, and its speed where sysfs does not have it."""
    properties = card.sysman.get("zesDevicePciGetProperties", card.handle, structures.PciProperties)
    stats = card.sysman.get("zesDevicePciGetStats", card.handle, structures.PciStats)
    if properties.haveBandwidthCounters:
        sink.fill(None, stats.rxCounter, "pcie_bytes_total", "receive")
        sink.fill(None, stats.txCounter, "pcie_bytes_total", "transmit")
    if properties.haveReplayCounters:
        sink.fill(None, stats.replayCounter, "pcie_errors_total", "replay")
    for state, speed in (("current", stats.speed), ("max", properties.maxSpeed)):
        if speed.gen > 0:
            sink.fill(None, speed.gen, "pcie_link_generation", state)
        if speed.width > 0:
            sink.fill(None, speed.width, "pcie_link_width_lanes", state)


def read_fabric(card: SysmanCard, sink: Sink) -> None:
    """Xe Link ports that are up and down, and the bytes they moved."""
    states = card.get_each("fabric", "zesFabricPortGetState", structures.FabricPortState)
    if not states:
        return
    up = sum(1 for _, state in states if state.status in _PORT_UP)
    sink.fill(None, up, "interconnect_links", "xelink", "up")
    sink.fill(None, len(states) - up, "interconnect_links", "xelink", "down")
    for component, state in states:
        port = port_number(card, component)
        sink.fill(None, int(state.status in _PORT_UP), "link_up", "xelink", port)
    moved = card.get_each("fabric", "zesFabricPortGetThroughput", structures.FabricThroughput)
    for direction, counter in (("receive", "rxCounter"), ("transmit", "txCounter")):
        total = sum(getattr(state, counter) for _, state in moved)
        sink.fill(None, total, "interconnect_bytes_total", "xelink", direction)
        for component, state in moved:
            port = port_number(card, component)
            value = getattr(state, counter)
            sink.fill(None, value, "link_bytes_total", "xelink", port, direction)


def read_fabric_errors(card: SysmanCard, sink: Sink) -> None:
    """Failures and degradations of Xe Link ports."""
    counters = card.get_each(
        "fabric", "zesFabricPortGetFabricErrorCounters", structures.FabricErrors
    )
    for kind, field in (("link_failure", "linkFailureCount"), ("link_degrade", "linkDegradeCount")):
        for component, state in counters:
            port = port_number(card, component)
            sink.fill(None, getattr(state, field), "link_errors_total", "xelink", port, kind)
        if counters:
            total = sum(getattr(state, field) for _, state in counters)
            sink.fill(None, total, "interconnect_errors_total", "xelink", kind)


def port_number(card: SysmanCard, component: Component) -> str:
    """Number of a port in the driver's order: unique within the device, unlike the one on the port."""
    return str(card.components("fabric").index(component))


def links(card: SysmanCard) -> tuple[Link, ...]:
    """Fabric ports and the ports they are connected to; empty where there are none."""
    try:
        states = card.get_each("fabric", "zesFabricPortGetState", structures.FabricPortState)
    except ReadError:
        return ()
    return tuple(
        Link(
            fabric="xelink",
            link=port_number(card, component),
            remote=_remote(state),
            up=state.status in _PORT_UP,
        )
        for component, state in states
    )


def _remote(state: structures.FabricPortState) -> str | None:
    peer = state.remotePortId
    name = f"{peer.fabricId:x}/{peer.attachId}.{peer.portNumber}"
    return name if state.status in _PORT_UP else None


def memory_notes(card: SysmanCard) -> tuple[str, ...]:
    """What the driver says of the health of device memory; empty when it is well or unknown."""
    try:
        states = card.get_each("memory", "zesMemoryGetState", structures.MemoryState)
    except ReadError:
        return ()
    notes = (_MEMORY_HEALTH.get(state.health) for _, state in states)
    return tuple(dict.fromkeys(note for note in notes if note))
