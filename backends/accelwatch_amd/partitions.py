"""Compute partitions (XCP) of an Instinct board: KFD nodes that share one PCI device."""

import msgspec

from accelwatch.schema.device import Device
from accelwatch.schema.reading import Collected, Link, Reading
from accelwatch_amd.gpu_metrics.table import Table
from accelwatch_amd.gpu_metrics.telemetry import mean_ratio, partition_engines
from accelwatch_amd.sysfs.kfd import Node
from accelwatch_amd.sysfs.tree import Tree, fill

_NODES = "sys/class/kfd/kfd/topology/nodes"


def partition_devices(parent: Device, nodes: tuple[Node, ...]) -> tuple[Device, ...]:
    """A device for each partition; none where the device is one whole."""
    if len(nodes) < 2:
        return ()
    return tuple(_partition(parent, number, node) for number, node in enumerate(nodes))


def _partition(parent: Device, number: int, node: Node) -> Device:
    return msgspec.structs.replace(
        parent,
        id=f"{parent.id}/xcp{number}",
        index=number,
        name=f"{parent.name}/xcp{number}",
        uuid=None,
        serial=None,
        device_nodes=(f"/dev/dri/renderD{node.render_minor}",) if node.render_minor else (),
        parent_id=parent.id,
        partition=f"xcp{number}",
        partition_technology="xcp",
        partition_profile=parent.partition_mode,
        partition_mode=None,
    )


def read_partition(
    root: Tree, parent: Device, number: int, node: Node, table: Table | None
) -> Reading:
    """What is known of one partition: its memory from KFD, its activity from the firmware's table."""
    out = Collected(f"{parent.id}/xcp{number}")
    if node.memory_bytes:
        out.put("memory_size_bytes", node.memory_bytes)
    used = root.integer(f"{_NODES}/{node.number}/mem_banks/0/used_memory")
    if isinstance(used, int) and 0 <= used <= (node.memory_bytes or used):
        out.put("memory_used_bytes", used)
    if table is not None and number < table.partitions():
        for name, percents in partition_engines(table, number).items():
            ratio = mean_ratio(percents)
            if ratio is None:
                continue
            if name == "gfx":
                out.put("utilization_ratio", ratio)
            else:
                fill(out, "engine_utilization_ratio", ratio, name)
    return out.reading(sources={"*": "sysfs"})


def xgmi_links(nodes: tuple[Node, ...], own: tuple[Node, ...]) -> tuple[Link, ...]:
    """XGMI links of a device to other devices, as the topology lists them; whether up is unknown."""
    slots = {node.number: node.slot for node in nodes}
    peers = sorted(
        {
            slots[peer]
            for node in own
            for peer in node.xgmi_peers
            if peer in slots and slots[peer] != node.slot
        }
    )
    return tuple(
        Link(fabric="xgmi", link=str(number), remote=f"{slot}.0")
        for number, slot in enumerate(peers)
    )
