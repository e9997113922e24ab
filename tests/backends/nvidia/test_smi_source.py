"""The whole backend over a program that behaves as nvidia-smi does, in good days and bad."""

from pathlib import Path
from typing import Any

import pytest

from accelwatch.backend import Context, Request
from accelwatch.backend.errors import BackendUnavailable
from accelwatch.base.absence import Absence
from accelwatch.base.clock import ManualClock
from accelwatch.base.errors import (
    DeviceLost,
    DevicePermission,
    DeviceSuspended,
    DeviceTimeout,
    ReadError,
)
from accelwatch.schema.device import MemoryKind
from accelwatch.schema.health import NO_DRIVER
from accelwatch_nvidia import NvidiaBackend
from support.machines.nvidia_bus import lay_out_gpu
from support.machines.packed_trees import FakeTree
from support.machines.samples import FIXTURES
from support.processes.waiting import GUARD_S

from .conftest import Rig

GIB = 1 << 30


class Tool:
    """A stand-in nvidia-smi: prints the given answers and counts its runs."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.folder = root / "answers"
        self.folder.mkdir()
        self.program = root / "nvidia-smi"
        self.program.write_text(
            f"""#!/bin/sh
echo "$*" >>{self.folder}/runs
answer=$(echo "$*" | tr ' :' '__')
[ -f "{self.folder}/$answer" ] || answer=-q_-x
[ -f "{self.folder}/$answer.sleep" ] && sleep 30
cat "{self.folder}/$answer" 2>/dev/null
exit $(cat "{self.folder}/$answer.status" 2>/dev/null || echo 0)
"""
        )
        self.program.chmod(0o755)

    def answer(self, output: bytes, arguments: str = "-q -x", status: int = 0) -> "Tool":
        name = arguments.replace(" ", "_").replace(":", "_")
        (self.folder / name).write_bytes(output)
        (self.folder / f"{name}.status").write_text(str(status))
        return self

    def hang(self, arguments: str = "-q -x") -> "Tool":
        self.answer(b"", arguments)
        name = arguments.replace(" ", "_").replace(":", "_")
        (self.folder / f"{name}.sleep").touch()
        return self

    def runs(self) -> list[str]:
        return (self.folder / "runs").read_text().splitlines()

    def open(self, **context: Any) -> NvidiaBackend:
        options = {
            "source": "nvidia-smi",
            "nvidia_smi": str(self.program),
            "nvidia_smi_timeout_s": 0.2 if list(self.folder.glob("*.sleep")) else GUARD_S,
        }
        environ = {"PATH": "/usr/bin:/bin"}
        # On which the devices of a tick share a document however long it takes.
        context.setdefault("clock", ManualClock())
        backend = NvidiaBackend(
            Context(root=self.root, options=options, environ=environ, **context)
        )
        self.opened = backend.open()
        return backend


@pytest.fixture
def tool(tmp_path: Path) -> Tool:
    return Tool(tmp_path)


def fixture(machine: str, name: str = "nvidia-smi.xml") -> bytes:
    return (FIXTURES / "nvidia" / machine / name).read_bytes()


def test_processes_that_are_not_reported_are_absent(tool: Tool) -> None:
    whole = fixture("h100x2")
    start, end = whole.index(b"<processes>"), whole.index(b"</processes>")
    tool.answer(whole[:start] + b"<processes>Insufficient Permissions" + whole[end:])
    backend = tool.open()
    devices = [backend.identify(found)[0] for found in backend.discover()]
    first, second = (backend.read(device, Request())[0] for device in devices)
    assert first.processes is None
    assert first.absent["processes",] is Absence.PERMISSION
    assert second.processes is not None


def test_a_process_whose_pid_cannot_be_read_uses_the_gpu_all_the_same(tool: Tool) -> None:
    whole = fixture("h100x2")
    start, end = whole.index(b"<processes>"), whole.index(b"</processes>")
    row = b"<process_info><pid>ERR!</pid><used_memory>4 MiB</used_memory></process_info>"
    tool.answer(whole[:start] + b"<processes>" + row + whole[end:])
    backend = tool.open()
    device = backend.identify(backend.discover()[0])[0]
    reading = backend.read(device, Request())[0]
    assert (reading.processes, reading.absent["processes",]) == (None, Absence.ERROR)


def test_a_healthy_node_in_one_run(tool: Tool) -> None:
    tool.answer(fixture("h100x2"))
    backend = tool.open()
    assert tool.opened.source == "nvidia-smi"
    assert tool.opened.versions == {"driver": "580.95.05", "cuda": "13.0"}
    devices = [backend.identify(found)[0] for found in backend.discover()]
    assert [device.name for device in devices] == ["nvidia0", "nvidia1"]
    assert devices[1].id == "nvidia:GPU-c0ffee00-0000-4000-8000-000000000002"
    assert devices[1].pci_bus_id == "0000:43:00.0"
    first, second = (backend.read(device, Request())[0] for device in devices)
    assert first.sources == {"*": "nvidia-smi"}
    assert first.values["utilization_ratio",] == 0.97
    assert first.values["memory_used_bytes",] == 60 * GIB
    assert first.values["power_watts",] == 648.31
    assert first.values["throttle_active", "power"] == 1
    assert first.values["throttle_seconds_total", "power"] == 912.345678
    assert first.values["temperature_headroom_celsius",] == 25
    assert first.values["platform_module_info", "2"] == 1
    assert first.values["fabric_state_info", "completed"] == 1
    assert first.values["memory_unrepairable",] == 0
    assert second.values["ecc_errors_total", "uncorrected"] == 1
    assert second.values["ecc_lifetime_errors", "corrected"] == 7
    assert second.values["memory_repair_pending",] == 1
    assert second.values["reset_required",] == 1
    assert second.values["recovery_action_info", "drain_and_reset"] == 1
    assert tool.runs() == ["-q -x", "nvlink -s"]
    assert backend.wait_events(0.01) == ()


def test_processes_show_the_program_never_its_arguments(tool: Tool) -> None:
    tool.answer(fixture("h100x2"))
    backend = tool.open()
    device = backend.identify(backend.discover()[0])[0]
    (process,) = backend.read(device, Request())[0].processes or ()
    assert process.command == "python3"
    assert process.pid_namespace == "foreign"
    assert process.argv is None
    unasked = backend.read(device, Request(processes=False))[0]
    assert unasked.processes is None
    assert unasked.absent["processes",] is Absence.NOT_COLLECTED


def test_a_process_whose_name_agrees_with_proc_is_ours(tool: Tool) -> None:
    for pid, comm in ((1501, "Xorg"), (1777, "bash")):
        folder = tool.root / "proc" / str(pid)
        folder.mkdir(parents=True)
        (folder / "comm").write_text(f"{comm}\n")
    tool.answer(fixture("rtx3090"))
    backend = tool.open()
    device = backend.identify(backend.discover()[0])[0]
    found = backend.read(device, Request())[0].processes or ()
    assert [(process.pid, process.pid_namespace, process.type) for process in found] == [
        (1501, "same", "graphics"),
        (1777, "foreign", "graphics"),
        (9001, "foreign", "compute+graphics"),
    ]
    assert found[2].command == "blender"


def test_mig_instances_take_their_uuid_from_the_list(tool: Tool) -> None:
    tool.answer(fixture("h100-mig")).answer(fixture("h100-mig", "nvidia-smi-L.txt"), "-L")
    backend = tool.open()
    whole, *parts = backend.identify(backend.discover()[0])
    assert whole.partition_mode == "enabled"
    assert [part.id for part in parts] == [
        f"nvidia:MIG-c0ffee00-0000-4000-8000-00000000004{number}" for number in (1, 2, 3)
    ]
    assert [part.partition_profile for part in parts] == ["3g.40gb", "1g.10gb", "1g.10gb"]
    reading, *inner = backend.read(whole, Request())
    assert reading.absent["utilization_ratio",] is Absence.UNSUPPORTED
    assert reading.processes == ()
    assert [part.device_id for part in inner] == [part.id for part in parts]
    assert inner[0].values["memory_used_bytes",] == 20 * GIB
    assert [[p.pid for p in part.processes or ()] for part in inner] == [[31001], [], [31002]]


def test_readings_are_of_the_instances_last_identified(tool: Tool) -> None:
    tool.answer(fixture("h100-mig")).answer(fixture("h100-mig", "nvidia-smi-L.txt"), "-L")
    backend = tool.open(clock=(clock := ManualClock()))
    whole, *parts = backend.identify(backend.discover()[0])
    changed = fixture("h100-mig").replace(
        b"<gpu_instance_id>13</gpu_instance_id>", b"<gpu_instance_id>9</gpu_instance_id>"
    )
    tool.answer(changed.replace(b"<index>2</index>", b"<index>3</index>"))
    clock.advance(1)
    readings = backend.read(whole, Request())
    assert [reading.device_id for reading in readings[1:]] == [part.id for part in parts]
    assert readings[3].absent == {("*",): Absence.LOST}


def test_a_lost_gpu_in_the_document(tool: Tool) -> None:
    tool.answer(fixture("h100x2-lost"))
    backend = tool.open()
    first, second = backend.discover()
    assert backend.read(backend.identify(first)[0], Request())[0].values
    with pytest.raises(DeviceLost):
        backend.identify(second)


def test_one_gpu_that_stops_the_tool_does_not_hide_the_others(tool: Tool, rig: Rig) -> None:
    rig.gpu_on_bus("0000:1b:00.0", "GPU-c0ffee00-0000-4000-8000-000000000001", 0)
    rig.gpu_on_bus("0000:43:00.0", "GPU-c0ffee00-0000-4000-8000-000000000002", 1)
    lost = (
        b"Unable to determine the device handle for GPU 0000:43:00.0: GPU is lost.  "
        b"Reboot the system to recover this GPU\n"
    )
    tool.answer(lost, status=15).answer(lost, "-q -x -i 0000:43:00.0", status=15)
    tool.answer(fixture("h100x2"), "-q -x -i 0000:1b:00.0")
    backend = tool.open()
    first, second = backend.discover()
    device = backend.identify(first)[0]
    assert backend.read(device, Request())[0].values["power_watts",] == 648.31
    with pytest.raises(DeviceLost) as gone:
        backend.identify(second)
    assert gone.value.code == "NVML_ERROR_GPU_IS_LOST"


def test_a_gpu_of_another_container_is_denied_not_lost(tool: Tool, rig: Rig) -> None:
    rig.gpu_on_bus("0000:1b:00.0", "GPU-c0ffee00-0000-4000-8000-000000000001", 0)
    rig.gpu_on_bus("0000:43:00.0", "GPU-c0ffee00-0000-4000-8000-000000000002", 1)
    for name in ("nvidiactl", "nvidia0"):
        rig.tree.write(f"dev/{name}", "")
    text = fixture("h100x2")
    alone = text[: text.index(b'\t<gpu id="00000000:43:00.0">')] + b"</nvidia_smi_log>\n"
    backend = tool.answer(alone).open()
    first, second = backend.discover()
    assert backend.identify(first)
    with pytest.raises(DevicePermission):
        backend.identify(second)
    assert tool.runs() == ["-q -x"]


def test_a_tool_that_never_ends_is_a_timeout(tool: Tool, rig: Rig) -> None:
    rig.gpu_on_bus("0000:1b:00.0", "GPU-c0ffee00-0000-4000-8000-000000000001", 0)
    tool.hang()
    backend = tool.open()
    with pytest.raises(DeviceTimeout):
        backend.identify(backend.discover()[0])


@pytest.mark.parametrize(
    "output",
    [b"", b"garbage " * 1000, b"<nvidia_smi_log><gpu id='0000:1B:00.0'><uuid>GPU-", b"\xff" * 999],
)
def test_an_unusable_document_is_a_typed_error(tool: Tool, rig: Rig, output: bytes) -> None:
    rig.gpu_on_bus("0000:1b:00.0", "GPU-c0ffee00-0000-4000-8000-000000000001", 0)
    backend = tool.answer(output, status=1).open()
    with pytest.raises(ReadError):
        backend.identify(backend.discover()[0])


def test_a_version_mismatch_is_unavailable(tool: Tool) -> None:
    tool.answer(b"Failed to initialize NVML: Driver/library version mismatch\n", status=18)
    with pytest.raises(BackendUnavailable) as refused:
        tool.open()
    assert refused.value.reason == "version_mismatch"


def test_no_tool_is_unavailable(tmp_path: Path) -> None:
    context = Context(root=tmp_path, options={"source": "nvidia-smi"}, environ={"PATH": "/nowhere"})
    with pytest.raises(BackendUnavailable) as refused:
        NvidiaBackend(context).open()
    assert refused.value.reason == "command_not_found"


def test_a_wrong_option_is_named(tool: Tool) -> None:
    options = {"source": "nvidia-smi", "nvidia_smi_timeout_s": "soon"}
    with pytest.raises(BackendUnavailable) as refused:
        NvidiaBackend(Context(root=tool.root, options=options)).open()
    assert "nvidia_smi_timeout_s" in str(refused.value)


def test_a_sleeping_gpu_is_not_woken(tool: Tool, rig: Rig) -> None:
    rig.gpu_on_bus("0000:1b:00.0", "GPU-c0ffee00-0000-4000-8000-000000000001", 0, "suspended")
    backend = tool.answer(fixture("h100x2")).open()
    with pytest.raises(DeviceSuspended):
        backend.identify(backend.discover()[0])
    assert not (tool.folder / "runs").exists()


def test_beside_a_sleeping_gpu_each_is_queried_alone(tool: Tool, rig: Rig) -> None:
    rig.gpu_on_bus("0000:1b:00.0", "GPU-c0ffee00-0000-4000-8000-000000000001", 0)
    rig.gpu_on_bus("0000:43:00.0", "GPU-c0ffee00-0000-4000-8000-000000000002", 1, "suspended")
    backend = tool.answer(fixture("h100x2")).open()
    first, second = backend.discover()
    assert backend.identify(first)[0].serial == "1650099000001"
    with pytest.raises(DeviceSuspended):
        backend.identify(second)
    assert tool.runs() == ["-q -x -i 0000:1b:00.0"]


def test_unified_memory_is_the_hosts(tool: Tool, rig: Rig) -> None:
    rig.tree.write("proc/meminfo", "MemTotal: 1000 kB\nMemAvailable: 400 kB\n")
    text = fixture("rtx3090")
    for amount in (b"24576 MiB", b"401 MiB", b"1311 MiB", b"22864 MiB"):
        text = text.replace(amount, b"N/A")
    backend = tool.answer(text).open()
    device = backend.identify(backend.discover()[0])[0]
    assert device.memory_kind is MemoryKind.SHARED
    reading = backend.read(device, Request())[0]
    assert reading.values["memory_used_bytes",] == 600 * 1024
    assert reading.sources["memory_used_bytes"] == "meminfo"


def test_nvml_that_cannot_start_falls_back_to_the_tool(tool: Tool, rig: Rig) -> None:
    tool.answer(fixture("h100x2"))
    scenario = rig.devices(1).fault("nvmlInit_v2", "error:12")
    options = {"nvidia_smi": str(tool.program)}
    with rig.machine(scenario, options=options, environ={"PATH": "/usr/bin:/bin"}) as machine:
        assert machine.opened.source == "nvidia-smi"
        assert machine.read(0)[0].values["power_watts",] == 648.31


def test_a_gpu_that_no_driver_has_is_a_row_that_says_so(tool: Tool, rig: Rig) -> None:
    rig.gpu_on_bus("0000:18:00.0", "GPU-c0ffee00-0000-4000-8000-000000000001", 0)
    rig.gpu_on_bus("0000:43:00.0", "GPU-c0ffee00-0000-4000-8000-000000000002", 1)
    rig.gpu_on_bus("0000:9d:00.0", "GPU-3", 2)
    (rig.root / "proc/driver/nvidia/gpus/0000:9d:00.0/information").unlink()
    (rig.root / "proc/driver/nvidia/gpus/0000:9d:00.0").rmdir()
    tool.answer(fixture("h100x2"))
    backend = tool.open()
    devices = backend.discover()
    assert [device.name for device in devices] == ["nvidia0", "nvidia1", "nvidia2"]
    with pytest.raises(ReadError, match="no driver has 0000:9d:00.0") as failed:
        backend.identify(devices[2])
    assert failed.value.code == NO_DRIVER


def test_the_reason_of_both_sources_is_reported(
    tool: Tool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """NVML answers 999 at its start, and nvidia-smi has a sentence and status 255."""
    import pynvml

    def unknown() -> None:
        raise pynvml.NVMLError(pynvml.NVML_ERROR_UNKNOWN)

    monkeypatch.setattr(pynvml, "nvmlInit", unknown)
    lay_out_gpu(FakeTree(tool.root), "0000:17:00.0", "GPU-1", 0, "active")
    tool.answer(b"Failed to initialize NVML: Unknown Error\n", status=255)
    backend = NvidiaBackend(
        Context(
            root=tool.root,
            options={"nvidia_smi": str(tool.program)},
            environ={"PATH": "/usr/bin:/bin"},
        )
    )
    backend.open()
    (device,) = backend.discover()
    with pytest.raises(ReadError) as failed:
        backend.identify(device)
    assert "Failed to initialize NVML: Unknown Error (status 255)" in str(failed.value)
    assert "NVML: nvmlInit: NVML_ERROR_UNKNOWN" in str(failed.value)
