"""What mthreads-gmi says of a GPU, in base units, and what it does not say."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from accelwatch.backend.kit.smi.listing import Listing
from accelwatch.base.absence import Absence
from accelwatch.schema.device import Device, DeviceKind, DeviceState
from accelwatch.schema.health import Health, evaluate_health
from accelwatch.schema.reading import Reading
from accelwatch_mthreads import MthreadsBackend
from accelwatch_mthreads.vendor import VENDOR
from backends.mthreads.machines import DOCUMENTS, document, staged, write_program
from support.machines.polling import Poll, assert_all_believed, identities, loss, readings
from support.machines.samples import sample
from support.machines.staged_machines import Stage

MIB = 1 << 20
DEVICE = Device(id="d", vendor="mthreads", backend="mthreads", index=0, name="mtgpu0")
JSON, TEXT = (query.format for query in VENDOR.queries)


@contextlib.contextmanager
def opened(folder: Path, name: str) -> Iterator[tuple[Stage, MthreadsBackend]]:
    with staged(folder, name) as machine:
        backend = machine.backend()
        assert isinstance(backend, MthreadsBackend)
        backend.open()
        yield machine, backend
        backend.close()


def listing_of(name: str) -> Listing:
    return JSON.parse((DOCUMENTS / f"{name}.json").read_bytes())


def reading(name: str, at: int) -> Reading:
    return VENDOR.reading(DEVICE, listing_of(name).gpus[at])


def test_who_a_gpu_is(tmp_path: Path) -> None:
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev/mtgpu.0").touch()
    with opened(tmp_path, "s5000-x2") as (machine, backend):
        polled = Poll(machine.clock)(backend)
    first, second = identities(polled)
    assert first.id == "mthreads:5ca1ab1e-0005-4000-8000-000000000000"
    assert (first.kind, first.model, first.architecture) == (DeviceKind.GPU, "MTT S5000", "mp_31")
    assert (first.index, first.name, first.serial) == (0, "mtgpu0", "MY00000000000000")
    assert (first.vbios_version, first.driver_version) == ("4.3.45", "3.3.8-server")
    assert (first.pci_bus_id, first.numa_node) == ("0000:18:00.0", 1)
    assert first.device_nodes == ("/dev/mtgpu.0",)
    assert second.device_nodes == (), "a node that is not there is not named"
    assert_all_believed(identities(polled), readings(polled))


def test_a_gpu_at_work() -> None:
    values = reading("s5000-x2", 0).values
    assert values["utilization_ratio",] == pytest.approx(0.97)
    assert values["engine_utilization_ratio", "decoder"] == pytest.approx(0.03)
    assert values["temperature_celsius", "gpu"] == 61.0
    assert values["temperature_celsius", "memory"] == 66.0
    assert values["power_watts",] == pytest.approx(642.18)
    assert values["power_limit_watts", "enforced"] == 950.0
    assert values["power_limit_watts", "default"] == 950.0
    assert values["memory_size_bytes",] == 81920 * MIB
    assert values["memory_used_bytes",] == 66048 * MIB
    assert values["clock_hertz", "graphics"] == 1.75e9
    assert values["clock_hertz", "memory"] == 2.5e9
    assert values["clock_limit_hertz", "graphics", "max"] == 1.75e9
    assert values["pcie_link_generation", "current"] == 5
    assert values["pcie_link_width_lanes", "max"] == 16
    assert values["performance_state",] == 0
    assert values["ecc_enabled",] == 1
    assert values["memory_retired_pages", "double_bit"] == 0
    assert values["memory_repair_pending",] == 0


def test_what_the_command_does_not_say_is_unsupported() -> None:
    absent = reading("s5000-x2", 0).absent
    assert absent["fan_speed_ratio",] is Absence.UNSUPPORTED
    assert absent["power_limit_watts", "max"] is Absence.UNSUPPORTED
    assert absent["temperature_limit_celsius", "gpu", "slowdown"] is Absence.UNSUPPORTED


def test_the_query_as_text(tmp_path: Path) -> None:
    with opened(tmp_path, "s80") as (machine, backend):
        (one,) = Poll(machine.clock)(backend)
    device, values = one.identity[0], one.readings[0].values
    assert device.id == "mthreads:5ca1ab1e-0080-4000-8000-000000000000"
    assert (device.model, device.architecture) == ("MTT S80", "mp_21")
    assert (device.pci_bus_id, device.driver_version) == ("0000:01:00.0", "3.0.0")
    assert values["utilization_ratio",] == pytest.approx(0.07)
    assert values["power_watts",] == pytest.approx(53.59)
    assert values["memory_used_bytes",] == 662 * MIB
    assert values["clock_hertz", "graphics"] == 1.6e9
    assert values["clock_limit_hertz", "graphics", "max"] == 1.8e9
    assert values["pcie_link_generation", "current"] == 4
    assert values["pcie_link_generation", "max"] == 5
    assert values["pcie_link_width_lanes", "current"] == 4
    assert values["pcie_link_width_lanes", "max"] == 16
    assert values["fan_speed_ratio", "0"] == pytest.approx(0.35)
    assert one.readings[0].absent["fan_speed_ratio", "2"] is Absence.UNSUPPORTED
    assert one.readings[0].absent["ecc_enabled",] is Absence.UNSUPPORTED
    assert one.readings[0].absent["performance_state",] is Absence.UNSUPPORTED


def test_a_command_that_has_only_its_table(tmp_path: Path) -> None:
    with opened(tmp_path, "s80") as (machine, backend):
        (tmp_path / "gmi.query").unlink()
        machine.clock.advance(10)
        backend.close()
        backend.open()
        (one,) = Poll(machine.clock)(backend)
        calls = tmp_path / "calls"
        write_program(tmp_path, f'echo "[$*]" >> {calls}; cat {tmp_path}/gmi.txt')
        machine.clock.advance(10)
        Poll(machine.clock)(backend)
    values = one.readings[0].values
    assert one.identity[0].id == "mthreads:0000:01:00.0"
    assert values["temperature_celsius", "gpu"] == 41.0
    assert values["memory_used_bytes",] == 662 * MIB
    assert values["pcie_link_width_lanes", "current"] == 4
    assert one.readings[0].absent["power_watts",] is Absence.UNSUPPORTED
    assert calls.read_text() == "[]\n", "what it does not know is not asked again"


def test_the_table_adds_what_the_query_lacks(tmp_path: Path) -> None:
    with opened(tmp_path, "s5000-x2") as (machine, backend):
        rest = document("s5000-x2")
        gpus = rest["GPU"]
        assert isinstance(gpus, list)
        del gpus[0]["Performance State"], gpus[0]["Ecc Mode"]
        gpus[0]["Temperature"]["GPU Current Temp"] = "62C"
        (tmp_path / "gmi.json").write_bytes(msgspec.json.encode(rest))
        machine.clock.advance(10)
        (first, _) = Poll(machine.clock)(backend)
    values = first.readings[0].values
    assert values["performance_state",] == 0
    assert values["ecc_enabled",] == 1, "On-die, EDC"
    assert values["temperature_celsius", "gpu"] == 62.0, "the query's word stands"


def test_processes(tmp_path: Path) -> None:
    with opened(tmp_path, "s5000-x2") as (machine, backend):
        polled = Poll(machine.clock)(backend)
    processes = polled[0].readings[0].processes
    assert processes is not None
    assert [(p.pid, p.command, p.gpu_memory_bytes) for p in processes] == [
        (4711, "python3", 65024 * MIB),
        (4800, "serve", 1024 * MIB),
        (4900, "app", None),
    ]
    assert processes[2].absent["gpu_memory_bytes"] is Absence.UNSUPPORTED
    assert polled[1].readings[0].processes == ()


@pytest.mark.parametrize(("at", "health"), [(0, Health.DEGRADED), (1, Health.OK), (2, Health.OK)])
def test_health(at: int, health: Health) -> None:
    assert evaluate_health(DeviceState.OK, reading("s4000-bad-day", at), [], 0.0).health is health


def test_pages_that_wait_to_be_retired() -> None:
    values = reading("s4000-bad-day", 0).values
    assert values["memory_repair_pending",] == 1
    assert values["memory_retired_pages", "single_bit"] == 3
    assert values["memory_retired_pages", "double_bit"] == 1


def test_what_cannot_be_read_hides_nothing_else() -> None:
    odd = reading("s4000-bad-day", 1)
    assert odd.absent["utilization_ratio",] is Absence.UNSUPPORTED
    assert odd.absent["engine_utilization_ratio", "encoder"] is Absence.ERROR
    assert odd.absent["temperature_celsius", "gpu"] is Absence.ERROR
    assert odd.absent["clock_hertz", "graphics"] is Absence.UNSUPPORTED
    assert odd.absent["ecc_enabled",] is Absence.ERROR
    assert odd.absent["performance_state",] is Absence.ERROR
    assert odd.absent["memory_used_bytes",] is Absence.UNSUPPORTED
    assert odd.values["memory_size_bytes",] == 49152 * MIB


def test_a_limit_of_no_watts_is_none() -> None:
    absent = reading("s4000-bad-day", 1).absent
    assert absent["power_limit_watts", "enforced"] is Absence.UNSUPPORTED
    assert absent["power_limit_watts", "default"] is Absence.UNSUPPORTED


def test_more_memory_in_use_than_there_is_cannot_be_true() -> None:
    odd = reading("s4000-bad-day", 2)
    assert odd.absent["memory_used_bytes",] is Absence.ERROR
    assert odd.values["memory_size_bytes",] == 32768 * MIB
    assert "IOMMU" in odd.notes[0]


def test_a_memory_of_less_than_nothing_hides_no_other_number() -> None:
    block = {"Index": 0, "FB Memory Usage": {"Total": "-1MiB"}, "Utilization": {"Gpu": "7%"}}
    (gpu,) = JSON.parse(msgspec.json.encode({"GPU": [block]})).gpus
    result = VENDOR.reading(DEVICE, gpu)
    assert result.absent["memory_used_bytes",] is Absence.UNSUPPORTED
    assert result.values["utilization_ratio",] == pytest.approx(0.07)


def test_memory_that_is_full_is_believed() -> None:
    block = {"Index": 0, "FB Memory Usage": {"Total": "8MiB", "Used": "8MiB"}}
    (gpu,) = JSON.parse(msgspec.json.encode({"GPU": [block]})).gpus
    assert VENDOR.reading(DEVICE, gpu).values["memory_used_bytes",] == 8 * MIB
    assert VENDOR.reading(DEVICE, gpu).notes == ()


@pytest.mark.parametrize(
    ("text", "expected"),
    [("On-die, EDC", 1), ("Enabled", 1), ("Disabled", 0), ("On-die, perhaps", Absence.ERROR)],
)
def test_ecc_as_a_switch_or_as_what_protects(text: str, expected: object) -> None:
    (gpu,) = JSON.parse(
        msgspec.json.encode({"GPU": [{"Index": 0, "Ecc Mode": {"Current": text}}]})
    ).gpus
    result = VENDOR.reading(DEVICE, gpu)
    key = ("ecc_enabled",)
    assert result.values.get(key, result.absent.get(key)) == expected


def test_a_gpu_without_uuid_goes_by_its_slot(tmp_path: Path) -> None:
    with opened(tmp_path, "s4000-bad-day") as (_, backend):
        (device,) = backend.identify(backend.discover()[1])
    assert (device.id, device.uuid) == ("mthreads:0000:09:00.0", None)


def test_an_unlisted_gpu_is_lost_and_takes_no_name_of_another(tmp_path: Path) -> None:
    with opened(tmp_path, "s5000-x2") as (machine, backend):
        rest = document("s5000-x2")
        gpus = rest["GPU"]
        assert isinstance(gpus, list)
        (tmp_path / "gmi.json").write_bytes(
            msgspec.json.encode({**rest, "GPU": [{**gpus[1], "Index": "0"}]})
        )
        machine.clock.advance(10.0)
        gone, there = backend.discover()
        assert (gone.name, there.name) == ("mtgpu1", "mtgpu0")
        lost = loss(backend, machine.clock, gone)
    assert "does not list the GPU at 0000:18:00.0" in str(lost)


def test_gpus_stand_in_the_order_of_the_bus(tmp_path: Path) -> None:
    with opened(tmp_path, "s5000-x2") as (_, backend):
        buses = [device.pci_bus_id for device in backend.discover()]
    assert buses == ["0000:18:00.0", "0000:3a:00.0"]


@pytest.mark.oracle
@pytest.mark.parametrize(
    ("file", "driver", "model", "bus", "used", "size", "celsius", "lanes", "state", "ecc"),
    [
        ("s80_2.7.0", "2.7.0", "MTT S80", "0000:04:00.0", 2, 16384, 49.0, 4, None, None),
        ("s5000_5.1.0", "5.1.0-server", "MTT S5000", "0000:18:00.0", 0, 81920, 48.0, 16, 0, 1),
    ],
)
def test_recorded_tables(
    file: str,
    driver: str,
    model: str,
    bus: str,
    used: int,
    size: int,
    celsius: float,
    lanes: int,
    state: int | None,
    ecc: int | None,
) -> None:
    found = VENDOR.table.parse(sample(f"mthreads/cli/mthreads_gmi_{file}.txt").read_bytes())
    (gpu,) = found.gpus
    assert (found.driver_version, found.jobs) == (driver, None)
    assert (gpu.number, gpu.pci_bus_id, gpu.text(("product name",))) == (0, bus, model)
    values = VENDOR.reading(DEVICE, gpu).values
    assert values["utilization_ratio",] == 0.0
    assert values["memory_used_bytes",] == used * MIB
    assert values["memory_size_bytes",] == size * MIB
    assert values["temperature_celsius", "gpu"] == celsius
    assert values["pcie_link_width_lanes", "current"] == lanes
    assert values["pcie_link_width_lanes", "max"] == 16
    assert values.get(("performance_state",)) == state
    assert values.get(("ecc_enabled",)) == ecc
    assert gpu.text(("devicetype",)) == "Physical"
    assert gpu.text(("mpc capable",)) == "YES"
