"""The /proc and /sys files of GPUs that the nvidia driver holds."""

from collections.abc import Mapping

from accelwatch.schema.device import normal_pci_bus_id
from support.machines.packed_trees import FakeTree


def lay_out_gpu(
    tree: FakeTree,
    bus: str,
    uuid: str,
    minor: int,
    status: str = "active",
    *,
    numa_node: int = 0,
    more: Mapping[str, str] | None = None,
) -> None:
    """One GPU: its state of power management at run time, and more rows of its information."""
    bus = normal_pci_bus_id(bus)
    rows = {
        "Model": "NVIDIA H100 80GB HBM3",
        "GPU UUID": uuid,
        "Bus Location": bus,
        "Device Minor": str(minor),
        **(more or {}),
    }
    text = "".join(f"{name}: \t {value}\n" for name, value in rows.items())
    tree.write(f"proc/driver/nvidia/gpus/{bus}/information", text)
    folder = f"sys/bus/pci/devices/{bus}"
    tree.write(f"{folder}/power/runtime_status", f"{status}\n")
    tree.write(f"{folder}/vendor", "0x10de\n")
    tree.write(f"{folder}/device", "0x2330\n")
    tree.write(f"{folder}/class", "0x030200\n")
    tree.write(f"{folder}/numa_node", f"{numa_node}\n")
