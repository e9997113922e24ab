"""What mx-smi says of a GPU, in base units, and what it does not say."""

import contextlib
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accelwatch.backend.kit.vendor_program import output_of
from accelwatch.base.absence import Absence
from accelwatch.base.errors import DeviceTimeout, ReadError
from accelwatch.schema.device import DeviceKind, DeviceState
from accelwatch.schema.health import Health, evaluate_health
from accelwatch.schema.reading import Reading
from accelwatch_metax import MetaxBackend, rounds
from accelwatch_metax.document import Gpu, ToolOutput, document_of
from accelwatch_metax.mapping import collect, reading_of
from accelwatch_metax.sections import listed_of, sections_of
from accelwatch_metax.table import parse_table
from backends.metax.machines import METAX, OUTPUT, stage, write_program
from support.machines.polling import Poll, Polled, assert_all_believed, identities, loss, readings
from support.machines.samples import sample
from support.machines.staged_machines import Stage
from support.processes.waiting import GUARD_S


@contextlib.contextmanager
def opened(folder: Path, name: str) -> Iterator[tuple[Stage, MetaxBackend]]:
    with stage(folder, name) as staged:
        backend = staged.backend()
        assert isinstance(backend, MetaxBackend)
        backend.open()
        yield staged, backend
        backend.close()


def polled(folder: Path, name: str) -> list[Polled]:
    with opened(folder, name) as (staged, backend):
        return Poll(staged.clock)(backend)


def document(name: str) -> ToolOutput:
    folder = OUTPUT / name
    return document_of(
        parse_table((folder / "table.txt").read_bytes()),
        listed_of((folder / "list.txt").read_bytes()),
        {},
    )


def read(gpu: Gpu) -> Reading:
    return reading_of(collect("d", gpu), gpu, {})


def gpu_of(row: dict[str, str] | None = None, sections: dict[str, str] | None = None) -> Gpu:
    return Gpu(number=0, pci_bus_id=None, row=row or {}, sections=sections or {})


def test_who_a_gpu_is(tmp_path: Path) -> None:
    polls = polled(tmp_path, "c500-x2")
    first, second = identities(polls)
    assert first.id == "metax:GPU-00000000-0000-4000-8000-000000000001"
    assert (first.kind, first.model, first.architecture) == (DeviceKind.GPU, "MXC500", "xcore1000")
    assert (first.index, first.name, first.driver_version) == (0, "metax0", "3.8.30")
    assert first.device_nodes == ("/dev/dri/renderD128",)
    assert (second.index, second.pci_bus_id) == (1, "0000:0f:00.0")
    assert (first.partition_mode, second.partition_mode) == ("disabled", "enabled")
    assert_all_believed(identities(polls), readings(polls))


def test_versions_of_the_machine(tmp_path: Path) -> None:
    with stage(tmp_path, "c500-x2") as staged:
        status = staged.backend().open()
    assert status.versions == {"driver": "3.8.30", "runtime": "3.7.1.5", "bios": "1.33.5.0"}


def test_a_gpu_at_work(tmp_path: Path) -> None:
    first, second = readings(polled(tmp_path, "c500-x2"))
    values = first.values
    assert values["utilization_ratio",] == pytest.approx(0.87)
    assert values["engine_utilization_ratio", "encoder"] == pytest.approx(0.12)
    assert values["temperature_celsius", "gpu"] == 61.25, "the table has whole degrees"
    assert values["temperature_celsius", "inlet"] == 28.75
    assert values["power_watts",] == 287.0
    assert values["power_limit_watts", "enforced"] == 350.0
    assert values["memory_used_bytes",] == 53210 << 20
    assert values["memory_size_bytes",] == 65536 << 20
    assert values["performance_state",] == 0
    assert (values["persistence_enabled",], second.values["persistence_enabled",]) == (0, 1)
    assert values["ecc_errors_total", "corrected"] == 3
    assert values["ecc_location_errors_total", "corrected", "dram"] == 3
    assert values["memory_retired_pages", "double_bit"] == 0
    assert values["reported_health_info", "ok"] == 1
    assert values["pcie_link_generation", "current"] == 4
    assert second.values["temperature_celsius", "gpu"] == 35.5, "of another sensor's number"
    assert ("ecc_errors_total", "corrected") not in second.values


def test_processes(tmp_path: Path) -> None:
    first, second = readings(polled(tmp_path, "c500-x2"))
    known, unknown = first.processes or ()
    assert (known.pid, known.command, known.gpu_memory_bytes) == (4711, "python3.10", 52000 << 20)
    assert (unknown.command, unknown.gpu_memory_bytes) == ("python", None)
    assert unknown.absent["gpu_memory_bytes"] is Absence.UNSUPPORTED
    assert second.processes == ()


def test_a_process_in_two_rows_has_the_memory_of_both(tmp_path: Path) -> None:
    with opened(tmp_path, "c500-x2") as (staged, backend):
        table = tmp_path / "output/table.txt"
        text = table.read_text()
        row = next(line for line in text.splitlines(keepends=True) if " 4711 " in line)
        table.write_text(text.replace(row, row + row.replace("52000", "1000 ")))
        staged.clock.advance(10)
        first, _ = readings(Poll(staged.clock)(backend))
    process, _ = first.processes or ()
    assert (process.pid, process.gpu_memory_bytes) == (4711, 53000 << 20)


def test_an_old_release(tmp_path: Path) -> None:
    (one,) = polled(tmp_path, "c500-old")
    reading = one.readings[0]
    assert (one.identity[0].model, one.identity[0].uuid) == ("MXC500", None)
    assert one.identity[0].id == "metax:0000:05:00.0"
    assert (reading.values["power_watts",], reading.values["temperature_celsius", "gpu"]) == (
        71.0,
        51.0,
    )
    assert reading.values["memory_used_bytes",] == 60982 << 20
    assert reading.absent["power_limit_watts", "enforced"] is Absence.UNSUPPORTED
    assert reading.absent["reported_status_info",] is Absence.UNSUPPORTED
    assert reading.processes == ()


def test_a_bad_day(tmp_path: Path) -> None:
    worn, gone, odd = readings(polled(tmp_path, "c550-bad-day"))
    assert worn.values["ecc_location_errors_total", "uncorrected", "dram"] == 2
    assert worn.absent["ecc_errors_total", "uncorrected"] is Absence.UNSUPPORTED, (
        "not all are known"
    )
    assert worn.values["ecc_errors_total", "corrected"] == 0
    assert worn.values["memory_retired_pages", "double_bit"] == 1
    assert worn.absent["processes",] is Absence.ERROR
    assert evaluate_health(DeviceState.OK, gone, [], 0.0).health is Health.FAILED
    assert gone.values["reported_status_info", "not available"] == 1
    assert gone.notes == ("mx-smi: MetaX Sysfs File Unaccessible",)
    assert gone.absent["power_watts",] is Absence.UNSUPPORTED
    assert gone.absent["memory_used_bytes",] is Absence.UNSUPPORTED
    assert odd.absent["utilization_ratio",] is Absence.ERROR
    assert odd.absent["temperature_celsius", "gpu"] is Absence.ERROR
    assert odd.absent["power_watts",] is Absence.ERROR
    assert odd.values["power_limit_watts", "enforced"] == 450.0
    assert odd.absent["memory_size_bytes",] is Absence.ERROR, "one number is neither"
    assert odd.values["reported_status_info", "puzzled"] == 1
    assert ("reported_health_info", "ok") not in odd.values


@pytest.mark.parametrize(
    ("word", "health"),
    [("Available", "ok"), ("Not Available", "failed"), ("Unavailable", "failed"), ("Odd", None)],
)
def test_words_of_the_state(word: str, health: str | None) -> None:
    values = read(gpu_of({"gpu-state": word})).values
    states = [series[1] for series in values if series[0] == "reported_health_info"]
    assert states == ([] if health is None else [health])


def test_the_list_goes_before_the_table() -> None:
    first = document("c550-bad-day").gpus[1]
    assert first.state == "Not Available"
    assert first.listed is not None
    assert first.listed.uuid is None


def test_a_board_with_two_gpus_has_its_power_once() -> None:
    """The second line of such a board has no board and no power; the layout is not recorded."""
    whole = (OUTPUT / "c500-x2/table.txt").read_text()
    text = whole.replace("| 1     MetaX C500 | 1 ", "|                  | 1 ")
    table = parse_table(text.replace("| 57W / 350W       |", "|                  |").encode())
    assert sorted(table.gpus) == [0, 1]
    second = read(gpu_of(dict(table.gpus[1])))
    assert second.absent["power_watts",] is Absence.UNSUPPORTED
    assert second.values["memory_used_bytes",] == 826 << 20


def test_one_option_at_a_time_where_a_release_takes_no_more(tmp_path: Path) -> None:
    text = (
        '#!/bin/sh\necho "$*" >> ROOT/asked\ncase "$*" in\n*--show-usage*) exit 1 ;;\n'
        "--show-temperature) cat ROOT/output/sections.txt ;;\n"
        "'') cat ROOT/output/table.txt ;;\n*) exit 1 ;;\nesac\n"
    )
    with stage(tmp_path, "c500-x2"):
        queries = rounds.Rounds(
            partial(output_of, write_program(tmp_path, text), timeout_s=GUARD_S)
        )
        queries.query()
        assert queries.query().gpus[0].sections["chip temperature/hotspot"] == "61.25 C"
    lines = (tmp_path / "asked").read_text().splitlines()
    assert len([line for line in lines if "--show-usage" in line]) == 1


def test_a_run_that_hangs_is_not_followed_by_another() -> None:
    runs: list[tuple[str, ...]] = []

    def run(*arguments: str, **_: object) -> bytes:
        runs.append(arguments)
        if not arguments:
            return (OUTPUT / "c500-x2/table.txt").read_bytes()
        raise DeviceTimeout("did not end", code="timeout")

    document = rounds.Rounds(run).query()
    assert [gpu.number for gpu in document.gpus] == [0, 1]
    assert runs == [(), ("-L",)]


def test_a_table_that_hangs_is_an_error() -> None:
    def run(*_: object, **__: object) -> bytes:
        raise DeviceTimeout("did not end", code="timeout")

    with pytest.raises(DeviceTimeout):
        rounds.Rounds(run).query()


def test_a_gpu_that_is_not_listed_is_lost(tmp_path: Path) -> None:
    with stage(tmp_path, "c500-x2") as staged:
        METAX.lay_out_function(tmp_path, "0000:35:00.0")
        backend = staged.backend()
        backend.open()
        *_, unlisted = Poll(staged.clock)(backend)
        lost = loss(backend, staged.clock, unlisted.found)
    assert "does not list the GPU at 0000:35:00.0" in str(lost)
    assert unlisted.found.index == 2, "takes no other's number"


@pytest.mark.parametrize(("code", "present"), [("0x030000", True), ("0x060400", False)])
def test_only_display_and_accelerator_functions_count(
    tmp_path: Path, code: str, present: bool
) -> None:
    METAX.lay_out_function(tmp_path, "0000:01:00.0", code)
    assert Stage(MetaxBackend, tmp_path).backend().probe().present is present


@pytest.mark.parametrize("output", [b"", b"{}", b"No device", b"\xff\xfe", b"|||\n|Bus-id|\n"])
def test_what_is_no_output_is_an_error(output: bytes) -> None:
    with pytest.raises(ReadError, match="neither its table nor a list"):
        document_of(parse_table(output), listed_of(output), sections_of(output))


_TEXT = st.text(max_size=12) | st.sampled_from(
    ("N/A", "53W / 450W", "1/2 MiB", "-1%", "/", "nan W")
)
_HEADINGS = st.sampled_from(
    ("gpu-util", "temp", "perf", "persist-m", "pwr:usage/cap", "memory-usage", "gpu-state", "power")
)
_PATHS = st.sampled_from(
    ("chip temperature/hotspot", "ecc errors/sram correctable", "retired pages/double bit ecc")
)


@given(st.dictionaries(_HEADINGS, _TEXT), st.dictionaries(_PATHS, _TEXT))
def test_damaged_fields_raise_nothing(row: dict[str, str], sections: dict[str, str]) -> None:
    values = read(gpu_of(row, sections)).values
    assert len(values) <= 3 * len(row) + 2 * len(sections)


@given(st.binary(max_size=200), st.integers(0, 3000))
def test_damaged_output_raises_nothing_untyped(noise: bytes, length: int) -> None:
    for file in ("table.txt", "list.txt", "sections.txt", "ecc.txt"):
        whole = (OUTPUT / "c500-x2" / file).read_bytes()
        for output in (noise, whole[:length], whole[:length] + noise):
            with contextlib.suppress(ReadError):
                document = document_of(parse_table(output), listed_of(output), sections_of(output))
                for gpu in document.gpus:
                    read(gpu)


@pytest.mark.oracle
def test_recorded_list() -> None:
    listed = listed_of(sample("metax/cli/mx_smi_L_2.2.9.txt").read_bytes())
    assert sorted(listed) == [0, 7]
    assert msgspec.structs.astuple(listed[7]) == (
        "MXC500",
        "0000:3c:00.0",
        "GPU-0e715b45-bcef-1500-e2db-752724095700",
        "Available",
        None,
    )
    assert listed[0].uuid == "GPU-e702f06b-bbd6-bc06-5196-90a5554a24ba"


@pytest.mark.oracle
def test_recorded_temperatures() -> None:
    by_number = sections_of(sample("metax/cli/mx_smi_temperature_2.2.9.txt").read_bytes())
    temperatures = [
        {
            series[1]: value
            for series, value in read(gpu_of(sections=by_number[number])).values.items()
            if series[0] == "temperature_celsius"
        }
        for number in (0, 1)
    ]
    assert temperatures == [{"gpu": 39.0, "inlet": 28.75}, {"gpu": 39.25, "inlet": 28.12}]
