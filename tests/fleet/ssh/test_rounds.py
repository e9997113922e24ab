"""What becomes of a round: devices as the fleet takes them, and devices not reported now."""

from collections.abc import Mapping, Sequence

import pytest

from accelwatch.backend.errors import BackendUnavailable
from accelwatch.backend.kit.remote import CommandOutput, Remote, RemoteCommand, RemoteRow
from accelwatch.base.absence import Absence
from accelwatch.base.errors import DeviceLost, DeviceTimeout
from accelwatch.fleet.follow.failures.faults import Reason, TargetFault
from accelwatch.fleet.ssh.rounds import RoundReader
from accelwatch.schema.device import DeviceState
from accelwatch.schema.health import Health
from accelwatch.schema.reading import Reading
from support.machines import composed as machines

MARK = "0123456789abcdef"


class Scripted:
    """Returns what the test gave it, round by round."""

    def __init__(self, *rounds: Sequence[RemoteRow] | Exception) -> None:
        self._rounds = list(rounds)

    def read(self, outputs: Mapping[str, CommandOutput]) -> Sequence[RemoteRow]:
        rows = self._rounds.pop(0)
        if isinstance(rows, Exception):
            raise rows
        return rows


def row(index: int, watts: float = 100.0) -> RemoteRow:
    device = machines.device(index)
    return device, Reading(device_id=device.id, values={("power_watts",): watts})


def body(*names: str) -> bytes:
    parts = [
        f"\n{MARK} begin {name}.q /usr/bin/{name}-smi\nx\n{MARK} status 0\n\n{MARK} end\n"
        for name in names
    ]
    return "".join(parts).encode()


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        self.now += 10.0
        return self.now


def reader(**scripts: Scripted) -> RoundReader:
    known = {
        name: Remote(
            commands=(RemoteCommand(key="q", programs=(f"{name}-smi",)),),
            reader=lambda scripted=scripted: scripted,  # type: ignore[misc]
        )
        for name, scripted in scripts.items()
    }
    return RoundReader(known, MARK, Clock())


def test_devices_of_all_vendors_of_a_host_are_one_list() -> None:
    exposed = reader(a=Scripted([row(0)]), b=Scripted([row(1)]))(body("a", "b"))
    assert exposed.dialect == "ssh:a-smi+ssh:b-smi"
    assert [view.device.index for view in exposed.devices] == [0, 1]
    first = exposed.devices[0]
    assert (first.state, first.health, first.state_since) == (DeviceState.OK, Health.OK, 1010.0)
    assert first.reading.absent["temperature_celsius",] is Absence.UNSUPPORTED


def test_a_number_that_cannot_be_true_is_none() -> None:
    (view,) = reader(a=Scripted([row(0, 1e9)]))(body("a")).devices
    assert view.reading.absent["power_watts",] is Absence.ERROR


def test_a_device_that_is_lost_keeps_its_row_and_the_time() -> None:
    device = machines.device(0)
    lost = DeviceLost("GPU is lost", code="lost")
    read = reader(a=Scripted([row(0)], [(device, lost)], [(device, lost)]))
    read(body("a"))
    (view,) = read(body("a")).devices
    assert (view.state, view.health, view.sample_time) == (DeviceState.LOST, Health.FAILED, None)
    assert "GPU is lost" in view.health_reasons
    (again,) = read(body("a")).devices
    assert again.state_since == view.state_since == 1020.0


@pytest.mark.parametrize(
    ("failure", "state"),
    [
        (DeviceTimeout("a-smi did not end", code="timeout"), DeviceState.UNRESPONSIVE),
        (BackendUnavailable("no driver", reason="driver"), DeviceState.DEGRADED),
        (ZeroDivisionError("a bug"), DeviceState.DEGRADED),
    ],
)
def test_where_a_command_fails_the_devices_of_before_stay(
    failure: Exception, state: DeviceState
) -> None:
    read = reader(a=Scripted([row(0)], failure, [row(0)]), b=Scripted([row(1)], [row(1)], [row(1)]))
    read(body("a", "b"))
    failed, well = read(body("a", "b")).devices
    assert (failed.state, well.state) == (state, DeviceState.OK)
    assert failed.reading.values == {}
    assert read(body("a", "b")).devices[0].state is DeviceState.OK


def test_where_nothing_was_ever_reported_the_host_says_why() -> None:
    failure = BackendUnavailable("the driver is not loaded", reason="driver_not_loaded")
    with pytest.raises(TargetFault, match="the driver is not loaded") as fault:
        reader(a=Scripted(failure))(body("a"))
    assert fault.value.reason is Reason.NO_SOURCE
    with pytest.raises(TargetFault, match="list no accelerator"):
        reader(a=Scripted([]))(body("a"))


def test_rows_that_break_their_contract_cost_their_backend_only() -> None:
    device, _ = row(0)
    stranger = (device, Reading(device_id="somebody else"))
    exposed = reader(a=Scripted([stranger]), b=Scripted([row(1)]))(body("a", "b"))
    assert [view.state for view in exposed.devices] == [DeviceState.DEGRADED, DeviceState.OK]
    twice = reader(a=Scripted([row(0), row(0)]), b=Scripted([row(1)]))(body("a", "b"))
    assert [view.device.index for view in twice.devices] == [1]


def test_what_devices_have_in_common_is_held_once() -> None:
    """A fleet's devices are reported again in every round, the names of their values are most of it."""
    first, second = reader(a=Scripted([row(0), row(1, 200.0)]))(body("a")).devices
    assert first.reading.absent is second.reading.absent
    assert next(iter(first.reading.values)) is next(iter(second.reading.values))


def test_what_is_not_in_the_catalogue_is_left_out_and_reported() -> None:
    device, _ = row(0)
    odd = Reading(device_id=device.id, values={("power_watts",): 1.0, ("no_such",): 2.0})
    (view,) = reader(a=Scripted([(device, odd)]))(body("a")).devices
    assert set(view.reading.values) == {("power_watts",)}
    assert "no_such" in view.reading.notes[0]


def test_a_device_that_is_lost_in_the_first_round_has_no_start() -> None:
    lost = DeviceLost("GPU is lost", code="lost")
    rows = [(machines.device(0), lost)]
    read = reader(a=Scripted(rows, rows, [row(0)], rows))
    assert [read(body("a")).devices[0].state_since for _ in range(4)] == [0.0, 0.0, 1030.0, 1040.0]
