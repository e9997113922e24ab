"""One word for one thing over all vendors: the label values that views, rules and dashboards rely on."""

import re
from collections.abc import Mapping

from accelwatch.backend import Backend
from accelwatch.schema.catalogue.lookup import by_key
from support.machines.polling import Poll

# `vram0` and on are single channels of GDDR memory, as `hbm0` and on are single stacks.
SENSOR = r"gpu|junction|memory|hbm\d+|vram\d+|board|inlet|outlet|vr|soc"
FABRIC = r"nvlink|c2c|xgmi|xelink|hccs|icn|ici|neuronlink|roce|ethernet|tt_link"
REASON = (
    "power|power_brake|thermal_software|thermal_hardware|memory_thermal|voltage|sync_boost|"
    "clock_setting|reliability|low_utilization|other"
)
# `deferred` is AMD's: found uncorrectable, not yet consumed (kernel doc, amdgpu RAS).
SEVERITY = "corrected|uncorrected|deferred"
DIRECTION = "receive|transmit"
CLOCK_LIMIT = "min|max|hardware_min|hardware_max|requested|achievable|efficient|boost"
# Several engines of a kind that a system on a chip has beside its GPU have numbers.
ENGINE = (
    r"(encoder|decoder|jpeg|dla|pva)\d?|optical_flow|vcn|vic|media|"
    "render|tiler|compute|copy|video|video_enhance|gfx|dma|tensor|vector|"
    "ai_cpu|control_cpu"
)
DOMAIN = "graphics|sm|memory|video|video_decode|media|soc|fabric|display|npu"
PCIE_ERROR = (
    "correctable|nonfatal|fatal|replay|replay_rollover|nak_sent|nak_received|receiver|"
    "bad_tlp|bad_dllp|unsupported_request|lcrc|lane|l0_to_recovery"
)
WORD = r"[a-z0-9][a-z0-9_]*"

BY_LABEL: Mapping[str, str] = {
    "sensor": SENSOR,
    "fabric": FABRIC,
    "reason": REASON,
    "severity": SEVERITY,
    "fan": r"\d+",
    "link": r"\d+",
    "engine": ENGINE,
    "pipe": WORD,
    "core": WORD,
    "pool": "bar1|gtt|visible|sram|ddr|host",
    "component": WORD,
    "rail": WORD,
    "domain": DOMAIN,
    "location": WORD,
    "cause": WORD,
    "type": WORD,
    "source": "hardware|integrated",
    "action": WORD,
    "state": WORD,
    "availability": "max|high|partial|low|none",
    "clique": r"\d+",
    "cluster_uuid": r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}",
    "slot": r"\d+",
    "tray": r"\d+",
    "host": r"\d+",
    "module": r"\d+",
}
BY_KEY: Mapping[tuple[str, str], str] = {
    ("temperature_limit_celsius", "limit"): "slowdown|shutdown|max_operating|target",
    ("power_limit_watts", "limit"): "enforced|requested|default|min|max|burst|critical",
    ("power_component_limit_watts", "limit"): "enforced|requested|default|min|max",
    ("clock_limit_hertz", "limit"): CLOCK_LIMIT,
    ("pcie_link_generation", "state"): "current|max",
    ("pcie_link_width_lanes", "state"): "current|max",
    ("interconnect_links", "state"): "up|down",
    ("reported_health_info", "state"): "ok|degraded|failed",
    ("pcie_errors_total", "type"): PCIE_ERROR,
    ("pcie_bytes_total", "direction"): DIRECTION,
    ("pcie_throughput_bytes_per_second", "direction"): DIRECTION,
    ("interconnect_bytes_total", "direction"): DIRECTION,
    ("link_bytes_total", "direction"): DIRECTION,
    ("host_network_bytes_total", "direction"): DIRECTION,
    ("host_network_errors_total", "direction"): DIRECTION,
    ("host_rdma_bytes_total", "direction"): DIRECTION,
    ("host_disk_bytes_total", "direction"): "read|write",
    ("host_setting_info", "setting"): r"[a-z][a-z0-9_]*(\.[a-z0-9_]+)*",
    ("host_paging_bytes_total", "direction"): "read|write",
}
FREE = {"mountpoint", "interface", "disk", "rdma_device", "port", "mode", "window", "resource"}
FREE |= {"value", "library", "version"}
# Names of the host's own parts, and the kernel's and vendors' own words.
FREE |= {"share", "chassis_serial", "operation", "status"}


def unknown_words(series: tuple[str, ...]) -> list[str]:
    """Label values of a series that are not in the vocabulary."""
    row = by_key()[series[0]]
    wrong = []
    for label, value in zip(row.labels, series[1:], strict=True):
        pattern = BY_KEY.get((row.key, label)) or BY_LABEL.get(label)
        if pattern is None:
            assert label in FREE, f"{row.key} has the label {label} without a vocabulary"
        elif not re.fullmatch(pattern, value):
            wrong.append(f"{row.key}: {label}={value!r}")
    return wrong


def test_labels_are_words_of_the_vocabulary(backend: Backend, poll: Poll) -> None:
    wrong: set[str] = set()
    for one in poll(backend):
        for reading in one.readings:
            for series in (*reading.values, *reading.absent):
                if len(series) > 1 and series[0] != "processes":
                    wrong.update(unknown_words(series))
    assert not sorted(wrong)


def test_links_speak_of_known_fabrics(backend: Backend, poll: Poll) -> None:
    for one in poll(backend):
        for reading in one.readings:
            for link in reading.links:
                assert re.fullmatch(FABRIC, link.fabric)
                assert link.link
