"""Jetson modules: a device tree, nvgpu's folder, thermal zones, monitors of rails and a fan."""

import contextlib
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

from accelwatch.schema.device import Device
from accelwatch_jetson import JetsonBackend
from support.machines.packed_trees import FakeTree
from support.machines.staged_machines import FixtureMachine, Stage
from support.processes.shell_scripts import script

GPU = "sys/devices/platform/bus@0/17000000.gpu"
_DEVFREQ = "sys/class/devfreq/17000000.gpu"
_RAILS = "sys/class/hwmon/hwmon1"
_ZONE = "sys/class/thermal/thermal_zone"

# Composed; load and temperatures are of a recorded machine.
ORIN: Mapping[str, str] = {
    "proc/device-tree/compatible": "nvidia,p3737-0000+p3701-0005\0nvidia,p3701-0005\0nvidia,tegra234\0",
    "proc/device-tree/model": "NVIDIA Jetson AGX Orin Developer Kit\0",
    "proc/device-tree/serial-number": "1420000000001\0",
    "proc/meminfo": "MemTotal:       64325632 kB\nMemFree:  100 kB\nMemAvailable:   43187200 kB\n",
    "etc/nv_tegra_release": "# R36 (release), REVISION: 4.3, GCID: 1, BOARD: generic, EABI: aarch64\n",
    "dev/nvgpu/igpu0/ctrl": "",
    f"{GPU}/load": "774",
    f"{_DEVFREQ}/cur_freq": "918000000",
    f"{_DEVFREQ}/max_freq": "1300500000",
    f"{_DEVFREQ}/min_freq": "306000000",
    "sys/class/devfreq/15480000.nvdec/cur_freq": "115200000",
    f"{_ZONE}0/type": "cpu-thermal",
    f"{_ZONE}0/temp": "53968",
    f"{_ZONE}1/type": "gpu-thermal",
    f"{_ZONE}1/temp": "51312",
    f"{_ZONE}1/trip_point_0_type": "critical",
    f"{_ZONE}1/trip_point_0_temp": "104500",
    f"{_ZONE}1/trip_point_1_type": "passive",
    f"{_ZONE}1/trip_point_1_temp": "99000",
    f"{_ZONE}1/trip_point_2_type": "active",
    f"{_ZONE}1/trip_point_2_temp": "51000",
    f"{_ZONE}5/type": "soc0-thermal",
    f"{_ZONE}5/temp": "54812",
    f"{_ZONE}6/type": "soc1-thermal",
    f"{_ZONE}6/temp": "55500",
    f"{_ZONE}8/type": "tj-thermal",
    f"{_ZONE}8/temp": "55500",
    f"{_RAILS}/name": "ina3221",
    f"{_RAILS}/in1_label": "VDD_GPU_SOC",
    f"{_RAILS}/in1_input": "19000",
    f"{_RAILS}/curr1_input": "500",
    f"{_RAILS}/in2_label": "VDD_CPU_CV",
    f"{_RAILS}/in2_input": "19000",
    f"{_RAILS}/curr2_input": "172",
    f"{_RAILS}/in3_label": "NC",
    f"{_RAILS}/in7_label": "sum of shunt voltages",
    "sys/class/hwmon/hwmon2/name": "pwmfan",
    "sys/class/hwmon/hwmon2/pwm1": "51",
    "sys/class/hwmon/hwmon3/name": "pwm_tach",
    "sys/class/hwmon/hwmon3/rpm": "1480",
}

_TX2_RAILS = "sys/bus/i2c/drivers/ina3221x/0-0040/iio:device0"
# An older module with a load beyond its scale, a GPU sensor that is off and half of /proc/meminfo.
TX2: Mapping[str, str] = {
    "proc/device-tree/compatible": "nvidia,p2771-0000\0nvidia,tegra186\0",
    "proc/device-tree/model": "quill\0",
    "proc/meminfo": "MemTotal:        8042496 kB\n",
    "etc/nv_tegra_release": "# something else\n",
    "dev/nvhost-gpu": "",
    "sys/devices/gpu.0/load": "1001",
    "sys/class/devfreq/17000000.gp10b/cur_freq": "-1",
    "sys/class/devfreq/17000000.gp10b/max_freq": "1300500000",
    f"{_ZONE}0/type": "GPU-therm",
    f"{_ZONE}0/temp": "-256000",
    f"{_ZONE}1/type": "PMIC-Die",
    f"{_ZONE}1/temp": "100000",
    f"{_ZONE}2/type": "Tboard_tegra",
    f"{_ZONE}2/temp": "29000",
    f"{_TX2_RAILS}/rail_name_0": "VDD_SYS_GPU",
    f"{_TX2_RAILS}/in_power0_input": "152",
    f"{_TX2_RAILS}/in_current0_input": "8",
    f"{_TX2_RAILS}/in_voltage0_input": "N/A",
}

# A module that says next to nothing.
MUTE: Mapping[str, str] = {
    "proc/device-tree/compatible": "nvidia,tegra194\0",
    "sys/devices/platform/17000000.gv11b/load": "",
    f"{_ZONE}0/type": "GPU-therm",
    f"{_RAILS}/name": "ina3221",
    f"{_RAILS}/in1_label": "GPU",
    f"{_RAILS}/in1_input": "",
    f"{_RAILS}/curr1_input": "120",
}

# Composed after lines of JetPack 7.
LINE = (
    "07-25-2026 09:08:28 RAM 20642/62817MB (lfb 1x2MB) SWAP 0/31408MB (cached 0MB) "
    "CPU [23%@2201,off,4%@2201] EMC_FREQ 3%@3199 GR3D_FREQ 12%@[1300,1300] NVENC0 off NVDEC0 40%@793 "
    "NVJPG0 off NVJPG1 115 VIC 9%@601 OFA off NVDLA0 off NVDLA1 off PVA0_FREQ off APE 174 "
    "cpu@52.9C/52.9C soc0@49.5C/49.5C gpu@47.6C/47.6C tboard@31.5C/31.5C "
    "VDD_GPU_SOC 5139mW/5139mW/5139mW VIN_SYS_5V0 5500mW/5500mW/5500mW"
)
# As nvmap lists them below debugfs.
CLIENTS = """CLIENT                        PROCESS      PID        SIZE
user                       python3     4242     524288K
user              Compositor Thr      4300       6372K
user                       python3     4242        128K
kernel                      kernel        0       1024K
total                                          531812K
"""
GARBAGE = "head -c 300 /dev/zero; echo; exec sleep 60"
PRINT_AND_WAIT = "cat %s; exec sleep 60"


def lay_out(root: Path, files: Mapping[str, str]) -> None:
    """The files of a module."""
    tree = FakeTree(root)
    for path, content in files.items():
        tree.write(path, content.encode())


def lay_out_tegrastats(root: Path, text: str) -> str:
    """A tegrastats of these shell lines; `%s` is a file that has the line."""
    at = root / "line.txt"
    at.write_text(f"{LINE}\n")
    return script(root / "usr/bin/tegrastats", text.replace("%s", str(at)))


@contextlib.contextmanager
def stage(
    folder: Path, files: Mapping[str, str], tegrastats: str = "", *, answers: bool = False
) -> Iterator[Stage]:
    """The module; nvgpu can be unloaded. A tegrastats that `answers` is waited for at each read."""
    lay_out(folder, files)
    if tegrastats:
        lay_out_tegrastats(folder, tegrastats)
    staged = Stage(JetsonBackend, folder, one_shot=answers)

    def remove(device: Device) -> None:
        for path in files:
            if path.endswith("/load"):
                shutil.rmtree((folder / path).parent)

    staged.remove = remove
    yield staged


def _machine(name: str, healthy: bool, files: Mapping[str, str]) -> FixtureMachine:
    can, finding = frozenset({"devices", "removable", "files"}), frozenset({"compatible"})
    name = f"jetson-{name}"
    return FixtureMachine(name, "nvidia", healthy, lambda at: stage(at, files), can, finding)


def _with_tegrastats(
    name: str, healthy: bool, text: str, *, answers: bool = False
) -> FixtureMachine:
    files = {**ORIN, "sys/kernel/debug/nvmap/iovmm/clients": CLIENTS}
    can = frozenset({"devices", "removable"})
    return FixtureMachine(
        f"jetson-{name}", "nvidia", healthy, lambda at: stage(at, files, text, answers=answers), can
    )


MACHINES = (
    _machine("agx-orin", True, ORIN),
    _machine("tx2-bad-day", False, TX2),
    _machine("xavier-mute", False, MUTE),
    _with_tegrastats("orin-tegrastats", True, PRINT_AND_WAIT, answers=True),
    _with_tegrastats("orin-tegrastats-dies", False, "echo 'needs root' >&2; exit 1"),
    _with_tegrastats("orin-tegrastats-garbage", False, GARBAGE, answers=True),
    _with_tegrastats("orin-tegrastats-hangs", False, "exec sleep 60"),
)
