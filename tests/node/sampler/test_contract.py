"""What the sampler makes of a backend's readings before they count."""

import threading
from pathlib import Path

import msgspec
import pytest

from accelwatch.base.absence import Absence
from accelwatch.node.sampler.turns import contract
from accelwatch.node.sampler.turns.contract import ContractError, encoded_readings, sound_readings
from accelwatch.schema.device import Device
from accelwatch.schema.reading import Reading
from accelwatch.system.kernel.sysfs import is_left_asleep

DEVICE = Device(id="v:1", vendor="v", backend="b", index=0, name="v0")


def sound(groups: set[str]) -> Reading:
    given = Reading(
        device_id=DEVICE.id,
        values={("voltage_volts", "core"): 0.9, ("power_watts",): 5.0},
        absent={("voltage_volts", "soc"): Absence.ERROR, ("energy_joules_total",): Absence.ERROR},
    )
    (reading,) = sound_readings((given,), (DEVICE,), frozenset(groups))
    return reading


def test_quantities_of_a_group_that_is_off_are_left_out_values_and_absences() -> None:
    reading = sound(set())
    assert ("voltage_volts", "core") not in reading.values
    assert ("power_watts",) in reading.values
    assert reading.absent == {("energy_joules_total",): Absence.ERROR}


def test_quantities_of_a_group_that_is_on_stay() -> None:
    reading = sound({"components"})
    assert reading.values["voltage_volts", "core"] == 0.9
    assert reading.absent["voltage_volts", "soc"] is Absence.ERROR


def decoded(raw: msgspec.Raw) -> tuple[Reading, ...]:
    return msgspec.msgpack.decode(raw, type=tuple[Reading, ...])


def test_what_the_owner_gets_is_what_was_checked() -> None:
    given = Reading(device_id=DEVICE.id, values={("power_watts",): -1.0}, processes=())
    raw = encoded_readings((given,), (DEVICE,), frozenset())
    assert decoded(raw) == sound_readings((given,), (DEVICE,), frozenset())
    assert decoded(raw)[0].absent == {("power_watts",): Absence.ERROR}
    assert decoded(raw)[0].processes == ()


def test_processes_that_were_not_waited_for_are_a_timeout() -> None:
    given = Reading(device_id=DEVICE.id, values={("power_watts",): 5.0}, processes=())
    (reading,) = decoded(encoded_readings((given,), (DEVICE,), frozenset(), searched=False))
    assert reading.processes is None
    assert reading.absent == {("processes",): Absence.TIMEOUT}
    assert reading.values == given.values


def test_bytes_are_checked_as_well_as_readings_are() -> None:
    damaged = Reading(device_id=DEVICE.id, notes=(object(),))  # type: ignore[arg-type]
    mistaken = Reading(device_id=DEVICE.id, notes=(1,))  # type: ignore[arg-type]
    for given in (damaged, mistaken):
        with pytest.raises(ContractError, match="cannot be sent"):
            encoded_readings((given,), (DEVICE,), frozenset())


@pytest.mark.parametrize(
    ("status", "bus", "wake", "left"),
    [
        ("suspended", "0000:65:00.0", False, True),
        ("suspending", "0000:65:00.0", False, True),
        ("active", "0000:65:00.0", False, False),
        ("suspended", "0000:65:00.0", True, False),
        ("suspended", None, False, False),
    ],
)
def test_a_device_is_left_asleep(
    tmp_path: Path, status: str, bus: str | None, wake: bool, left: bool
) -> None:
    folder = tmp_path / "sys/bus/pci/devices/0000:65:00.0/power"
    folder.mkdir(parents=True)
    (folder / "runtime_status").write_text(f"{status}\n")
    assert is_left_asleep(tmp_path, bus, wake=wake) is left


def test_a_kind_that_several_threads_are_first_to_read_is_looked_at_by_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Eight devices tell their first readings at once; msgspec 0.22 may crash when two look at one."""
    reading = Reading(device_id=DEVICE.id, values={("power_watts",): 5.0})
    whole, together = msgspec.msgpack.Decoder, threading.Barrier(8)
    made: list[object] = []

    def make(kind: type[object]) -> object:
        made.append(kind)
        threading.Event().wait(0.02)
        return whole(kind)

    def read() -> None:
        together.wait()
        encoded_readings((reading,), (DEVICE,), frozenset())

    monkeypatch.setattr(contract, "_decoders", {})
    monkeypatch.setattr(msgspec.msgpack, "Decoder", make)
    threads = [threading.Thread(target=read) for _ in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert made == [tuple[Reading, ...]]
