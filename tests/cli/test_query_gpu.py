"""The nvidia-smi dialect: names, aliases, units and tokens, against a recording and on other vendors."""

from pathlib import Path

import msgspec
import pytest

from accelwatch.errors import UsageError
from accelwatch.schema.absence import Absence
from accelwatch.schema.reading import Reading
from accelwatch.schema.snapshot import DeviceView
from accelwatch_nvidia_smi import parse_fields, parse_format, render
from accelwatch_nvidia_smi.fields import query_fields
from installed_command import accelwatch
from machines import GIB, device, lost_view, mig_view, snapshot, view
from samples import sample
from standins import NvmlScenario

CAPTURE = "nvidia/captures/linux-x86_64__nvidia-h100-80gb-hbm3__590.48.01.txt"


def answer(text: str, *views: DeviceView, header: bool = True, units: bool = True) -> list[str]:
    return render(snapshot(*views), parse_fields(text), header=header, units=units).splitlines()


def test_header_and_row_as_nvidia_smi_writes_them() -> None:
    asked = "index,gpu_name,memory.used,utilization.gpu,power.draw,clocks.gr,pstate,temperature.gpu"
    assert answer(asked, view(0)) == [
        "index, name, memory.used [MiB], utilization.gpu [%], power.draw [W], "
        "clocks.current.graphics [MHz], pstate, temperature.gpu",
        "0, NVIDIA H100 80GB HBM3, 62464 MiB, 97 %, 642.12 W, 1980 MHz, P0, 61",
    ]


def test_noheader_and_nounits() -> None:
    asked = "memory.total,power.limit"
    assert answer(asked, view(0), header=False, units=False) == ["81920, [N/A]"]
    assert answer(asked, view(0), units=False)[0] == "memory.total, power.limit"


def test_faults_are_told_apart_from_what_is_not_there() -> None:
    denied = msgspec.structs.replace(
        view(1), reading=Reading(device_id="x", absent={("*",): Absence.PERMISSION})
    )
    broken = msgspec.structs.replace(
        view(2), reading=Reading(device_id="x", absent={("power_watts",): Absence.ERROR})
    )
    assert answer("power.draw,fan.speed", view(0), denied, broken, lost_view(3), header=False) == [
        "642.12 W, [N/A]",
        "[Insufficient Permissions], [Insufficient Permissions]",
        "[Unknown Error], [N/A]",
        "[GPU is lost], [GPU is lost]",
    ]


def test_partitions_are_no_lines_of_their_own() -> None:
    assert answer("count,index", view(0), mig_view(1, 0), header=False) == ["1, 0"]


def test_bus_ids_are_written_long_and_in_capitals() -> None:
    assert answer("pci.bus_id,pci.domain,pci.bus,pci.device", view(2), header=False) == [
        "00000000:1A:00.0, 0x0000, 0x1A, 0x00"
    ]


def test_other_vendors_answer_the_same_words() -> None:
    instinct = device(0, vendor="amd", id="amd:x", model="AMD Instinct MI300X", uuid=None)
    values = {
        ("utilization_ratio",): 0.5,
        ("memory_size_bytes",): 192 * GIB,
        ("temperature_celsius", "junction"): 71.4,
        ("power_watts",): 1050.0,
    }
    one = msgspec.structs.replace(
        view(0), device=instinct, reading=Reading(device_id="amd:x", values=values)
    )
    asked = "name,uuid,utilization.gpu,memory.total,temperature.gpu,power.draw"
    assert answer(asked, one, header=False) == [
        "AMD Instinct MI300X, [N/A], 50 %, 196608 MiB, 71, 1050.00 W"
    ]


def test_a_field_that_is_not_one_names_the_nearest() -> None:
    with pytest.raises(UsageError, match="'utilisation.gpu' is not a field.*utilization.gpu"):
        parse_fields("utilisation.gpu")
    with pytest.raises(UsageError, match="needs --format=csv"):
        parse_format("noheader")


@pytest.mark.oracle
def test_every_field_of_the_recorded_help_is_known() -> None:
    text = sample(CAPTURE).read_text()
    start = text.index("# $ nvidia-smi --query-gpu=") + len("# $ nvidia-smi --query-gpu=")
    names = text[start : text.index(" --format=csv", start)].split(",")
    unknown = [name for name in names if name not in query_fields()]
    assert len(names) > 180
    assert all(
        name.startswith(("vgpu_", "power_smoothing", "edpp", "fabric.health")) for name in unknown
    )


@pytest.mark.oracle
def test_headers_are_those_of_the_recording() -> None:
    text = sample(CAPTURE).read_text()
    start = text.index("\ntimestamp, driver_version,") + 1
    recorded = text[start : text.index("\n", start)].split(", ")
    by_name = {title.partition(" [")[0]: title for title in recorded}
    for name, field in query_fields().items():
        if name == field.names[0] and name in by_name:
            assert answer(name, view(0))[0] == by_name[name]


def test_a_driver_that_will_not_start_is_told_on_stderr(tmp_path: Path) -> None:
    scenario = NvmlScenario.of(tmp_path / "node.scenario", "h100x8")
    scenario.fault("nvmlInit_v2", "error:9")
    scenario.write()
    run = accelwatch("--query-gpu=index", "--format=csv", environ=scenario.environment())
    assert (run.returncode, run.stdout) == (1, "index\n")
    assert run.stderr.startswith("accelwatch: nvidia: ")
    assert run.stderr.count("\n") == 1


def test_the_command_answers_through_the_library(tmp_path: Path) -> None:
    scenario = NvmlScenario.of(tmp_path / "s.scenario", "h100x8")
    scenario.write()
    run = accelwatch(
        "--query-gpu=index,name,power.limit,ecc.mode.current,mig.mode.current",
        "--format=csv,noheader,nounits",
        "-i",
        "0,1",
        environ=scenario.environment(),
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.splitlines() == [
        "0, NVIDIA H100 80GB HBM3, 700.00, Enabled, Disabled",
        "1, NVIDIA H100 80GB HBM3, 700.00, Enabled, Disabled",
    ]
