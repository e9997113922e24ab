"""nvidia-smi's other questions on the command line: lists of devices and processes."""

import re
import xml.etree.ElementTree as ET
from pathlib import Path

import msgspec
import pytest

from accelwatch.base.absence import Absence
from accelwatch.schema.reading import Process
from accelwatch.schema.snapshot import DeviceView
from accelwatch_nvidia_smi import (
    app_fields,
    compute_apps,
    list_gpus,
    machine_of,
    parse_names,
)
from support.machines.composed import GIB, NOW, device, mig_view, snapshot, view
from support.machines.nvml_stand_ins import NvmlScenario
from support.machines.samples import sample
from support.processes.installed_command import PATIENT
from support.processes.warm_command import accelwatch

MIG_CAPTURE = "nvidia/captures/linux-x86_64__nvidia-h100-mig__590.48.01.txt"
DEFAULT = "timestamp,gpu_name,gpu_bus_id,gpu_serial,gpu_uuid,pid,process_name,used_gpu_memory"


def apps(names: str, *views: DeviceView, units: bool = True) -> list[str]:
    fields = parse_names(names, app_fields(), "--query-compute-apps")
    shown = snapshot(*views)
    table = compute_apps(shown, machine_of(shown), fields, header=True, units=units)
    return table.splitlines()


def running(base: DeviceView, *processes: Process) -> DeviceView:
    reading = msgspec.structs.replace(base.reading, processes=processes)
    return msgspec.structs.replace(base, reading=reading)


def process(pid: int, **changes: object) -> Process:
    whole = Process(device_id="x", pid=pid, command="train", gpu_memory_bytes=2 * GIB)
    return msgspec.structs.replace(whole, **changes)


def test_the_list_has_a_line_a_device_and_one_an_instance() -> None:
    part = mig_view(1, 0)
    part = msgspec.structs.replace(
        part,
        device=msgspec.structs.replace(
            part.device, uuid="MIG-5ca1ab1e-0010-5000-8000-000000000001"
        ),
    )
    shown = snapshot(view(0), part, view(1))
    assert list_gpus(shown, machine_of(shown)) == (
        "GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-00000000-1111-2222-3333-444444444444)\n"
        "  MIG 1g.10gb     Device  1: (UUID: MIG-5ca1ab1e-0010-5000-8000-000000000001)\n"
        "GPU 1: NVIDIA H100 80GB HBM3 (UUID: GPU-00000001-1111-2222-3333-444444444444)\n"
    )


@pytest.mark.oracle
def test_the_list_is_that_of_the_recording() -> None:
    text = sample(MIG_CAPTURE).read_text().split("$ nvidia-smi -L\n")[1].split("\n\n")[0] + "\n"
    recorded = re.findall(r"^(?:GPU \d+: .*|  MIG .*)\n", text, flags=re.MULTILINE)
    uuid = re.findall(r"UUID: ([^)]+)", "".join(recorded))
    profiles = re.findall(r"MIG (\S+)", "".join(recorded))
    whole = device(0, uuid=uuid[0], partition_mode="enabled")
    parts = [
        msgspec.structs.replace(
            mig_view(n, 0).device, parent_id=whole.id, uuid=uuid[n + 1], partition_profile=profile
        )
        for n, profile in enumerate(profiles)
    ]
    views = [msgspec.structs.replace(view(0), device=one) for one in (whole, *parts)]
    shown = snapshot(*views)
    assert list_gpus(shown, machine_of(shown)) == "".join(recorded)


def test_computing_processes_are_reported_with_the_whole_device() -> None:
    part = running(mig_view(1, 0), process(7))
    drawing = process(8, type="graphics")
    both = process(9, type="compute+graphics", command=None, gpu_memory_bytes=None)
    rows = apps("gpu_uuid,pid,name,used_memory", running(view(0), drawing, both), part)
    uuid = "GPU-00000000-1111-2222-3333-444444444444"
    assert rows == [
        "gpu_uuid, pid, process_name, used_gpu_memory [MiB]",
        f"{uuid}, 9, [Not Found], [N/A]",
        f"{uuid}, 7, train, 2048 MiB",
    ]


def test_what_is_denied_of_a_process_is_reported_as_denied() -> None:
    absent = {"command": Absence.PERMISSION, "gpu_memory_bytes": Absence.PERMISSION}
    hidden = process(7, command=None, gpu_memory_bytes=None, absent=absent)
    rows = apps("pid,process_name,used_gpu_memory", running(view(0), hidden))
    assert rows[1] == "7, [Insufficient Permissions], [Insufficient Permissions]"


def test_units_are_left_out_of_cells_and_stay_in_titles() -> None:
    rows = apps("used_gpu_memory,timestamp", running(view(0), process(7)), units=False)
    assert rows[0] == "used_gpu_memory [MiB], timestamp"
    assert re.fullmatch(r"2048, 20\d\d/\d\d/\d\d \d\d:\d\d:\d\d\.000", rows[1])
    assert int(NOW) == NOW


def test_a_line_break_in_a_name_makes_no_second_row() -> None:
    rows = apps("pid,process_name", running(view(0), process(7, command="a\n1, b\u2028c")))
    assert rows == ["pid, process_name", "7, a 1, b c"]


@pytest.mark.oracle
def test_the_title_is_that_of_the_recording() -> None:
    text = sample(MIG_CAPTURE).read_text()
    query = re.search(r"--query-compute-apps=(\S+)", text)
    assert query is not None
    assert query[1] == DEFAULT
    assert f"\n{apps(DEFAULT)[0]}\n" in text


@pytest.fixture
def node(tmp_path: Path) -> NvmlScenario:
    scenario = NvmlScenario.of(tmp_path / "s.scenario", "h100x8")
    scenario.write()
    return scenario


def test_the_commands_answer_through_the_library(node: NvmlScenario) -> None:
    environ = node.environment()
    listed = accelwatch("-L", "-i", "2", *PATIENT, environ=environ)
    assert (listed.returncode, listed.stderr) == (0, "")
    assert re.fullmatch(r"GPU 2: NVIDIA H100 80GB HBM3 \(UUID: GPU-\S+\)\n", listed.stdout)
    drawn = accelwatch("-q", "-x", "-i", "3", *PATIENT, environ=environ)
    assert (drawn.returncode, drawn.stderr) == (0, "")
    root = ET.fromstring(drawn.stdout)
    assert root.findtext("attached_gpus") == "8"
    (gpu,) = root.findall("gpu")
    power = [
        gpu.findtext(f"gpu_power_readings/{name}power_draw")
        for name in ("", "average_", "instant_")
    ]
    assert power == ["629.45 W", "629.45 W", "588.39 W"]
    query = "index,power.draw,clocks_event_reasons.active,clocks_event_reasons.supported"
    table = accelwatch(
        f"--query-gpu={query}", "--format=csv,noheader", "-i", "1", *PATIENT, environ=environ
    )
    assert table.stdout == "1, 629.45 W, 0x0000000000000000, 0x00000000000001FF\n"
    combined = accelwatch("-qx", "-i", "3", *PATIENT, environ=environ)
    assert combined.stdout.count("<gpu ") == 1


def test_help_lists_the_fields_of_processes() -> None:
    run = accelwatch("--query-compute-apps=help")
    assert run.stdout.splitlines()[-2:] == [
        "used_gpu_memory [MiB]",
        "used_memory [MiB]  same as used_gpu_memory",
    ]


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ("-q", "-q needs -x (XML); or use --json"),
        ("-x", "-x goes with -q: write -q -x"),
        ("-L -q -x", "-L and -q -x are two questions; ask one of them"),
        (
            "--query-gpu name --query-compute-apps pid",
            "--query-gpu and --query-compute-apps are two questions; ask one of them",
        ),
        ("-L --format csv", "--format does not go with -L; leave it out"),
        ("-L --json", "--json and -L contradict each other; leave one of them out"),
        (
            "--query-gpu name --fields name",
            "--fields and --query-gpu contradict each other; leave one of them out",
        ),
        ("--query-compute-apps pid --format noheader", "--query-compute-apps needs --format=csv"),
        ("--query-compute-apps pidd", "did you mean pid? (--query-compute-apps=help lists them)"),
    ],
)
def test_contradictions_are_exit_2_and_say_the_mend(words: str, complaint: str) -> None:
    run = accelwatch(*words.split())
    assert (run.returncode, run.stdout) == (2, "")
    assert complaint in run.stderr
    assert run.stderr.count("\n") == 1


def test_numbers_mean_the_dialect_s_own(tmp_path: Path) -> None:
    del tmp_path
    query = ("--replay", "demo", "--query-gpu=index,name", "--format=csv,noheader", *PATIENT)
    rows = accelwatch(*query, "-i", "0,9").stdout.splitlines()
    assert rows == ["0, NVIDIA H100 80GB HBM3", "9, AMD Instinct MI300X"]
    every = accelwatch(*query).stdout.splitlines()
    assert [row.split(",")[0] for row in every] == [str(number) for number in range(14)]
    missing = accelwatch(*query, "-i", "14")
    assert missing.returncode == 4
    assert "no device '14'; there are: 0, 1, 2" in missing.stderr
