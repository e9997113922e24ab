"""The nvidia-smi dialect: names, aliases, units and tokens, against a recording and on other vendors."""

import re
from pathlib import Path

import msgspec
import pytest

from accelwatch.base.absence import Absence
from accelwatch.base.errors import UnmetError, UsageError
from accelwatch.schema.catalogue.lookup import opt_in_groups
from accelwatch.schema.device import Device
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Number, Reading
from accelwatch.schema.snapshot import DeviceView
from accelwatch_nvidia.smi import document as smi_document
from accelwatch_nvidia.smi import identity as smi_identity
from accelwatch_nvidia.smi import mapping as smi_mapping
from accelwatch_nvidia_smi import (
    app_fields,
    machine_of,
    needed_groups,
    numbered,
    parse_format,
    parse_names,
    query_fields,
    query_gpu,
)
from support.machines import smi_pages
from support.machines.composed import GIB, device, lost_view, mig_view, snapshot, view
from support.machines.nvml_stand_ins import NvmlScenario
from support.machines.samples import sample
from support.processes.installed_command import PATIENT
from support.processes.warm_command import accelwatch

CAPTURES = [
    f"nvidia/captures/{name}.txt"
    for name in (
        "linux-x86_64__nvidia-geforce-rtx-2080-super__595.71.05",
        "linux-x86_64__nvidia-geforce-rtx-2080-super__610.57.04",
        "linux-x86_64__nvidia-h100-80gb-hbm3__590.48.01",
        "linux-x86_64__nvidia-h100-mig__590.48.01",
        "linux-x86_64__nvidia-l40s__595.80",
        "windows-x86_64__nvidia-geforce-rtx-2080-super__591.86",
    )
]


def answer(text: str, *views: DeviceView, header: bool = True, units: bool = True) -> list[str]:
    shown = snapshot(*views)
    fields = parse_names(text, query_fields(), "--query-gpu")
    table = query_gpu(shown, machine_of(shown), fields, header=header, units=units)
    return table.splitlines()


def changed(
    base: DeviceView,
    values: dict[Series, Number],
    absent: dict[Series, Absence] | None = None,
) -> DeviceView:
    """The device with other values of the quantities that are named."""
    keys = {series[0] for series in values}
    kept = {s: value for s, value in base.reading.values.items() if s[0] not in keys}
    reading = Reading(device_id="x", values=kept | values, absent=absent or {})
    return msgspec.structs.replace(base, reading=reading)


def cell(field: str, one: DeviceView) -> str:
    """The answer of one device to one field."""
    return answer(field, one, header=False)[0]


def test_header_and_row_as_nvidia_smi_writes_them() -> None:
    query = "index,gpu_name,memory.used,utilization.gpu,power.draw,clocks.gr,pstate,temperature.gpu"
    assert answer(query, view(0)) == [
        "index, name, memory.used [MiB], utilization.gpu [%], power.draw [W], "
        "clocks.current.graphics [MHz], pstate, temperature.gpu",
        "0, NVIDIA H100 80GB HBM3, 62464 MiB, 97 %, 642.12 W, 1980 MHz, P0, 61",
    ]


def test_noheader_and_nounits() -> None:
    query = "memory.total,power.limit"
    assert answer(query, view(0), header=False, units=False) == ["81920, [N/A]"]
    assert answer(query, view(0), units=False)[0] == "memory.total [MiB], power.limit [W]"


def test_faults_are_distinguished_from_what_is_not_there() -> None:
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
    query = "name,uuid,utilization.gpu,memory.total,temperature.gpu,power.draw"
    assert answer(query, one, header=False) == [
        "AMD Instinct MI300X, [N/A], 50 %, 196608 MiB, 71, 1050.00 W"
    ]


def test_a_field_that_is_not_one_names_the_nearest() -> None:
    with pytest.raises(UsageError, match="'utilisation.gpu' is not a field.*utilization.gpu"):
        answer("utilisation.gpu")
    with pytest.raises(UsageError, match="needs --format=csv"):
        parse_format("noheader", "--query-gpu")


def test_a_field_that_is_not_read_is_no_mistake() -> None:
    names = (
        "edpp_multiplier,fabric.health.partition_assigned,kmd_version,bbx.time_run,gpu.base.max,"
        "compute_cap,power_smoothing.curr_profile.ramp_up_rate,index"
    )
    assert answer(names, view(0)) == [
        "edpp_multiplier [%], fabric.health.partition_assigned, kmd_version, bbx.time_run [seconds], "
        "gpu.base.max [W], compute_cap, "
        "power_smoothing.curr_profile.ramp_up_rate [W/s], index",
        "[N/A], N/A, 590.48.01, [N/A], [N/A], [N/A], [N/A], 0",
    ]


def test_two_names_of_the_link_generation_stay_two() -> None:
    names = "pcie.link.gen.current,pcie.link.gen.gpucurrent,pcie.link.gen.max,pcie.link.gen.gpumax"
    title, cells = answer(names, view(0))
    assert title == names.replace(",", ", ")
    assert cells == "5, 5, 5, [N/A]"


ALL_REASONS = {
    "clock_setting": "0x0000000000000002",
    "power": "0x0000000000000004",
    "sync_boost": "0x0000000000000010",
    "thermal_software": "0x0000000000000020",
    "thermal_hardware": "0x0000000000000048",
    "power_brake": "0x0000000000000088",
    "other": "0x0000000000000008",
}


@pytest.mark.parametrize("active", [*ALL_REASONS, ""])
def test_each_clock_event_has_its_bits(active: str) -> None:
    values: dict[Series, Number] = {
        ("throttle_active", reason): int(reason == active) for reason in ALL_REASONS
    }
    one = changed(view(0), values)
    mask = ALL_REASONS.get(active, "0x0000000000000000")
    assert cell("clocks_event_reasons.active", one) == mask
    assert cell("clocks_throttle_reasons.active", one) == mask
    slowed = active in ("thermal_hardware", "power_brake", "other")
    word = "Active" if slowed else "Not Active"
    assert cell("clocks_event_reasons.hw_slowdown", one) == word


@pytest.mark.parametrize(("idle", "mask", "word"), [(1, "1", "Active"), (0, "0", "Not Active")])
def test_idle_is_the_lowest_bit(idle: int, mask: str, word: str) -> None:
    one = changed(view(0), {("clocks_idle",): idle, ("throttle_active", "power"): 0})
    assert cell("clocks_event_reasons.active", one) == "0x" + mask.rjust(16, "0")
    assert cell("clocks_event_reasons.gpu_idle", one) == word
    assert cell("clocks_event_reasons.supported", one) == "0x0000000000000005"


def test_all_reasons_of_nvml_are_supported_where_all_are_known() -> None:
    values: dict[Series, Number] = {("throttle_active", reason): 0 for reason in ALL_REASONS}
    one = changed(view(0), {**values, ("clocks_idle",): 0})
    assert cell("clocks_event_reasons.supported", one) == "0x00000000000001FF"


def test_an_unnamed_reason_of_another_vendor_is_no_hardware_slowdown() -> None:
    amd = msgspec.structs.replace(view(0), device=device(0, vendor="amd"))
    one = changed(amd, {("throttle_active", "other"): 1})
    assert cell("clocks_event_reasons.active", one) == "0x0000000000000000"
    assert cell("clocks_event_reasons.hw_slowdown", one) == "[N/A]"


def test_no_reason_that_is_known_is_no_mask() -> None:
    silent = msgspec.structs.replace(view(0), reading=Reading(device_id="x"))
    names = "clocks_event_reasons.active,clocks_event_reasons.supported"
    assert cell(names, silent) == "[N/A], [N/A]"


def test_power_is_the_average_where_there_is_one() -> None:
    names = "power.draw,power.draw.average,power.draw.instant"
    both = changed(view(0), {("power_watts",): 642.5, ("power_average_watts",): 600.25})
    assert cell(names, both) == "600.25 W, 600.25 W, 642.50 W"
    older = changed(view(0), {("power_watts",): 39.17})
    assert cell(names, older) == "39.17 W, [N/A], 39.17 W"


def test_free_memory_is_what_neither_use_nor_reservation_take() -> None:
    mib = GIB >> 10
    values: dict[Series, Number] = {
        ("memory_size_bytes",): 1000 * mib,
        ("memory_used_bytes",): 600 * mib,
        ("memory_reserved_bytes",): 30 * mib,
    }
    assert cell("memory.free", changed(view(0), values)) == "370 MiB"
    over = {**values, ("memory_used_bytes",): 990 * mib}
    assert cell("memory.free", changed(view(0), over)) == "0 MiB"
    for missing in ("memory_size_bytes", "memory_used_bytes"):
        left = {series: value for series, value in values.items() if series != (missing,)}
        bare = msgspec.structs.replace(view(0), reading=Reading(device_id="x", values=left))
        assert cell("memory.free", bare) == "[N/A]"


@pytest.mark.parametrize(
    ("key", "cells"),
    [
        ("memory_retired_pages", "Yes, [N/A]"),
        ("memory_remapped_rows", "[N/A], Yes"),
        ("", "[N/A], [N/A]"),
    ],
)
def test_a_pending_repair_is_reported_in_the_part_s_own_way(key: str, cells: str) -> None:
    values: dict[Series, Number] = {("memory_repair_pending",): 1}
    if key:
        values[key, "uncorrected"] = 3
    one = msgspec.structs.replace(view(0), reading=Reading(device_id="x", values=values))
    assert cell("retired_pages.pending,remapped_rows.pending", one) == cells


def test_what_a_query_needs_is_read() -> None:
    def groups(names: str) -> frozenset[str]:
        return needed_groups(parse_names(names, query_fields(), "--query-gpu"))

    assert groups("power.draw") == {"components"}
    assert groups("clocks_event_reasons.active,index") == {"clocks"}
    assert groups("ecc.errors.corrected.volatile.dram") == {"ecc"}
    assert groups("name,temperature.gpu,edpp_multiplier") == frozenset()


def test_numbers_are_one_for_each_device_and_nvidia_keeps_its_own() -> None:
    amd = [
        msgspec.structs.replace(
            view(n), device=device(n, vendor="amd", id=f"amd:{n}", name=f"amd{n}", model="MI300X")
        )
        for n in (0, 1)
    ]
    rows = answer("index,name", *amd, view(1), view(3), header=False)
    assert rows == [
        "1, NVIDIA H100 80GB HBM3",
        "3, NVIDIA H100 80GB HBM3",
        "4, MI300X",
        "5, MI300X",
    ]
    machine = machine_of(snapshot(*amd, view(1), view(3)))
    assert numbered(("5", "01", "amd:0"), machine) == ("amd:1", view(1).device.id, "amd:0")
    with pytest.raises(UnmetError, match="no device '2'; there are: 1, 3, 4, 5"):
        numbered(("2",), machine)


def captured(text: str) -> list[tuple[list[str], list[str]]]:
    """(titles, cells) of each answer to --query-gpu in a captured session."""
    lines = [line.rstrip("\r") for line in text.split("\n")]
    starts = [n for n, line in enumerate(lines) if line.startswith("timestamp, driver_version, ")]
    return [(lines[n].split(", "), lines[n + 1].split(", ")) for n in starts]


@pytest.mark.oracle
@pytest.mark.parametrize("path", CAPTURES)
def test_every_name_in_the_recorded_help_is_known(path: str) -> None:
    text = sample(path).read_text(errors="replace")
    for option, known, least in (
        ("query-gpu", query_fields(), 200),
        ("query-compute-apps", app_fields(), 8),
    ):
        section = text.split(f"--help-{option}\n", 1)[1].split("####\n\n", 1)[0]
        section = section.split("\n# capabilities", 1)[0]
        rows = re.findall(r'^"(.*)"\r?$', section, flags=re.MULTILINE)
        assert len(rows) >= least
        for row in rows:
            first, *aliases = row.split('" or "')
            assert known[first].names[0] == first
            assert all(known[alias] is known[first] for alias in aliases)


@pytest.mark.oracle
@pytest.mark.parametrize("path", CAPTURES)
def test_titles_are_those_of_the_recordings(path: str) -> None:
    tables = captured(sample(path).read_text(errors="replace"))
    assert len(tables) == 2
    for titles, _ in tables:
        names = ",".join(title.partition(" [")[0] for title in titles)
        for units in (True, False):
            assert answer(names, view(0), units=units)[0].split(", ") == titles


def test_a_driver_that_will_not_start_is_reported_on_stderr(tmp_path: Path) -> None:
    scenario = NvmlScenario.of(tmp_path / "node.scenario", "h100x8")
    scenario.fault("nvmlInit_v2", "error:9")
    scenario.write()
    run = accelwatch("--query-gpu=index", "--format=csv", *PATIENT, environ=scenario.environment())
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
        *PATIENT,
        environ=scenario.environment(),
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.splitlines() == [
        "0, NVIDIA H100 80GB HBM3, 700.00, Enabled, Disabled",
        "1, NVIDIA H100 80GB HBM3, 700.00, Enabled, Disabled",
    ]


def test_modes_slots_and_remaps_are_answered() -> None:
    values: dict[Series, Number] = {
        ("persistence_enabled",): 1,
        ("ecc_enabled_pending",): 0,
        ("partitioning_enabled_pending",): 1,
        ("fabric_state_info", "limited_capacity"): 1,
        ("fabric_clique_info", "3"): 1,
        ("platform_info", "1821", "7", "2", "1"): 1,
        ("platform_module_info", "6"): 1,
        ("memory_remapped_rows_inactive", "corrected"): 4,
        ("memory_row_remap_banks", "max"): 2560,
        ("sram_error_threshold_exceeded",): 1,
        ("power_component_limit_watts", "module", "requested"): 2500.0,
    }
    one = msgspec.structs.replace(view(0), reading=Reading(device_id="x", values=values))
    expected = {
        "persistence_mode": "Enabled",
        "ecc.mode.pending": "Disabled",
        "mig.mode.pending": "Enabled",
        "fabric.state": "Completed",
        "fabric.status": "Success",
        "fabric.health.summary": "Limited Capacity",
        "fabric.cliqueId": "3",
        "fabric.clusterUuid": "N/A",
        "platform.chassis_serial_number": "1821",
        "platform.slot_number": "7",
        "platform.tray_index": "2",
        "platform.host_id": "1",
        "platform.module_id": "6",
        "remapped_rows.correctable_inactive": "4",
        "remapped_rows.histogram.max": "2560",
        "ecc.errors.uncorrected.aggregate.sram.thresholdExceeded": "Yes",
        "module.power.requested_limit": "2500.00 W",
    }
    assert cell(",".join(expected), one).split(", ") == list(expected.values())


@pytest.mark.parametrize(
    ("state", "cells"),
    [
        ("not_started", "Not Started, N/A, N/A"),
        ("completed", "Completed, Success, N/A"),
        ("unhealthy", "Completed, Success, Unhealthy"),
        ("failed", "Completed, Unknown Error, N/A"),
        ("9", "9, N/A, N/A"),
    ],
)
def test_the_fabric_in_nvidia_s_words(state: str, cells: str) -> None:
    one = changed(view(0), {("fabric_state_info", state): 1})
    assert cell("fabric.state,fabric.status,fabric.health.summary", one) == cells


# What changes between the two commands of a capture, which ran one after the other.
MOVING = (
    "clocks.current.",
    "clocks_event_reasons.active",
    "clocks_event_reasons.gpu_idle",
    "clocks_event_reasons.sw_power_cap",
    "clocks_event_reasons_counters.",
    "fan.speed",
    "power.draw",
    "temperature.",
    "utilization.",
)
# The page has another time, and N/A where --query-gpu prints a made-up 0 or a uuid of zeroes.
NOT_ON_THE_PAGE = ("timestamp", "fabric.clusterUuid", "platform.")
NOT_WITH_MIG = "remapped_rows.histogram"


@pytest.mark.oracle
@pytest.mark.parametrize("state", ["idle", "load"])
@pytest.mark.parametrize("path", CAPTURES)
def test_answers_are_those_of_the_recordings(path: str, state: str) -> None:
    """The page of `-q` through our reader, answered as a query, against the recorded answer."""
    text = sample(path).read_text(errors="replace").replace("\r", "")
    page = text.split(f"# {state} :: query (-q)", 1)[1].split("\n####", 2)[1]
    titles, recorded = captured(text)[state == "load"]
    names = [title.partition(" [")[0] for title in titles]
    whole = smi_view(smi_pages.document(page))
    answers = answer(",".join(names), whole, header=False)[0].split(", ")
    compared = 0
    for name, ours, theirs in zip(names, answers, recorded, strict=True):
        left_out = NOT_ON_THE_PAGE + ((NOT_WITH_MIG,) if "mig" in path else ())
        if not query_fields()[name].read or name.startswith(left_out):
            continue
        compared += 1
        if name == "memory.free":  # of figures that are rounded on the page
            assert abs(int(ours.split()[0]) - int(theirs.split()[0])) <= 2
        elif name.startswith(MOVING):
            assert shape(ours) == shape(theirs), name
        else:
            assert ours == theirs, name
    assert compared > 100


def shape(cell: str) -> str:
    """A cell with its numbers made alike: what differs is the moment."""
    text = re.sub(r"\d+(?=\.\d\d)|\d+$|\d+(?= )|(?<=0x)[0-9A-F]{16}", "#", cell)
    return text.replace("Not Active", "Active")


def smi_view(document: bytes) -> DeviceView:
    """The first device of a document, as our reader has it."""
    found = smi_document.parse(document)
    blank = Device(id="nvidia:0", vendor="nvidia", backend="nvidia", index=0, name="nvidia0")
    whole = smi_identity.complete_device(blank, found.gpus[0], found.driver_version)
    reading = smi_mapping.read(whole, found.gpus[0], frozenset(opt_in_groups()))
    return msgspec.structs.replace(view(0), device=whole, reading=reading)
