"""What signals are called in a sentence, and what is wrong where several of them go together."""

from collections.abc import Mapping, Set
from typing import NamedTuple

from accelwatch.schema.metrics import Series


class Phrase(NamedTuple):
    """How a signal is spoken of. `{by}` is a difference, such as `9 %`."""

    noun: str
    # About the node or device itself, above and below its peers; made of the noun where empty.
    above: str = ""
    below: str = ""
    # What the noun is when it is above and below.
    more: str = "higher"
    less: str = "lower"


PHRASES: Mapping[str, Phrase] = {
    "power_watts": Phrase(
        "power", "draws {by} more power at equal load", "draws {by} less power at equal load"
    ),
    "power_limit_watts": Phrase("power limit"),
    "energy_joules_total": Phrase("energy", "uses {by} more energy", "uses {by} less energy"),
    "throttle_active.power": Phrase("power brake", "is held back by its power limit"),
    "throttle_active.power_brake": Phrase("power brake", "is held back by the power brake"),
    "throttle_active.thermal_software": Phrase(
        "heat limit", "is throttled by its driver because of heat"
    ),
    "throttle_active.thermal_hardware": Phrase(
        "heat limit", "is throttled by its hardware because of heat"
    ),
    "throttle_seconds_total.power": Phrase(
        "time at the power limit", more="longer", less="shorter"
    ),
    "throttle_seconds_total.thermal_software": Phrase(
        "time at the heat limit", more="longer", less="shorter"
    ),
    "temperature_celsius.gpu": Phrase(
        "temperature", "is {by} hotter", "is {by} cooler", "hotter", "cooler"
    ),
    "temperature_celsius.memory": Phrase(
        "memory", "has memory {by} hotter", "has memory {by} cooler", "hotter", "cooler"
    ),
    "temperature_headroom_celsius": Phrase(
        "margin to its heat limit", more="wider", less="narrower"
    ),
    "fan_speed_ratio": Phrase("fan speed"),
    "clock_hertz.graphics": Phrase(
        "clock", "runs at a clock {by} higher", "runs at a clock {by} lower"
    ),
    "clock_hertz.sm": Phrase("clock", "runs at a clock {by} higher", "runs at a clock {by} lower"),
    "clock_hertz.memory": Phrase("memory clock"),
    "clock_limit_hertz": Phrase("clock limit"),
    "performance_state": Phrase("performance state"),
    "utilization_ratio": Phrase("utilization", "is {by} busier", "is {by} less busy"),
    "compute_active_ratio": Phrase("activity of its cores"),
    "compute_occupancy_ratio": Phrase("occupancy of its cores"),
    "matrix_active_ratio": Phrase("matrix activity"),
    "processes": Phrase("number of processes"),
    "memory_controller_utilization_ratio": Phrase("use of its memory controller"),
    "memory_bandwidth_utilization_ratio": Phrase("use of its memory bandwidth"),
    "memory_used_bytes": Phrase(
        "used memory", "uses {by} more memory", "uses {by} less memory", "more", "less"
    ),
    "memory_reserved_bytes": Phrase("memory that its driver reserves"),
    "memory_size_bytes": Phrase("memory size", below="has {by} less memory"),
    "interconnect_links": Phrase("number of working NVLinks", below="has lost NVLinks"),
    "interconnect_bytes_total": Phrase("NVLink traffic"),
    "interconnect_errors_total": Phrase("rate of NVLink errors"),
    "pcie_link_generation": Phrase("PCIe generation"),
    "pcie_link_width_lanes": Phrase("PCIe width"),
    "pcie_bytes_total": Phrase("PCIe traffic"),
    "pcie_errors_total": Phrase("rate of PCIe replays"),
    "ecc_errors_total.corrected": Phrase("rate of corrected memory errors"),
    "ecc_errors_total.uncorrected": Phrase("rate of uncorrected memory errors"),
    "memory_remapped_rows": Phrase("number of replaced memory rows"),
    "memory_repair_pending": Phrase("repair flag", "has a memory repair pending"),
    "memory_repair_failed": Phrase("repair flag", "has failed to repair its memory"),
    "reset_required": Phrase("reset flag", "asks for a reset"),
    "device_up": Phrase("presence", below="cannot be read"),
    "host_cpu_utilization_ratio": Phrase("CPU utilization"),
    "host_load_average": Phrase("load"),
    "host_runnable_processes": Phrase("number of runnable processes"),
    "host_blocked_processes": Phrase("number of blocked processes"),
    "host_interrupts_total": Phrase("rate of interrupts"),
    "host_context_switches_total": Phrase("rate of context switches"),
    "host_memory_available_bytes": Phrase("free host memory", more="more", less="less"),
    "host_swap_used_bytes": Phrase("used swap", more="more", less="less"),
    "host_paging_bytes_total": Phrase("paging"),
    "host_pressure_ratio": Phrase("waiting time"),
    "host_uptime_seconds": Phrase("uptime", more="longer", less="shorter"),
    "host_clock_offset_seconds": Phrase("clock error"),
    "host_clock_synchronized": Phrase("clock", below="has a clock that is not synchronized"),
    "host_disk_io_seconds_total": Phrase("disk load"),
    "host_filesystem_available_bytes": Phrase("free disk space", more="more", less="less"),
    "host_nfs_requests_total": Phrase("rate of NFS requests"),
    "host_nfs_retransmissions_total": Phrase("rate of NFS retransmissions"),
    "host_nfs_round_trip_seconds_total": Phrase("NFS response time", more="longer", less="shorter"),
    "host_nfs_execution_seconds_total": Phrase("NFS request time", more="longer", less="shorter"),
    "host_nfs_backlog_total": Phrase("NFS backlog", more="longer", less="shorter"),
    "host_rdma_port_up": Phrase("number of RDMA ports up", below="has lost RDMA ports"),
    "host_rdma_port_rate_bytes_per_second": Phrase("RDMA link speed"),
    "host_rdma_bytes_total": Phrase("RDMA traffic"),
    "host_rdma_errors_total": Phrase("rate of RDMA errors"),
    "host_network_up": Phrase("number of network links up", below="has lost network links"),
    "host_network_carrier_changes_total": Phrase("rate of link changes"),
    "host_network_bytes_total": Phrase("network traffic"),
    "host_network_errors_total": Phrase("rate of network errors"),
    "fleet_target_read_duration_seconds": Phrase("reading time", more="longer", less="shorter"),
    "collector_duration_seconds": Phrase("reading time", more="longer", less="shorter"),
    "exporter_series": Phrase("number of series"),
    "collector_cycles_total": Phrase("rate of readings that time out"),
    "fleet_target_clock_skew_seconds": Phrase("clock error"),
    "devices.ok": Phrase("number of healthy devices", below="has lost devices"),
    "devices.lost": Phrase("number of lost devices", "has lost devices"),
}
# What is wrong by a cause that no number says.
CAUSES: Mapping[str, str] = {
    "all_devices_gone": "has lost most of its devices",
    "context_switches_collapsed": "hardly switches between processes any more",
    "device_gone": "is no longer listed",
    "device_lost": "is lost",
    "device_unreadable": "cannot be read",
    "devices_unreadable": "has devices that cannot be read",
    "exporter_frozen": "keeps reporting the same values",
    "fewer_samples": "reports fewer metrics than usual",
    "hang_culprit": "does nothing while its job waits",
    "interrupts_collapsed": "has hardly any interrupts any more",
    "io_pressure": "waits for its storage",
    "many_nodes_silent": "does not answer, and neither do others",
    "nfs_queue": "queues its requests to the file server",
    "nfs_round_trip": "waits long for the file server",
    "node_silent": "does not answer",
    "nothing_runs": "runs hardly any processes any more",
    "page_out": "pages out far more than usual",
    "pcie_speed": "has a PCIe link below its speed",
    "pcie_width": "has a PCIe link below its width",
    "rdma_port_down": "has lost RDMA ports",
    "rdma_port_flaps": "has an RDMA port that goes down again and again",
    "rdma_port_rate": "has an RDMA link below its speed",
    "power_brake": "is held back by the power brake",
    "remap_failure": "has failed to replace a row of its memory",
    "row_remap": "has replaced a row of its memory after an uncorrected error",
    "signals_gone": "no longer reports some of its metrics",
    "slow_scrape": "answers much slower than usual",
    "stopped_first": "stopped before the others of its job",
    "thermal_slowdown": "is throttled by its hardware because of heat",
    "uncorrected_ecc": "has an uncorrected memory error",
    "values_frozen": "keeps reporting the same values",
}
# Families that are above (+) or below (-) their peers, and what that means; the first that fits.
MEANINGS: tuple[tuple[frozenset[str], str], ...] = (
    (frozenset({"thermal+", "power+"}), "it works harder than they do"),
    (frozenset({"thermal+", "clock-"}), "it throttles because it is too hot"),
    (frozenset({"thermal+", "power-"}), "it throttles because it is too hot"),
    (frozenset({"clock-", "power-"}), "something limits its clock or its power"),
    (frozenset({"ecc+"}), "its memory is wearing out"),
    (frozenset({"pcie-", "fabric-"}), "its path to the network is slow"),
    (frozenset({"thermal+"}), "its cooling is failing"),
    (frozenset({"compute-", "power-"}), "it does less of the work"),
)
# What many nodes share, in a sentence: its effect and its cause.
SHARED: Mapping[str, str] = {
    "cooling": "run hot together, so the cooling of their row or room is to blame",
    "fabric": "have a slow network together, so the fabric is to blame",
    "storage": "wait for storage together, so the storage is to blame",
    "monitoring": "are read late or in part, so the monitoring is to blame",
    "": "have changed together, so it is their work and none of them",
}


def phrase_of(series: Series) -> Phrase:
    """The phrase of a series: by its key and labels, else by its key; at worst its key in words."""
    for length in range(len(series), 0, -1):
        if (phrase := PHRASES.get(".".join(series[:length]))) is not None:
            return phrase
    return Phrase(series[0].removeprefix("host_").replace("_", " "))


def meaning_of(signs: Set[str]) -> str:
    """What is probably wrong; empty where that cannot be said."""
    return next((text for needed, text in MEANINGS if needed <= signs), "")
