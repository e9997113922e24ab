"""Trees of Warboy's driver: composed ones, and the vendor's own."""

import json
from pathlib import Path

from support.machines.packed_trees import FakeTree
from support.machines.samples import sample

MGMT = "sys/devices/virtual/npu_mgmt"
CLASS = "sys/class/npu_mgmt"
FILES = {
    "alive": "1\n",
    "atr_error": "AXI Post Error: 0\nAXI Fetch Error: 0\nAXI Doorbell done: 0\nDevice Error: 0\n",
    "dev": "510:0\n",
    "device_type": "Warboy\n",
    "fw_version": "1.6.0, 0000000\n",
    "heartbeat": "42\n",
    "platform_type": "FuriosaAI\n",
    "version": "1.9.2, 0000000\n",
}
SENSORS = {
    "temp1_label": "AMBIENT\n",
    "temp1_input": "41500\n",
    "temp2_label": "PEAK\n",
    "temp2_input": "54250\n",
    "temp3_label": "NE\n",
    "temp3_input": "49000\n",
    "power1_label": "RMS_TOTAL\n",
    "power1_average": "9870000\n",
    "in0_label": "NE\n",
    "in0_input": "752\n",
    "curr1_input": "1300\n",
}


def regs(busy: int, every: int) -> str:
    """A file of counters: cycles with a task, and all."""
    return (
        f"ProgramCounter: 0x10b74\nTaskExecutionTime: {busy % (1 << 32):#x}\n"
        f"TensorExecutionTime: 0x0\nCycleCount: {every % (1 << 32):#x}\n"
        f"CycleCountHigh: {every >> 32:#x}\n"
    )


def lay_out_card(root: Path, number: int, bus: str, **files: str) -> None:
    """A card with its sensors, two cores and their node; `files` of the driver stand for others."""
    tree, folder = FakeTree(root), f"npu{number}_mgmt"
    own = {"busname": f"{bus}\n", "device_uuid": f"5CA1AB1E-0000-4000-8000-00000000000{number}\n"}
    own["device_sn"] = f"WBYB000000000000{number}\n"
    for file, text in {**FILES, **own, **files}.items():
        tree.write(f"{MGMT}/{folder}/{file}", text)
    tree.link(f"{CLASS}/{folder}", f"{MGMT}/{folder}")
    for file, text in SENSORS.items():
        tree.write(f"sys/bus/pci/devices/{bus}/hwmon/hwmon{number}/{file}", text)
    for node in (f"npu{number}", folder, f"npu{number}pe0", f"npu{number}pe1"):
        tree.write(f"dev/{node}", "")


def write_regs(root: Path, name: str, text: str) -> None:
    """The counters of `npu0pe0-1`."""
    FakeTree(root).write(f"{CLASS}/{name}/perf_regs", text)


def lay_out_recorded(root: Path) -> None:
    """The vendor's test data: paths, labels and forms are real, what the sensors say is not."""
    tree = FakeTree(root)
    files = json.loads(sample("furiosa/sysfs/warboy_test0.json").read_text())["files"]
    for path, content in files.items():
        if path.endswith("_mgmt"):
            tree.link(path, str(Path("sys", content.removeprefix("../../"))))
        else:
            tree.write(path, content)
