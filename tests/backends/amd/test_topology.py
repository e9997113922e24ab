"""The compute driver's topology: recorded ones, and damaged ones."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accelwatch_amd.devices.names import gfx_name
from accelwatch_amd.partitions import xgmi_links
from accelwatch_amd.sysfs.kfd import (
    KfdUse,
    Node,
    nodes_of,
    occupancy,
    parse_properties,
    read_nodes,
    read_processes,
)
from accelwatch_amd.sysfs.tree import Tree
from backends.amd.fuzzing import FUZZ
from support.machines.samples import sample

NODES = "sys/class/kfd/kfd/topology"


def lay_out(machine: Any, name: str) -> Tree:
    packed = json.loads(sample(f"amd/sysfs/{name}.json").read_text())
    below = packed["root"].removeprefix("/").removesuffix("/")
    for path, content in packed["files"].items():
        machine.tree.write(f"{below}/{path}", content)
    return Tree(machine.root)


@pytest.mark.oracle
def test_eight_mi210_in_two_hives(machine: Any) -> None:
    nodes = read_nodes(lay_out(machine, "kfd_topology_mi210_xgmi_pcie"))
    assert [node.number for node in nodes] == [2, 3, 4, 5, 6, 7, 8, 9]
    first = nodes[0]
    assert (first.slot, first.function) == ("0000:63:00", 0)
    assert first.unique_id == 1801979520617338022
    assert (first.render_minor, first.simd_count) == (128, 416)
    assert gfx_name(first.gfx_target_version) == "gfx90a"
    assert first.xgmi_peers == (3, 4, 5)
    own = nodes_of(nodes, "0000:63:00.0")
    assert own == (first,)
    links = xgmi_links(nodes, own)
    assert [link.fabric for link in links] == ["xgmi"] * 3
    peers = {node.slot for node in nodes if node.number in (3, 4, 5)}
    assert {(link.remote or "").rpartition(".")[0] for link in links} == peers
    assert all(link.up is None for link in links)


@pytest.mark.oracle
def test_partitions_of_mi308(machine: Any) -> None:
    nodes = read_nodes(lay_out(machine, "kfd_topology_mi308"))
    assert [node.number for node in nodes] == list(range(2, 12))
    assert [node.slot for node in nodes] == ["0000:0a:00"] * 4 + ["0000:80:00"] * 4 + [
        "0000:a4:00"
    ] * 2
    own = nodes_of(nodes, "0000:0a:00.0")
    assert [node.function for node in own] == [0, 1, 2, 3]
    assert [node.render_minor for node in own] == [128, 129, 130, 131]
    assert [node.gpu_id for node in own] == [24248, 41657, 59065, 2236]
    assert {node.unique_id for node in own} == {0x84CAFEAE17E7696}
    assert gfx_name(own[0].gfx_target_version) == "gfx942"


def test_memory_of_a_node_is_the_sum_of_its_banks(machine: Any) -> None:
    base = f"{NODES}/nodes/1"
    machine.tree.write(f"{base}/gpu_id", "7\n")
    machine.tree.write(f"{base}/properties", "simd_count 8\nlocation_id 768\n")
    machine.tree.write(f"{base}/mem_banks/0/properties", "heap_type 1\nsize_in_bytes 100\n")
    machine.tree.write(f"{base}/mem_banks/1/properties", "heap_type 2\nsize_in_bytes 20\n")
    (node,) = read_nodes(Tree(machine.root))
    assert node.memory_bytes == 120
    assert node.slot == "0000:03:00"


def test_machine_without_the_compute_driver(machine: Any) -> None:
    assert read_nodes(Tree(machine.root)) == ()
    assert read_processes(Tree(machine.root), [1]) == {}


def test_processes_are_summed_over_the_nodes_of_a_device(machine: Any) -> None:
    for name, content in {
        "10/vram_1": "100\n",
        "10/vram_2": "50\n",
        "10/stats_1/cu_occupancy": "3\n",
        "11/vram_9": "70\n",
        "12/vram_1": "garbage\n",
        "x/vram_1": "5\n",
    }.items():
        machine.tree.write(f"sys/class/kfd/kfd/proc/{name}", content)
    found = read_processes(Tree(machine.root), [1, 2])
    assert set(found) == {10}
    assert (found[10].memory_bytes, found[10].occupied_units) == (150, 3)


def test_occupancy_needs_waves_and_units() -> None:
    node = Node(number=1, gpu_id=1, slot="0000:03:00", function=0, simd_count=80, simd_per_cu=4)
    assert occupancy([node, node], [KfdUse(occupied_units=5), KfdUse(occupied_units=5)]) == 0.25
    assert occupancy([node], [KfdUse(memory_bytes=5)]) is None
    assert occupancy([node], []) is None
    assert occupancy([], [KfdUse(occupied_units=1)]) is None
    assert occupancy([node], [KfdUse(occupied_units=21)]) is None


@FUZZ
@given(st.text(max_size=200))
def test_any_properties_text(text: str) -> None:
    assert all(number >= 0 for number in parse_properties(text).values())


@FUZZ
@given(
    st.lists(
        st.sampled_from(["simd_count 4", "location_id 99999999", "domain 70000", "location_id"])
    )
)
def test_damaged_nodes_never_raise(lines: list[str]) -> None:
    content = {"properties": "\n".join(lines), "gpu_id": "-"}
    tree = Tree(__import__("pathlib").Path("/nowhere"), lambda p: content.get(p.name, "").encode())
    assert read_nodes(tree) == ()
