"""Network interfaces and RDMA ports as /sys shows them."""

import re
from pathlib import Path

import msgspec

from accelwatch.base.absence import Absence
from accelwatch.system.kernel.sysfs import list_dir, read_int, read_text

_VIRTUAL = re.compile(
    r"lo|(?:veth|docker|cali|tunl|br-|virbr|cni|flannel|kube-|vxlan|lxc|cilium|dummy|ifb|sit|gre|erspan"
    r"|ip6|ip_vti|nodelocaldns|tap|vnet|nerdctl|podman|teql)\S*"
)
_RATE = re.compile(r"([\d.]+) Gb/sec")
_ALL_ONES = (1 << 64) - 1
_MOST_WORDS = 1 << 60
# port_xmit_data and port_rcv_data count 4-byte words (ABI/stable/sysfs-class-infiniband).
_WORD_BYTES = 4

# Counters that mean trouble or congestion; a fixed list, so the number of series is bounded.
#
# `counters`: ABI/stable/sysfs-class-infiniband. `hw_counters` by driver: mlx5 (hw/mlx5/counters.c), EFA
# (hw/efa/efa_verbs.c: rx_drops, retrans_*), bnxt_re (hw/bnxt_re/hw_counters.c: to_retransmits, *_pkts).
PORT_ERRORS = (
    ("counters", "symbol_error"),
    ("counters", "link_error_recovery"),
    ("counters", "link_downed"),
    ("counters", "port_rcv_errors"),
    ("counters", "port_rcv_remote_physical_errors"),
    ("counters", "port_rcv_switch_relay_errors"),
    ("counters", "port_xmit_discards"),
    ("counters", "port_xmit_constraint_errors"),
    ("counters", "port_rcv_constraint_errors"),
    ("counters", "local_link_integrity_errors"),
    ("counters", "excessive_buffer_overrun_errors"),
    ("counters", "VL15_dropped"),
    ("counters", "port_xmit_wait"),
    ("hw_counters", "rnr_nak_retry_err"),
    ("hw_counters", "local_ack_timeout_err"),
    ("hw_counters", "out_of_sequence"),
    ("hw_counters", "packet_seq_err"),
    ("hw_counters", "implied_nak_seq_err"),
    ("hw_counters", "out_of_buffer"),
    ("hw_counters", "req_cqe_error"),
    ("hw_counters", "resp_cqe_error"),
    ("hw_counters", "req_remote_access_errors"),
    ("hw_counters", "roce_slow_restart"),
    ("hw_counters", "rx_icrc_encapsulated"),
    ("hw_counters", "rx_drops"),
    ("hw_counters", "np_cnp_sent"),
    ("hw_counters", "np_ecn_marked_roce_packets"),
    ("hw_counters", "rp_cnp_handled"),
    ("hw_counters", "rp_cnp_ignored"),
    ("hw_counters", "duplicate_request"),
    ("hw_counters", "req_transport_retries_exceeded"),
    ("hw_counters", "req_rnr_retries_exceeded"),
    ("hw_counters", "roce_adp_retrans"),
    ("hw_counters", "roce_adp_retrans_to"),
    ("hw_counters", "retrans_pkts"),
    ("hw_counters", "retrans_timeout_events"),
    ("hw_counters", "to_retransmits"),
    ("hw_counters", "tx_cnp_pkts"),
    ("hw_counters", "rx_cnp_pkts"),
    ("hw_counters", "rx_ecn_marked_pkts"),
)


class Interface(msgspec.Struct, frozen=True, kw_only=True):
    """State of one network interface."""

    name: str
    up: bool | Absence
    carrier_changes: int | Absence


class RdmaPort(msgspec.Struct, frozen=True, kw_only=True):
    """State and counters of one RDMA port; bytes, bytes per second, counts."""

    device: str
    port: str
    up: bool | Absence
    rate: float | Absence
    received: int | Absence
    transmitted: int | Absence
    errors: dict[str, int]


def is_virtual(name: str) -> bool:
    """Whether an interface is one of those that containers and tunnels make by the hundred."""
    return _VIRTUAL.fullmatch(name) is not None


def _carrier(folder: Path) -> bool | Absence:
    """The kernel refuses (EINVAL) the carrier of an interface that is administratively down."""
    carrier = read_int(folder / "carrier")
    if not isinstance(carrier, Absence):
        return carrier == 1
    return False if read_text(folder / "operstate") == "down" else carrier


def interfaces(root: Path, limit: int) -> list[Interface]:
    """Physical and bonded interfaces under /sys/class/net."""
    folders = [
        entry
        for entry in list_dir(root / "sys/class/net")
        if not is_virtual(entry.name) and (entry / "operstate").exists()
    ]
    return [
        Interface(
            name=folder.name,
            up=_carrier(folder),
            carrier_changes=_natural(folder / "carrier_changes"),
        )
        for folder in folders[:limit]
    ]


def port_rate(text: str) -> float | None:
    """Bytes per second from `400 Gb/sec (4X NDR)`; None for other text."""
    match = _RATE.match(text)
    try:
        return float(match[1]) * 1e9 / 8 if match else None
    except ValueError:
        return None


def _natural(path: Path) -> int | Absence:
    """A counter of 64 bits; all ones is a device that does not answer."""
    count = read_int(path)
    if isinstance(count, int) and not 0 <= count < _ALL_ONES:
        return Absence.ERROR
    return count


def _count(path: Path) -> int | Absence:
    """A counter; a driver without it says `N/A (no PMA)`, which is no error."""
    count = _natural(path)
    if count is not Absence.ERROR:
        return count
    text = read_text(path)
    refused = not isinstance(text, Absence) and text.startswith("N/A")
    return Absence.UNSUPPORTED if refused else Absence.ERROR


def _moved(folder: Path, words: str, plain: str) -> int | Absence:
    count = _count(folder / "counters" / words)
    if not isinstance(count, Absence):
        return count * _WORD_BYTES if count <= _MOST_WORDS else Absence.ERROR
    other = _natural(folder / "hw_counters" / plain)
    return count if isinstance(other, Absence) else other


def _names(folder: Path) -> frozenset[str]:
    try:
        return frozenset(entry.name for entry in folder.iterdir())
    except OSError:
        return frozenset()


def _port(device: str, folder: Path) -> RdmaPort:
    state, rate = read_text(folder / "state"), read_text(folder / "rate")
    speed = None if isinstance(rate, Absence) else port_rate(rate)
    # A driver has a third of the names: looking first is cheaper than opening each in vain.
    there = {kind: _names(folder / kind) for kind in ("counters", "hw_counters")}
    errors = {
        name: _count(folder / kind / name) for kind, name in PORT_ERRORS if name in there[kind]
    }
    return RdmaPort(
        device=device,
        port=folder.name,
        up=state if isinstance(state, Absence) else _active(state),
        rate=speed if speed is not None else rate if isinstance(rate, Absence) else Absence.ERROR,
        received=_moved(folder, "port_rcv_data", "rx_bytes"),
        transmitted=_moved(folder, "port_xmit_data", "tx_bytes"),
        errors={name: n for name, n in errors.items() if not isinstance(n, Absence)},
    )


def _active(state: str) -> bool | Absence:
    """`4: ACTIVE`; the number is that of the InfiniBand PortState."""
    number = state.partition(":")[0]
    return number == "4" if number.isascii() and number.isdigit() else Absence.ERROR


def rdma_ports(root: Path, limit: int) -> list[RdmaPort]:
    """Ports under /sys/class/infiniband, InfiniBand, RoCE and EFA alike."""
    folders = [
        (device.name, port)
        for device in list_dir(root / "sys/class/infiniband")
        for port in list_dir(device / "ports")
    ]
    return [_port(device, folder) for device, folder in folders[:limit]]
