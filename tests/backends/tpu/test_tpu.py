"""What tpu-info says of a chip, in base units, and what nobody says while no workload runs."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accelwatch.backend import Context, Request
from accelwatch.backend.errors import BackendUnavailable
from accelwatch.base.absence import Absence
from accelwatch.base.errors import DeviceLost, DevicePermission, ReadError
from accelwatch.schema.device import DeviceKind
from accelwatch.schema.reading import Number, Reading
from accelwatch_tpu import TpuBackend
from accelwatch_tpu.chips import Chip, Generation, chips
from accelwatch_tpu.mapping import NO_WORKLOAD, read
from accelwatch_tpu.report import parse
from backends.tpu.machines import (
    DOCUMENTS,
    NOBODY,
    lay_out_bus,
    lay_out_function,
    stage,
    write_program,
)
from support.machines.polling import Poll, assert_all_believed, identities, readings
from support.machines.samples import sample
from support.machines.staged_machines import Stage

GIB = 1 << 30


@contextlib.contextmanager
def opened(folder: Path, name: str) -> Iterator[tuple[Stage, TpuBackend]]:
    with stage(folder, name) as machine:
        backend = machine.backend()
        assert isinstance(backend, TpuBackend)
        backend.open()
        yield machine, backend
        backend.close()


def of_chip(text: bytes, number: int, count: int, generation: Generation | None = None) -> Reading:
    chip = Chip(f"0000:00:{number + 4:02x}.0", number, generation, None)
    return read("tpu:x", chip, count, parse(text))


def reading_of(name: str, number: int) -> Reading:
    return of_chip((DOCUMENTS / f"{name}.txt").read_bytes(), number, 4)


def test_who_a_chip_is(tmp_path: Path) -> None:
    with opened(tmp_path, "v5e-x4") as (machine, backend):
        polled = Poll(machine.clock)(backend)
    first, *_, last = identities(polled)
    assert (first.id, first.index, first.name) == ("tpu:0000:00:04.0", 0, "tpu0")
    assert (first.kind, first.model, first.architecture) == (DeviceKind.NPU, "TPU v5e", "v5e")
    assert first.driver_version == "0.0.21"
    assert (first.device_nodes, last.device_nodes) == (("/dev/vfio/0",), ("/dev/vfio/3",))
    assert len(polled) == 4, "the network card of the vendor is no chip"
    assert_all_believed(identities(polled), readings(polled))


def test_chips_at_work(tmp_path: Path) -> None:
    with opened(tmp_path, "v5e-x4") as (machine, backend):
        first, _, third, last = readings(Poll(machine.clock)(backend))
    assert first.values["memory_used_bytes",] == 12.5 * GIB
    assert first.values["memory_size_bytes",] == 15.75 * GIB
    assert first.values["utilization_ratio",] == pytest.approx(0.98)
    assert first.values["core_utilization_ratio", "0"] == pytest.approx(0.41)
    assert first.processes is not None
    assert [process.pid for process in first.processes] == [41250]
    assert first.processes[0].absent["gpu_memory_bytes"] is Absence.UNSUPPORTED
    assert third.values["utilization_ratio",] == 0.0, "idle is a number while a workload runs"
    assert last.values["utilization_ratio",] == 1.0


def test_a_chip_of_two_devices_has_the_memory_of_both(tmp_path: Path) -> None:
    with opened(tmp_path, "v3-8") as (machine, backend):
        polled = Poll(machine.clock)(backend)
    second = readings(polled)[1]
    assert second.values["memory_used_bytes",] == 7 * GIB, "devices 2 and 3"
    assert second.values["memory_size_bytes",] == 32 * GIB
    assert second.values["utilization_ratio",] == pytest.approx(0.52), "told for the first of them"
    assert identities(polled)[1].model == "TPU v3", "by the subsystem"
    assert identities(polled)[1].device_nodes == ("/dev/accel1",)
    assert readings(polled)[3].processes == ()


def test_without_a_workload_nothing_is_reported_and_it_says_so(tmp_path: Path) -> None:
    with opened(tmp_path, "v6e-idle") as (machine, backend):
        polled = Poll(machine.clock)(backend)
    for one in polled:
        (reading,) = one.readings
        assert reading.notes == (NO_WORKLOAD,)
        assert not reading.values
        assert reading.absent["utilization_ratio",] is Absence.UNSUPPORTED
        assert one.identity[0].model == "TPU v6e"
        assert one.identity[0].driver_version is None


def test_without_command_and_workload_a_chip_is_still_known(tmp_path: Path) -> None:
    lay_out_bus(tmp_path, "0x0062", "", 1)
    backend = TpuBackend(Context(root=tmp_path, options=NOBODY))
    assert backend.open().source == "sysfs+libtpu"
    (device,) = backend.identify(backend.discover()[0])
    (reading,) = backend.read(device, Request())
    backend.close()
    assert device.model == "TPU v5p"
    assert reading.notes == (NO_WORKLOAD,)
    assert reading.absent["processes",] is Absence.UNSUPPORTED


@pytest.mark.parametrize("port", [0, 65536, "8431", True])
def test_a_port_that_is_none(tmp_path: Path, port: object) -> None:
    lay_out_bus(tmp_path, "0x0062", "", 1)
    with pytest.raises(BackendUnavailable, match="port") as caught:
        TpuBackend(Context(root=tmp_path, options={"port": port})).open()
    assert "collect.options.tpu.port" in caught.value.remedy


def test_what_cannot_be_true_hides_nothing_else() -> None:
    without_memory, too_much, words, last = (reading_of("v6e-bad-day", at) for at in range(4))
    assert without_memory.absent["memory_used_bytes",] is Absence.UNSUPPORTED
    assert without_memory.values["utilization_ratio",] == 0.99
    assert too_much.absent["memory_used_bytes",] is Absence.ERROR
    assert too_much.values["memory_size_bytes",] == 31.25 * GIB
    assert too_much.absent["utilization_ratio",] is Absence.ERROR
    assert words.absent["memory_used_bytes",] is Absence.ERROR
    assert words.absent["utilization_ratio",] is Absence.ERROR
    assert last.values["memory_used_bytes",] == GIB
    assert last.absent["core_utilization_ratio",] is Absence.UNSUPPORTED, "three rows of four chips"


def test_a_size_of_nothing_is_not_yet_reported() -> None:
    table = b"| Chip | HBM Usage (GiB) | Duty cycle |\n| 0 | 0.00 GiB / 0.00 GiB | 0.00% |\n"
    reading = of_chip(table, 0, 1)
    assert reading.absent["memory_size_bytes",] is Absence.UNSUPPORTED
    assert reading.values["memory_used_bytes",] == 0
    assert reading.values["utilization_ratio",] == 0.0


def test_a_chip_of_7x_is_two_functions_of_the_bus(tmp_path: Path) -> None:
    """A core each, with an IOMMU group each; libtpu has two devices a chip, and one duty cycle."""
    for at in range(2):
        for core in range(2):
            lay_out_function(tmp_path, f"0000:00:{at + 4:02x}.{core}", "0x0076", 2 * at + core)
    write_program(tmp_path)
    rows = "".join(
        f"| {at} | {at + 1}.00 GiB / 94.75 GiB | {at // 2 * 50}.00% |\n" for at in range(4)
    )
    (tmp_path / "tpu.txt").write_text(
        "| Chip | Type | Devices | PID |\n"
        "| /dev/vfio/0 | TPU7x chip | 2 | 4711, 4712 |\n"
        "| /dev/vfio/2 | TPU7x chip | 2 | None |\n\n"
        f"| Chip | HBM Usage (GiB) | Duty cycle |\n{rows}"
    )
    staged = Stage(TpuBackend, tmp_path, options=NOBODY)
    backend = staged.backend()
    backend.open()
    polled = Poll(staged.clock)(backend)
    backend.close()
    first, second = readings(polled)
    assert [device.pci_bus_id for device in identities(polled)] == ["0000:00:04.0", "0000:00:05.0"]
    assert identities(polled)[1].device_nodes == ("/dev/vfio/2", "/dev/vfio/3")
    assert identities(polled)[0].model == "TPU 7x"
    assert first.values["memory_used_bytes",] == 3 * GIB
    assert second.values["memory_used_bytes",] == 7 * GIB
    assert second.values["memory_size_bytes",] == 189.5 * GIB
    assert [reading.values["utilization_ratio",] for reading in (first, second)] == [0.0, 0.5]
    assert [process.pid for process in first.processes or ()] == [4711, 4712]
    assert second.processes == ()


def table_of(*numbers: int) -> bytes:
    """Of each device as many GiB as its position, and that many tenths of duty."""
    rows = (
        f"| {number} | {at}.00 GiB / 31.25 GiB | {at}0.00% |\n" for at, number in enumerate(numbers)
    )
    return f"| Device | HBM usage | Duty cycle |\n{''.join(rows)}".encode()


@pytest.mark.parametrize("numbers", [(8, 9, 12, 13), (0, 1, 4, 5), (13, 12, 9, 8)])
def test_a_host_of_a_slice_of_several(numbers: tuple[int, ...]) -> None:
    """Devices are numbered over the whole slice; rows belong to chips in the order of numbers."""
    text = table_of(*numbers)
    each = [of_chip(text, number, 4) for number in range(4)]
    rising = [0, 1, 2, 3] if numbers[0] < numbers[-1] else [3, 2, 1, 0]
    assert [one.values["memory_used_bytes",] for one in each] == [at * GIB for at in rising]
    assert [one.values["utilization_ratio",] for one in each] == [at / 10 for at in rising]


def test_chips_of_two_devices_on_a_host_of_a_slice() -> None:
    each = [of_chip(table_of(4, 5, 12, 13), number, 2) for number in range(2)]
    assert [one.values["memory_used_bytes",] for one in each] == [1 * GIB, 5 * GIB]


def test_rows_that_cannot_be_shared_out_evenly() -> None:
    """Nobody knows which chip the missing row is of."""
    for number in range(4):
        reading = of_chip(table_of(8, 9, 13), number, 4)
        assert reading.absent["memory_used_bytes",] is Absence.UNSUPPORTED
        assert not reading.values


def test_chips_are_counted_by_their_nodes_not_by_the_bus(tmp_path: Path) -> None:
    for at, group in enumerate((10, 2, 0)):
        lay_out_function(tmp_path, f"0000:00:{at + 4:02x}.0", "0x006f", group)
    assert [(chip.number, chip.node) for chip in chips(tmp_path)] == [
        (0, "/dev/vfio/0"),
        (1, "/dev/vfio/2"),
        (2, "/dev/vfio/10"),
    ]


def test_chips_of_another_container_are_not_ours(tmp_path: Path) -> None:
    """Two of four nodes are here: libtpu counts two chips, and the bus shows all."""
    with stage(tmp_path, "v5e-x4") as machine:
        for gone in (0, 2):
            (tmp_path / f"dev/vfio/{gone}").unlink()
        (tmp_path / "tpu.txt").write_text(
            "| Chip | HBM Usage (GiB) | Duty cycle |\n"
            "| 0 | 1.00 GiB / 15.75 GiB | 10.00% |\n| 1 | 2.00 GiB / 15.75 GiB | 20.00% |\n"
        )
        backend = machine.backend()
        backend.open()
        polled = Poll(machine.clock)(backend)
        backend.close()
    rows = {one.found.pci_bus_id: (one.found.index, one.error) for one in polled}
    assert [rows[f"0000:00:0{at}.0"][0] for at in (5, 7, 4, 6)] == [0, 1, 2, 3]
    assert isinstance(rows["0000:00:04.0"][1], DevicePermission)
    assert isinstance(rows["0000:00:06.0"][1], DevicePermission)
    assert [one.readings[0].values["utilization_ratio",] for one in polled[:2]] == [0.1, 0.2]


def test_a_chip_that_has_left_the_bus_is_lost(tmp_path: Path) -> None:
    with opened(tmp_path, "v5e-x4") as (machine, backend):
        devices = backend.discover()
        assert machine.remove is not None
        machine.remove(devices[-1])
        with pytest.raises(DeviceLost, match="0000:00:07.0"):
            backend.read(devices[-1], Request())
        assert backend.read(devices[0], Request())


def test_a_command_that_complains_is_reported(tmp_path: Path) -> None:
    with opened(tmp_path, "v5e-x4") as (machine, backend):
        device = backend.discover()[0]
        write_program(tmp_path, "echo 'No TPU chips found' >&2; exit 1")
        for _ in range(3):
            machine.clock.advance(20)
            with contextlib.suppress(ReadError):
                backend.read(device, Request())
        with pytest.raises(ReadError, match="No TPU chips found"):
            backend.read(device, Request())


def test_an_output_without_tables_is_no_answer() -> None:
    with pytest.raises(ReadError, match="no table of chips"):
        parse(b"Libtpu version: 0.0.19\nsome panic\n")


def test_functions_that_are_no_chips(tmp_path: Path) -> None:
    lay_out_bus(tmp_path, "0x0027", "0x0001", 1)
    (chip,) = chips(tmp_path)
    assert chip.generation is None, "a subsystem that is not known"
    bare = tmp_path / "other"
    lay_out_bus(bare, "0x001f", "", 1)
    assert chips(bare) == []
    assert not TpuBackend(Context(root=bare)).probe().present
    assert TpuBackend(Context(root=tmp_path)).probe().present


def test_processes_were_not_requested(tmp_path: Path) -> None:
    with opened(tmp_path, "v5e-x4") as (_, backend):
        (reading,) = backend.read(backend.discover()[0], Request(processes=False))
    assert reading.absent["processes",] is Absence.NOT_COLLECTED


def test_a_recorded_host_at_work() -> None:
    text = sample("tpu/cli/tpu_info_v6e.txt").read_bytes()
    report = parse(text)
    assert report.libtpu_version == "0.0.19.dev20250721+nightly"
    assert report.accelerator_type == "v6e"
    assert report.pids == {f"/dev/vfio/{at}": [1469584] for at in range(4)}
    used = [of_chip(text, at, 4).values["memory_used_bytes",] for at in range(4)]
    assert used == [round(18.45 * GIB), *[round(10.40 * GIB)] * 3]
    reading = of_chip(text, 1, 4)
    assert reading.values["memory_size_bytes",] == 31.25 * GIB
    assert reading.values["utilization_ratio",] == 1.0
    assert reading.values["core_utilization_ratio", "0"] == pytest.approx(0.1481)


def test_recorded_tables_of_single_metrics() -> None:
    text = sample("tpu/cli/tpu_info_metric_duty_hbm_v6e.txt").read_bytes()
    first, last = of_chip(text, 0, 8), of_chip(text, 7, 8)
    assert first.values["memory_used_bytes",] == 29.5 * GIB
    assert last.values["memory_used_bytes",] == 21.5 * GIB
    assert last.values["utilization_ratio",] == 1.0


@pytest.mark.parametrize(
    "file",
    [
        "tpu_info_list_metrics.txt",
        "tpu_info_version_ok.txt",
        "tpu_info_version_incompatible_python312.txt",
    ],
)
def test_other_recorded_outputs_are_no_answer(file: str) -> None:
    with pytest.raises(ReadError):
        parse(sample(f"tpu/cli/{file}").read_bytes())


WHOLE = {path.name: path.read_text() for path in sorted(DOCUMENTS.glob("*.txt"))}


def numbers(text: str, count: int = 4) -> set[tuple[tuple[str, ...], Number]]:
    try:
        report = parse(text.encode())
    except ReadError:
        return set()
    every: set[tuple[tuple[str, ...], Number]] = set()
    for number in range(count):
        every |= set(read("d", Chip("b", number, None, None), count, report).values.items())
    return every


@settings(max_examples=150)
@given(st.data())
def test_damaged_output_raises_nothing_else(data: st.DataObject) -> None:
    text = WHOLE[data.draw(st.sampled_from(sorted(WHOLE)))]
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    other = data.draw(st.text(max_size=20))
    numbers(text[:start] + other + text[end:])


@settings(max_examples=100)
@given(st.sampled_from(sorted(WHOLE)), st.data())
def test_output_that_ends_early_invents_nothing(name: str, data: st.DataObject) -> None:
    lines = WHOLE[name].splitlines(keepends=True)
    cut = "".join(lines[: data.draw(st.integers(0, len(lines)))])
    whole = {key for key, _ in numbers(WHOLE[name])}
    shorter = numbers(cut)
    if not any(line.startswith(("│ 0", "│ 1", "│ 2")) for line in cut.splitlines()):
        assert not shorter
    assert {key for key, _ in shorter} <= whole | {("core_utilization_ratio", "0")}
