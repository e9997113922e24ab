"""How near devices and adapters are to each other: sysfs as the kernel has it, links as told."""

import json
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from accelwatch.cli.node.topo_command import text_of
from accelwatch.cli.startup.app import build
from accelwatch.cli.table_lines import Style
from accelwatch.node.topology.adapters import adapters
from accelwatch.node.topology.matrix import Topology, topology
from accelwatch.node.topology.pci_paths import PciPath, pci_path
from accelwatch.node.topology.relations import pci_relation
from accelwatch.schema.reading import Link
from accelwatch.schema.snapshot import DeviceView, Snapshot
from support.machines import composed as machines

# A root port, a switch's upstream port, and one of its downstream ports.
SWITCH = "0000:00:01.0/0000:01:00.0/0000:02:{port}.0"


class Bus:
    """A composed sysfs."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def put(self, bus_id: str, path: str, *, numa: int = -1, cpus: str = "0-15") -> None:
        """A function below bridges (`pci0000:00/0000:00:01.0`)."""
        folder = self.root / "sys/devices" / path / bus_id
        folder.mkdir(parents=True)
        (folder / "numa_node").write_text(f"{numa}\n")
        (folder / "local_cpulist").write_text(f"{cpus}\n")
        link = self.root / "sys/bus/pci/devices" / bus_id
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(Path("../../../devices") / path / bus_id)

    def adapter(self, bus_id: str, kind: str, name: str) -> None:
        """A name of an adapter's function in a class of sysfs."""
        entry = self.root / "sys/class" / kind / name
        entry.mkdir(parents=True)
        (entry / "device").symlink_to(self.root / "sys/bus/pci/devices" / bus_id)


@pytest.fixture
def bus(tmp_path: Path) -> Bus:
    return Bus(tmp_path)


def gpu(index: int, bus_id: str | None, links: Sequence[Link] = ()) -> DeviceView:
    view = machines.view(index)
    device = msgspec.structs.replace(view.device, pci_bus_id=bus_id, numa_node=None)
    reading = msgspec.structs.replace(view.reading, links=tuple(links))
    return msgspec.structs.replace(view, device=device, reading=reading)


def nvlinks(remote: str | None, count: int, *, up: bool | None = True) -> list[Link]:
    return [Link(fabric="nvlink", link=str(n), remote=remote, up=up) for n in range(count)]


def node(*views: DeviceView) -> Snapshot:
    return msgspec.structs.replace(machines.snapshot(), devices=views)


def relation(known: Topology, one: str, other: str) -> str:
    return known.relations()[one, other]


A, B = "0000:10:00.0", "0000:20:00.0"


@pytest.mark.parametrize(
    ("one", "other", "word"),
    [
        ("pci0000:00/" + SWITCH.format(port="01"), "pci0000:00/" + SWITCH.format(port="02"), "PIX"),
        (
            "pci0000:00/" + SWITCH.format(port="01") + "/0000:03:00.0/0000:04:01.0",
            "pci0000:00/" + SWITCH.format(port="02"),
            "PXB",
        ),
        (
            "pci0000:00/" + SWITCH.format(port="02"),
            "pci0000:00/" + SWITCH.format(port="01") + "/0000:03:00.0/0000:04:01.0",
            "PXB",
        ),
        ("pci0000:00/0000:00:01.0", "pci0000:00/0000:00:02.0", "PHB"),
        ("pci0000:00", "pci0000:00/0000:00:02.0", "PHB"),
    ],
)
def test_pcie_distance_below_one_host_bridge(bus: Bus, one: str, other: str, word: str) -> None:
    bus.put(A, one, numa=0)
    bus.put(B, other, numa=1)

    assert pci_relation(pci_path(bus.root, A), pci_path(bus.root, B)) == word


@pytest.mark.parametrize(
    ("one", "other", "word"),
    [(0, 0, "NODE"), (0, 1, "SYS"), (-1, -1, "NODE"), (0, -1, "?"), (-1, 0, "?")],
)
def test_pcie_distance_between_host_bridges_is_that_of_numa_nodes(
    bus: Bus, one: int, other: int, word: str
) -> None:
    bus.put(A, "pci0000:00/0000:00:01.0", numa=one)
    bus.put(B, "pci0000:80/0000:80:01.0", numa=other)

    assert pci_relation(pci_path(bus.root, A), pci_path(bus.root, B)) == word


def test_a_position_has_bridges_node_and_processors(bus: Bus) -> None:
    bus.put(A, "pci0000:00/0000:00:01.0", numa=1, cpus="0-31,64-95")

    assert pci_path(bus.root, A) == PciPath(
        host_bridge="pci0000:00", bridges=("0000:00:01.0",), numa_node=1, cpus="0-31,64-95"
    )


def test_what_is_behind_a_vmd_bridge_has_the_nearest_root(bus: Bus) -> None:
    bus.put(A, "pci0000:80/0000:80:05.5/pci10000:e0/10000:e0:06.0")

    position = pci_path(bus.root, A)
    assert position is not None
    assert (position.host_bridge, position.bridges) == ("pci10000:e0", ("10000:e0:06.0",))


def test_garbage_instead_of_processors_is_nothing(bus: Bus) -> None:
    bus.put(A, "pci0000:00", cpus="all of them")

    position = pci_path(bus.root, A)
    assert position is not None
    assert position.cpus == ""


def test_what_sysfs_does_not_show_is_not_known(bus: Bus) -> None:
    bus.put(A, "pci0000:00")
    bus.put(B, "platform/soc")

    assert pci_path(bus.root, "0000:99:00.0") is None
    assert pci_path(bus.root, B) is None
    assert pci_relation(pci_path(bus.root, A), None) == "?"
    assert pci_relation(None, pci_path(bus.root, A)) == "?"


def test_a_loop_of_links_has_no_position(bus: Bus) -> None:
    folder = bus.root / "sys/bus/pci/devices"
    folder.mkdir(parents=True)
    (folder / A).symlink_to(folder / A)

    assert pci_path(bus.root, A) is None


def test_adapters_are_named_as_collective_libraries_name_them(bus: Bus) -> None:
    for bus_id in (A, B, "0000:30:00.0"):
        bus.put(bus_id, "pci0000:00")
    bus.adapter(A, "infiniband", "mlx5_10")
    bus.adapter(A, "net", "ib1")
    bus.adapter(A, "net", "ib0")
    bus.adapter(B, "infiniband", "mlx5_2")
    bus.adapter("0000:30:00.0", "net", "eth0")
    (bus.root / "sys/class/net/bond0").mkdir()
    virtual = bus.root / "sys/class/net/veth1"
    virtual.mkdir()
    (virtual / "device").symlink_to(bus.root / "sys/devices/virtio0")

    assert [(nic.name, nic.interfaces) for nic in adapters(bus.root)] == [
        ("eth0", ("eth0",)),
        ("mlx5_2", ()),
        ("mlx5_10", ("ib0", "ib1")),
    ]


def test_a_machine_without_adapters_has_none(tmp_path: Path) -> None:
    assert adapters(tmp_path) == []


def test_links_between_two_devices_go_before_pcie(bus: Bus) -> None:
    bus.put(A, "pci0000:00/0000:00:01.0", numa=0)
    bus.put(B, "pci0000:80/0000:80:01.0", numa=1)
    known = topology(node(gpu(0, A, nvlinks(B, 4)), gpu(1, B, nvlinks(A, 4))), bus.root)

    assert relation(known, "nvidia0", "nvidia1") == relation(known, "nvidia1", "nvidia0") == "NV4"
    assert relation(known, "nvidia0", "nvidia0") == "X"


@pytest.mark.parametrize("reporting", [0, 1])
def test_one_end_that_reports_its_links_is_enough(bus: Bus, reporting: int) -> None:
    ends = [A, B]
    views = [gpu(n, ends[n], nvlinks(ends[1 - n], 2) if n == reporting else ()) for n in range(2)]

    assert relation(topology(node(*views), bus.root), "nvidia0", "nvidia1") == "NV2"


def test_links_are_found_by_uuid_too(bus: Bus) -> None:
    other = gpu(1, None)
    uuid = str(other.device.uuid).upper()
    known = topology(node(gpu(0, None, nvlinks(uuid, 1)), other), bus.root)

    assert relation(known, "nvidia0", "nvidia1") == "NV1"


def test_links_to_switches_connect_all_that_have_them(bus: Bus) -> None:
    switch = "00000000:C1:00.0"
    views = [gpu(0, A, nvlinks(switch, 18)), gpu(1, B, nvlinks(switch, 17)), gpu(2, None)]
    known = topology(node(*views), bus.root)

    assert relation(known, "nvidia0", "nvidia1") == "NV17"
    assert relation(known, "nvidia0", "nvidia2") == "?"


def test_a_neighbours_neighbour_is_not_behind_a_switch(bus: Bus) -> None:
    c = "0000:30:00.0"
    for bus_id in (A, B, c):
        bus.put(bus_id, "pci0000:00/" + SWITCH.format(port=bus_id[5:7]))
    views = [gpu(0, A, nvlinks(B, 1)), gpu(1, B, nvlinks(c, 1)), gpu(2, c, nvlinks(B, 1))]
    known = topology(node(*views), bus.root)

    assert relation(known, "nvidia0", "nvidia2") == "PIX"


@pytest.mark.parametrize(
    "links",
    [nvlinks(B, 4, up=False), nvlinks(None, 4), nvlinks(A, 4)],
    ids=["down", "untold", "loop"],
)
def test_links_that_lead_nowhere_do_not_count(bus: Bus, links: list[Link]) -> None:
    bus.put(A, "pci0000:00/0000:00:01.0")
    bus.put(B, "pci0000:00/0000:00:02.0")
    known = topology(node(gpu(0, A, links), gpu(1, B)), bus.root)

    assert relation(known, "nvidia0", "nvidia1") == "PHB"


def test_a_link_whose_state_is_not_reported_counts(bus: Bus) -> None:
    links = [Link(fabric="xgmi", link="0", remote=B)]

    assert relation(
        topology(node(gpu(0, A, links), gpu(1, B)), bus.root), "nvidia0", "nvidia1"
    ) == ("XGMI1")


def machine(bus: Bus) -> Topology:
    """Two GPUs with an adapter each beside them, on two sockets."""
    for socket, (bus_id, nic) in enumerate(((A, "0000:11:00.0"), (B, "0000:21:00.0"))):
        host = f"pci0000:{socket}0"
        path = f"{host}/0000:{socket}0:01.0/0000:{socket}1:00.0/0000:{socket}2:"
        bus.put(bus_id, f"{path}00.0", numa=socket, cpus=f"{socket * 16}-{socket * 16 + 15}")
        bus.put(nic, f"{path}01.0", numa=socket)
        bus.adapter(nic, "infiniband", f"mlx5_{socket}")
    return topology(node(gpu(0, A, nvlinks(B, 4)), gpu(1, B)), bus.root)


def test_each_device_has_its_nearest_adapters(bus: Bus) -> None:
    members = {one.name: one for one in machine(bus).members}

    assert members["nvidia0"].nearest == ("mlx5_0",)
    assert members["nvidia1"].nearest == ("mlx5_1",)
    assert members["mlx5_0"].nearest == ()
    assert (members["nvidia1"].numa_node, members["nvidia1"].cpus) == (1, "16-31")


def test_equally_near_adapters_are_all_listed_and_unknown_ones_are_not(bus: Bus) -> None:
    for bus_id in (A, "0000:11:00.0", "0000:12:00.0"):
        bus.put(bus_id, "pci0000:00/" + SWITCH.format(port=bus_id[5:7]))
    bus.adapter("0000:11:00.0", "net", "eth0")
    bus.adapter("0000:12:00.0", "net", "eth1")
    known = topology(node(gpu(0, A), gpu(1, None)), bus.root)

    assert [one.nearest for one in known.members] == [("eth0", "eth1"), (), (), ()]


def test_the_table_shows_every_pair_and_explains_its_words(bus: Bus) -> None:
    assert text_of(machine(bus), Style()).splitlines() == [
        "         nvidia0  nvidia1  mlx5_0  mlx5_1  NUMA  CPUS   NEAREST ADAPTERS",
        "nvidia0  X        NV4      PIX     SYS     0     0-15   mlx5_0",
        "nvidia1  NV4      X        SYS     PIX     1     16-31  mlx5_1",
        "mlx5_0   PIX      SYS      X       SYS     0     0-15   -",
        "mlx5_1   SYS      PIX      SYS     X       1     0-15   -",
        "",
        "NV4: the vendor's own links, and how many of them",
        "PIX   through one PCIe switch at most",
        "SYS   from one NUMA node to another, between the processors",
    ]


def test_partitions_are_left_out(bus: Bus) -> None:
    whole = gpu(0, A)
    part = gpu(1, A)
    device = msgspec.structs.replace(part.device, parent_id=whole.device.id)
    known = topology(node(whole, msgspec.structs.replace(part, device=device)), bus.root)

    assert [one.name for one in known.members] == ["nvidia0"]


def test_the_command_lists_adapters_of_a_machine_without_devices(bus: Bus) -> None:
    bus.put(A, "pci0000:00")
    bus.adapter(A, "net", "eth0")
    arguments = ["topo", "--root", str(bus.root)]

    result = CliRunner().invoke(build(), [*arguments, "--json"])
    assert result.exit_code == 3
    assert [one["name"] for one in json.loads(result.stdout)["members"]] == ["eth0"]
    result = CliRunner().invoke(build(), arguments)
    assert "eth0  X" in result.stdout


def test_the_command_of_a_machine_with_nothing_says_so(tmp_path: Path) -> None:
    result = CliRunner().invoke(build(), ["topo", "--root", str(tmp_path)])

    assert result.exit_code == 3
    assert result.stdout.startswith("no accelerator found; ")


@pytest.mark.parametrize(("reason", "code"), [("library_missing", 1), ("permission", 5)])
def test_the_command_of_a_machine_whose_devices_cannot_be_read_says_why(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, reason: str, code: int
) -> None:
    broken = machines.snapshot(devices=(), backends=(machines.unread(reason=reason),))
    monkeypatch.setattr("accelwatch.node.snapshots.read_once", lambda _: broken)
    result = CliRunner().invoke(build(), ["topo", "--root", str(tmp_path)])

    assert result.exit_code == code
    assert result.stdout.startswith("no device could be read (nvidia); ")
    assert "nvidia: NVML_ERROR_LIB_RM_VERSION_MISMATCH; reboot after the update" in result.stderr
