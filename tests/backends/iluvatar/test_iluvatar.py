"""What ixsmi says of a GPU, in base units, and what it does not say."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from accelwatch.backend.kit.smi.listing import Listing
from accelwatch.base.absence import Absence
from accelwatch.base.errors import DeviceLost
from accelwatch.schema.device import Device, DeviceKind
from accelwatch.schema.reading import Reading
from accelwatch_iluvatar import IluvatarBackend
from accelwatch_iluvatar.vendor import VENDOR
from backends.iluvatar.machines import DOCUMENTS, staged, write_program
from support.machines.polling import Poll, assert_all_believed, identities, readings
from support.machines.samples import sample
from support.machines.staged_machines import Stage

MIB = 1 << 20
DEVICE = Device(id="d", vendor="iluvatar", backend="iluvatar", index=0, name="iluvatar0")
XML, TEXT = (query.format for query in VENDOR.queries)
PARSERS = {"xml": XML.parse, "query": TEXT.parse, "txt": VENDOR.table.parse}


@contextlib.contextmanager
def opened(folder: Path, name: str) -> Iterator[tuple[Stage, IluvatarBackend]]:
    with staged(folder, name) as machine:
        backend = machine.backend()
        assert isinstance(backend, IluvatarBackend)
        backend.open()
        yield machine, backend
        backend.close()


def listing_of(file: str) -> Listing:
    return PARSERS[file.rsplit(".", 1)[1]]((DOCUMENTS / file).read_bytes())


def reading(file: str, at: int) -> Reading:
    return VENDOR.reading(DEVICE, listing_of(file).gpus[at])


def test_who_a_gpu_is(tmp_path: Path) -> None:
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev/iluvatar2").touch()
    with opened(tmp_path, "bi-v150-x2") as (machine, backend):
        polled = Poll(machine.clock)(backend)
    first, second = identities(polled)
    assert first.id == "iluvatar:GPU-5ca1ab1e-0150-5000-8000-000000000000"
    assert (first.kind, first.model) == (DeviceKind.GPU, "Iluvatar BI-V150")
    assert (first.index, first.name, first.serial) == (0, "iluvatar0", "24000000000000")
    assert (first.vbios_version, first.driver_version) == ("3.0.17", "4.3.0")
    assert (first.pci_bus_id, first.numa_node) == ("0000:13:00.0", 0)
    assert first.part_number == "BI-V150-00"
    assert first.device_nodes == ("/dev/iluvatar2",), "the minor number, not the index"
    assert second.device_nodes == (), "a node that is not there is not named"
    assert_all_believed(identities(polled), readings(polled))


def test_a_gpu_at_work_without_power_of_its_own(tmp_path: Path) -> None:
    with opened(tmp_path, "bi-v150-x2") as (machine, backend):
        first, second = readings(Poll(machine.clock)(backend))
    values = first.values
    assert values["utilization_ratio",] == pytest.approx(0.98)
    assert values["temperature_celsius", "gpu"] == 61.0
    assert values["temperature_limit_celsius", "gpu", "slowdown"] == 95.0
    assert values["temperature_limit_celsius", "gpu", "shutdown"] == 105.0
    assert values["memory_size_bytes",] == 32768 * MIB
    assert values["memory_used_bytes",] == 30064 * MIB
    assert values["clock_hertz", "sm"] == 1.5e9
    assert values["clock_hertz", "memory"] == 1.6e9
    assert values["clock_limit_hertz", "sm", "max"] == 1.6e9
    assert values["pcie_link_generation", "current"] == 4
    assert values["pcie_link_width_lanes", "current"] == 8
    assert values["pcie_link_width_lanes", "max"] == 16
    assert values["ecc_enabled",] == 1
    assert values["ecc_errors_total", "corrected"] == 2
    assert values["ecc_errors_total", "uncorrected"] == 0
    assert values["performance_state",] == 0, "of the table"
    assert first.absent["power_watts",] is Absence.UNSUPPORTED
    assert first.absent["power_limit_watts", "enforced"] is Absence.UNSUPPORTED
    assert first.absent["fan_speed_ratio", "0"] is Absence.UNSUPPORTED
    assert second.values["power_watts",] == 203.0
    assert second.values["power_limit_watts", "enforced"] == 350.0
    assert second.values["ecc_errors_total", "uncorrected"] == 1


def test_the_query_as_text(tmp_path: Path) -> None:
    with opened(tmp_path, "mr-v100") as (machine, backend):
        (one,) = Poll(machine.clock)(backend)
    device, values = one.identity[0], one.readings[0].values
    assert device.id == "iluvatar:GPU-5ca1ab1e-0100-5000-8000-000000000000"
    assert (device.pci_bus_id, device.driver_version) == ("0000:15:00.0", "4.4.0")
    assert (device.serial, device.part_number) == ("23000000000001", "MR-V100-00")
    assert values["power_watts",] == 41.0
    assert values["power_limit_watts", "enforced"] == 150.0
    assert values["power_limit_watts", "default"] == 150.0
    assert values["temperature_celsius", "gpu"] == 37.0
    assert values["memory_used_bytes",] == 68 * MIB
    assert values["clock_hertz", "sm"] == 1.5e9
    assert values["clock_limit_hertz", "sm", "max"] == 1.6e9
    assert values["pcie_link_generation", "max"] == 4
    assert values["pcie_link_width_lanes", "current"] == 16
    assert (values["ecc_enabled",], values["ecc_enabled_pending",]) == (1, 0)
    assert one.readings[0].absent["temperature_celsius", "memory"] is Absence.UNSUPPORTED


@pytest.mark.parametrize(
    ("readings", "watts"),
    [
        ("<gpu_power_draw>57 W</gpu_power_draw>", 57.0),
        ("<power_draw>58.50 W</power_draw>", 58.5),
        ("<gpu_power_draw>N/A</gpu_power_draw><power_draw>59 W</power_draw>", 59.0),
        ("<board_power_draw>203 W</board_power_draw>", None),
        ("<power_draw>60</power_draw>", None),
    ],
)
def test_power_under_the_tags_of_each_release(readings: str, watts: float | None) -> None:
    document = (
        "<ixsmi_log><gpu id='00000000:0C:00.0'><power_readings>"
        f"{readings}</power_readings></gpu></ixsmi_log>"
    )
    (gpu,) = XML.parse(document.encode()).gpus
    assert gpu.pci_bus_id == "0000:0c:00.0"
    assert VENDOR.reading(DEVICE, gpu).values.get(("power_watts",)) == watts


def test_a_gpu_of_which_all_ones_are_read_is_lost(tmp_path: Path) -> None:
    with opened(tmp_path, "bi-v100-bad-day") as (machine, backend):
        polled = Poll(machine.clock)(backend)
    error = polled[1].error
    assert isinstance(error, DeviceLost)
    assert "65535 W" in str(error)
    assert [one.error is None for one in polled] == [True, False, True, True, True]


def test_what_cannot_be_read_hides_nothing_else() -> None:
    odd = reading("bi-v100-bad-day.txt", 2)
    assert odd.absent["temperature_celsius", "gpu"] is Absence.ERROR
    assert odd.absent["power_watts",] is Absence.UNSUPPORTED
    assert odd.absent["memory_used_bytes",] is Absence.UNSUPPORTED
    assert odd.absent["performance_state",] is Absence.UNSUPPORTED
    assert odd.values["memory_size_bytes",] == 32768 * MIB


def test_a_cell_that_was_cut_off_is_no_number() -> None:
    cut = reading("bi-v100-bad-day.txt", 3)
    assert cut.values["power_watts",] == 1055.0
    assert cut.absent["power_limit_watts", "enforced"] is Absence.ERROR, "1250 of perhaps 12500W"
    assert cut.absent["memory_size_bytes",] is Absence.ERROR
    assert cut.values["memory_used_bytes",] == 513 * MIB
    assert reading("bi-v100-bad-day.txt", 4).values["performance_state",] == 2


def test_processes(tmp_path: Path) -> None:
    with opened(tmp_path, "bi-v150-x2") as (machine, backend):
        first, second = readings(Poll(machine.clock)(backend))
    assert first.processes is not None
    assert [(p.pid, p.command, p.gpu_memory_bytes) for p in first.processes] == [
        (4711, "python3", 29000 * MIB),
        (4800, "serve", 1000 * MIB),
    ], "the heading says that it is MiB"
    assert second.processes == ()


def test_an_xml_that_was_cut_is_not_half_a_machine(tmp_path: Path) -> None:
    with opened(tmp_path, "bi-v150-x2") as (machine, backend):
        whole = (tmp_path / "ix.xml").read_text()
        (tmp_path / "ix.xml").write_text(whole[: whole.rfind("\t<gpu ")])
        machine.clock.advance(10)
        polled = Poll(machine.clock)(backend)
    assert [one.error for one in polled] == [None, None], "the table stands in"
    assert polled[1].readings[0].values["temperature_celsius", "gpu"] == 34.0


def test_the_libraries_beside_the_command_are_found_by_it(tmp_path: Path) -> None:
    with staged(tmp_path, "mr-v100") as machine:
        library = tmp_path / "usr/local/corex/lib64/libixml.so"
        library.parent.mkdir()
        library.touch()
        write_program(
            tmp_path, f'[ "$LD_LIBRARY_PATH" = {library.parent} ] && cat {tmp_path}/ix.txt'
        )
        backend = machine.backend()
        assert backend.open().versions == {"driver": "4.4.0"}
        backend.close()


def test_a_command_elsewhere_gets_no_libraries(tmp_path: Path) -> None:
    with staged(tmp_path, "mr-v100") as machine:
        write_program(tmp_path).unlink()
        program = tmp_path / "ixsmi"
        program.write_text(f'#!/bin/sh\n[ -z "$LD_LIBRARY_PATH" ] && cat {tmp_path}/ix.txt\n')
        program.chmod(0o755)
        backend = machine.backend(options={"ixsmi": str(program)})
        with pytest.MonkeyPatch.context() as patch:
            patch.delenv("LD_LIBRARY_PATH", raising=False)
            assert backend.open().versions == {"driver": "4.4.0"}
        backend.close()


@pytest.mark.oracle
@pytest.mark.parametrize(
    ("file", "driver", "model", "bus", "mhz", "celsius", "used", "size", "watts"),
    [
        ("bi_v100_3.2.1", "3.2.1", "BI-V100", "0c", (1500, 1200), 33.0, 0, 16384, (58.0, 250.0)),
        ("bi_v150_4.3.0_rows", None, "BI-V150", "13", (1500, 1600), 35.0, 64, 32768, None),
        ("mr_v100_duo_4.4.0", "4.4.0", "MR-V100 DUO", "35", (500, 1600), 37.0, 68, 32768, None),
    ],
)
def test_recorded_tables(
    file: str,
    driver: str | None,
    model: str,
    bus: str,
    mhz: tuple[int, int],
    celsius: float,
    used: int,
    size: int,
    watts: tuple[float, float] | None,
) -> None:
    found = VENDOR.table.parse(sample(f"iluvatar/cli/ixsmi_{file}.txt").read_bytes())
    (gpu,) = found.gpus
    assert (found.driver_version, found.jobs) == (driver, None)
    assert (gpu.number, gpu.pci_bus_id) == (0, f"0000:{bus}:00.0")
    assert gpu.text(("product_name",)) == f"Iluvatar {model}"
    values = VENDOR.reading(DEVICE, gpu).values
    assert values["utilization_ratio",] == 0.0
    assert values["performance_state",] == 0
    assert values["temperature_celsius", "gpu"] == celsius
    assert values["clock_hertz", "sm"] == mhz[0] * 1e6
    assert values["clock_hertz", "memory"] == mhz[1] * 1e6
    assert values["memory_used_bytes",] == used * MIB
    assert values["memory_size_bytes",] == size * MIB
    power = (values.get(("power_watts",)), values.get(("power_limit_watts", "enforced")))
    assert power == (watts or (None, None))
