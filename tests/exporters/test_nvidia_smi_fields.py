"""The fields of nvidia-smi's dialect one by one: what is asked for, and the words of each answer."""

import msgspec
import pytest

from accelwatch.base.absence import Absence
from accelwatch.base.errors import UnmetError, UsageError
from accelwatch.schema.device import Device
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Number, Process, Reading
from accelwatch.schema.snapshot import BackendState, BackendStatus, DeviceView
from accelwatch_nvidia_smi import (
    app_fields,
    compute_apps,
    list_gpus,
    machine_of,
    needed_groups,
    numbered,
    parse_format,
    parse_names,
    query_fields,
    query_gpu,
)
from accelwatch_nvidia_smi.answers import local_time, token_of, value
from accelwatch_nvidia_smi.leaves import document_fields
from accelwatch_nvidia_smi.tables import single_line
from support.machines import composed as machines
from support.machines.composed import GIB, device, mig_view, snapshot, view

MIB = 1 << 20


def telling(
    values: dict[Series, Number] | None = None,
    absent: dict[Series, Absence] | None = None,
    **facts: object,
) -> DeviceView:
    """A device that has only these."""
    reading = Reading(device_id="x", values=values or {}, absent=absent or {})
    return machines.view(0, device=device(0, **facts), reading=reading)


def cells(names: str, *views: DeviceView, units: bool = True) -> list[str]:
    shown = snapshot(*views)
    fields = parse_names(names, query_fields(), "--query-gpu")
    table = query_gpu(shown, machine_of(shown), fields, header=False, units=units)
    return table.splitlines()


def cell(name: str, one: DeviceView, *, units: bool = True) -> str:
    return cells(name, one, units=units)[0]


def test_fields_are_named_one_by_one_with_blanks_around() -> None:
    fields = parse_names(" index, gpu_name ,index", query_fields(), "--query-gpu")
    assert [field.names[0] for field in fields] == ["index", "name", "index"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "index,pstat",
            "'pstat' is not a field of --query-gpu; did you mean pstate?"
            " (--query-gpu=help lists them)",
        ),
        ("qqqqqqq", "'qqqqqqq' is not a field of --query-gpu (--query-gpu=help lists them)"),
        ("", "'' is not a field of --query-gpu (--query-gpu=help lists them)"),
    ],
)
def test_an_unknown_field_is_refused_with_the_nearest(text: str, expected: str) -> None:
    with pytest.raises(UsageError) as refused:
        parse_names(text, query_fields(), "--query-gpu")
    assert str(refused.value) == expected


@pytest.mark.parametrize(
    ("text", "header", "units"),
    [
        ("csv", True, True),
        ("csv,noheader", False, True),
        (" nounits , csv ", True, False),
        ("csv,nounits,noheader", False, False),
    ],
)
def test_a_format_says_what_is_left_out(text: str, header: bool, units: bool) -> None:
    assert parse_format(text, "--query-gpu") == (header, units)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("csv,XML", "--format with -L takes csv, noheader and nounits, not 'XML'"),
        ("", "--format with -L takes csv, noheader and nounits, not ''"),
        ("nounits,noheader", "-L needs --format=csv[,noheader][,nounits]"),
    ],
)
def test_an_unknown_format_is_refused(text: str, expected: str) -> None:
    with pytest.raises(UsageError) as refused:
        parse_format(text, "-L")
    assert str(refused.value) == expected


@pytest.mark.parametrize(
    ("why", "token"),
    [
        (None, "[N/A]"),
        (Absence.UNSUPPORTED, "[N/A]"),
        (Absence.NOT_COLLECTED, "[N/A]"),
        (Absence.PERMISSION, "[Insufficient Permissions]"),
        (Absence.LOST, "[GPU is lost]"),
        (Absence.ERROR, "[Unknown Error]"),
        (Absence.TIMEOUT, "[Unknown Error]"),
        (Absence.STALE, "[Unknown Error]"),
    ],
)
def test_each_reason_has_its_word(why: Absence | None, token: str) -> None:
    assert token_of(why, "[N/A]") == token


def test_the_reason_is_that_of_the_series_then_its_quantity_then_the_device() -> None:
    absent: dict[Series, Absence] = {
        ("temperature_celsius", "memory"): Absence.ERROR,
        ("clock_hertz",): Absence.PERMISSION,
        ("*",): Absence.LOST,
    }
    unread = {"serial": None, "absent": {"serial": Absence.PERMISSION}, "pci_bus_id": None}
    one = machines.view(
        0, device=device(0, **unread), reading=Reading(device_id="x", absent=absent)
    )
    assert cells("temperature.memory,clocks.sm,fan.speed", one) == [
        "[Unknown Error], [Insufficient Permissions], [GPU is lost]"
    ]
    assert cells("serial,vbios_version,pci.bus_id", one) == [
        "[Insufficient Permissions], 96.00.00.00.01, [GPU is lost]"
    ]
    assert cells("uuid", telling(uuid=None)) == ["[N/A]"]


@pytest.mark.parametrize(
    ("label", "action"),
    [
        ("none", "None"),
        ("gpu_reset", "Reset"),
        ("node_reboot", "Reboot"),
        ("drain_p2p", "Drain P2P"),
        ("drain_and_reset", "Drain and Reset"),
        ("call_the_vendor", "Call The Vendor"),
    ],
)
def test_what_is_to_be_done_is_reported_in_words(label: str, action: str) -> None:
    assert cell("gpu_recovery_action", telling({("recovery_action_info", label): 1})) == action
    assert cell("gpu_recovery_action", telling()) == "[N/A]"


@pytest.mark.parametrize(
    ("label", "expected"),
    [
        ("not_started", "Not Started, N/A, N/A"),
        ("in_progress", "In Progress, N/A, N/A"),
        ("completed", "Completed, Success, N/A"),
        ("unhealthy", "Completed, Success, Unhealthy"),
        ("limited_capacity", "Completed, Success, Limited Capacity"),
        ("failed", "Completed, Unknown Error, N/A"),
        ("some_new_word", "Some New Word, N/A, N/A"),
    ],
)
def test_the_state_of_the_fabric_is_three_answers(label: str, expected: str) -> None:
    one = telling({("fabric_state_info", label): 1})
    assert cell("fabric.state,fabric.status,fabric.health.summary", one) == expected


def test_labels_that_are_the_data_are_reported_by_their_position() -> None:
    one = telling(
        {
            ("platform_info", "chassis", "slot", "tray", "host"): 1,
            ("platform_module_info", "4"): 1,
            ("fabric_clique_info", "7"): 1,
            ("fabric_cluster_info", "c-1"): 1,
        }
    )
    names = ("chassis_serial_number", "slot_number", "tray_index", "host_id", "module_id")
    query = ",".join(f"platform.{name}" for name in names)
    assert cell(query, one) == "chassis, slot, tray, host, 4"
    assert cell("fabric.cliqueId,fabric.clusterUuid", one) == "7, c-1"
    assert cell("platform.host_id,fabric.cliqueId", telling()) == "[N/A], N/A"


@pytest.mark.parametrize("severity", ["corrected", "uncorrected"])
def test_errors_of_the_device_memory_are_those_of_dram_where_parts_say_so(severity: str) -> None:
    key, other = (
        "ecc_location_errors_total",
        {"corrected": "uncorrected"}.get(severity, "corrected"),
    )
    field = f"ecc.errors.{severity}.volatile.device_memory"
    both = telling({(key, severity, "device_memory"): 0, (key, severity, "dram"): 5})
    assert cell(field, both) == "0"
    assert cell(field, telling({(key, severity, "dram"): 5})) == "5"
    assert cell(field, telling({(key, other, "dram"): 5})) == "[N/A]"


@pytest.mark.parametrize(("waits", "word"), [(1, "Yes"), (0, "No")])
def test_a_repair_that_waits_is_yes(waits: int, word: str) -> None:
    values: dict[Series, Number] = {
        ("memory_repair_pending",): waits,
        ("memory_retired_pages", "single_bit"): 0,
    }
    assert cell("retired_pages.pending,remapped_rows.pending", telling(values)) == f"{word}, [N/A]"
    del values["memory_repair_pending",]
    assert cell("retired_pages.pending", telling(values)) == "[N/A]"


def test_the_mode_of_instances_is_a_word_of_two() -> None:
    for mode, word in (("enabled", "Enabled"), ("disabled", "Disabled"), ("cpx", "[N/A]")):
        assert cell("mig.mode.current", telling(partition_mode=mode)) == word
    assert cell("mig.mode.current", telling()) == "[N/A]"


def test_the_supported_reasons_have_no_idle_where_none_is_reported() -> None:
    one = telling({("throttle_active", "power"): 1})
    assert cell("clocks_event_reasons.supported", one) == "0x0000000000000004"
    assert cell("clocks_event_reasons.active", telling({("clocks_idle",): 1})) == (
        "0x0000000000000001"
    )
    both = telling({("throttle_active", "clock_setting"): 0, ("clocks_idle",): 0})
    assert cell("clocks_event_reasons.supported", both) == "0x0000000000000103"


@pytest.mark.parametrize(
    ("name", "values", "expected", "bare"),
    [
        ("memory.total", {("memory_size_bytes",): 3 * MIB}, "3 MiB", "3"),
        ("utilization.gpu", {("utilization_ratio",): 0.97}, "97 %", "97"),
        ("power.limit", {("power_limit_watts", "requested"): 300.126}, "300.13 W", "300.13"),
        ("clocks.sm", {("clock_hertz", "sm"): 1_980_000_000}, "1980 MHz", "1980"),
        (
            "clocks_event_reasons_counters.sw_power_cap",
            {("throttle_seconds_total", "power"): 2.5},
            "2500000 us",
            "2500000",
        ),
        ("temperature.memory", {("temperature_celsius", "memory"): 71.6}, "72", "72"),
        ("temperature.gpu", {("temperature_celsius", "junction"): 0}, "0", "0"),
        ("ecc.mode.current", {("ecc_enabled",): 1}, "Enabled", "Enabled"),
        ("ecc.mode.current", {("ecc_enabled",): 0}, "Disabled", "Disabled"),
        ("remapped_rows.failure", {("memory_repair_failed",): 0}, "No", "No"),
        ("remapped_rows.failure", {("memory_repair_failed",): 1}, "Yes", "Yes"),
        (
            "clocks_event_reasons.sw_power_cap",
            {("throttle_active", "power"): 1},
            "Active",
            "Active",
        ),
    ],
)
def test_numbers_are_written_in_the_dialect_s_units(
    name: str, values: dict[Series, Number], expected: str, bare: str
) -> None:
    assert cell(name, telling(values)) == expected
    assert cell(name, telling(values), units=False) == bare


def only_in_the_document(name: str, values: dict[Series, Number]) -> str | None:
    one = telling(values)
    return value(document_fields()[name], one, machine_of(snapshot(one)))


@pytest.mark.parametrize(("waits", "word"), [(1, "Yes"), (0, "No")])
def test_a_repair_of_another_kind_is_reported_where_no_pages_or_rows_are(
    waits: int, word: str
) -> None:
    pending: dict[Series, Number] = {("memory_repair_pending",): waits}
    assert only_in_the_document("repair.pending", pending) == word
    for key in ("memory_retired_pages", "memory_remapped_rows"):
        assert only_in_the_document("repair.pending", {**pending, (key, "x"): 0}) is None
    assert only_in_the_document("repair.pending", {}) is None


def test_the_margin_at_which_a_device_slows_down_is_the_headroom_s_distance() -> None:
    margin: dict[Series, Number] = {("temperature_margin_celsius",): 30}
    headroom: dict[Series, Number] = {("temperature_headroom_celsius",): 32}
    assert only_in_the_document("slowdown.tlimit", {**margin, **headroom}) == "-2"
    assert only_in_the_document("slowdown.tlimit", margin) is None
    assert only_in_the_document("slowdown.tlimit", headroom) is None


def test_the_sensor_of_the_gpu_goes_before_that_of_the_junction() -> None:
    both: dict[Series, Number] = {
        ("temperature_celsius", "junction"): 70,
        ("temperature_celsius", "gpu"): 61,
    }
    assert cell("temperature.gpu", telling(both)) == "61"


def test_reasons_of_one_time_are_one_mask() -> None:
    active: dict[Series, Number] = {
        ("throttle_active", "power"): 1,
        ("throttle_active", "other"): 1,
        ("throttle_active", "sync_boost"): 1,
    }
    assert cell("clocks_event_reasons.active", telling(active)) == "0x000000000000001C"
    assert cell("clocks_event_reasons.hw_slowdown", telling(active)) == "Active"
    power: dict[Series, Number] = {("throttle_active", "power"): 1}
    assert cell("clocks_event_reasons.hw_slowdown", telling(power)) == "[N/A]"


def test_what_fields_need_is_the_groups_of_their_quantities() -> None:
    def groups(*names: str) -> frozenset[str]:
        return needed_groups(query_fields()[name] for name in names)

    assert groups("power.draw", "name") == {"components"}
    assert groups("ecc.errors.corrected.volatile.dram", "clocks_event_reasons.active") == {
        "clocks",
        "ecc",
    }
    assert groups("index", "temperature.memory") == frozenset()


def test_text_of_others_is_one_line_and_no_formula() -> None:
    assert single_line("a\nb\r\nc") == "a b c"
    assert cell("name", telling(model="=SUM(1)")) == "'=SUM(1)"
    assert cell("name", telling(model="-5 C")) == "-5 C"
    assert cell("temperature.gpu.tlimit", telling({("temperature_margin_celsius",): -5})) == "-5"


def amd(index: int) -> Device:
    return device(index, vendor="amd", id=f"amd:{index}", name=f"amd{index}", model=None, uuid=None)


def test_gpus_are_listed_with_their_instances() -> None:
    views = [
        machines.view(0, device=amd(0)),
        view(2),
        mig_view(7, 2),
        machines.view(
            0,
            device=device(
                8, id="xcp", parent_id=amd(0).id, partition="xcp1", partition_technology="xcp",
                uuid=None,
            ),
        ),
    ]  # fmt: skip
    shown = snapshot(*views)
    assert list_gpus(shown, machine_of(shown)).splitlines() == [
        f"GPU 2: NVIDIA H100 80GB HBM3 (UUID: {device(2).uuid})",
        "  MIG 1g.10gb     Device  7: (UUID: MIG-7)",
        "GPU 3: N/A (UUID: N/A)",
        "  XCP xcp1        Device  8: (UUID: N/A)",
    ]


def test_the_machine_is_counted_by_whole_devices_and_reports_nvidia_s_versions() -> None:
    other = BackendStatus(
        name="amd", vendor="amd", state=BackendState.OK, versions={"driver": "6.1"}
    )
    shown = snapshot(view(0), view(3), mig_view(7, 0))
    machine = machine_of(shown)
    assert (machine.count, machine.time) == (2, shown.time)
    assert machine.versions["driver"] == "590.48.01"
    assert machine_of(msgspec.structs.replace(shown, backends=(other,))).versions == {}
    some = msgspec.structs.replace(shown, devices=(view(3),))
    assert cells("count,index", *shown.devices) == ["2, 0", "2, 3"]
    table = query_gpu(
        some, machine, parse_names("count,index", query_fields(), "x"), header=True, units=True
    )
    assert table == "count, index\n2, 3\n"


@pytest.mark.parametrize(
    ("selectors", "ids"),
    [
        (["0"], [device(0).id]),
        (["00", "03"], [device(0).id, device(3).id]),
        (["all", "nvidia:1", "GPU-1"], ["all", "nvidia:1", "GPU-1"]),
        ([], []),
    ],
)
def test_a_number_is_the_device_that_bears_it(selectors: list[str], ids: list[str]) -> None:
    assert numbered(selectors, machine_of(snapshot(view(0), view(3)))) == tuple(ids)


def test_a_number_that_no_device_bears_is_refused_with_those_there_are() -> None:
    views = [view(index) for index in (0, 2)]
    tenth = machines.view(1, device=msgspec.structs.replace(device(1), index=10, id="nvidia:10"))
    with pytest.raises(UnmetError) as refused:
        numbered(["007"], machine_of(snapshot(tenth, *views)))
    assert str(refused.value) == "no device '007'; there are: 0, 2, 10"
    nobody = msgspec.structs.replace(snapshot(view(0)), devices=())
    with pytest.raises(UnmetError, match="no device '0'; there are: none"):
        numbered(["0"], machine_of(nobody))


def apps(names: str, *processes: Process, units: bool = True, header: bool = False) -> list[str]:
    one = machines.view(0, reading=Reading(device_id="x", processes=processes))
    shown = snapshot(one)
    fields = parse_names(names, app_fields(), "--query-compute-apps")
    table = compute_apps(shown, machine_of(shown), fields, header=header, units=units)
    return table.splitlines()


def test_processes_that_compute_are_reported_with_their_device() -> None:
    process = Process(
        device_id="x", pid=7, command="train", gpu_memory_bytes=3 * GIB, type="compute"
    )
    drawn = Process(device_id="x", pid=8, command="Xorg", type="graphics")
    both = Process(device_id="x", pid=9, command="game", type="compute+graphics")
    names = "pid,name,used_memory,gpu_uuid,gpu_name,gpu_serial,gpu_bus_id"
    where = f"{device(0).uuid}, {device(0).model}, {device(0).serial}, 00000000:18:00.0"
    assert apps(names, process, drawn, both) == [
        f"7, train, 3072 MiB, {where}",
        f"9, game, [N/A], {where}",
    ]
    assert apps("used_gpu_memory,timestamp", process, units=False, header=True) == [
        "used_gpu_memory [MiB], timestamp",
        f"3072, {local_time(machines.NOW)}",
    ]


def test_what_is_not_known_of_a_process_is_reported_in_words() -> None:
    def absent(**why: Absence) -> Process:
        return Process(device_id="x", pid=7, absent=why)

    names = "process_name,used_gpu_memory"
    assert apps(names, absent()) == ["[Not Found], [N/A]"]
    denied = absent(command=Absence.PERMISSION, gpu_memory_bytes=Absence.PERMISSION)
    assert apps(names, denied) == ["[Insufficient Permissions], [Insufficient Permissions]"]
    gone = absent(command=Absence.ERROR, gpu_memory_bytes=Absence.ERROR)
    assert apps(names, gone) == ["[Not Found], [Unknown Error]"]
