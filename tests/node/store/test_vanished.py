"""What the collector says of quantities that vanish: each reason, and what is no loss."""

import msgspec
import pytest

from accelwatch.base.absence import Absence
from accelwatch.node.store.own import SelfMetrics
from accelwatch.node.store.vanished import Vanished
from accelwatch.schema.device import DeviceState
from accelwatch.schema.reading import Reading
from accelwatch.schema.snapshot import DeviceView
from support.machines import composed as machines

COUNT = ("collector_vanished_quantities", "nvidia")


def view(state: DeviceState = DeviceState.OK, number: int = 0, **absent: Absence) -> DeviceView:
    """A device with two quantities of which some have no value, but a reason."""
    values = {("power_watts",): 100, ("memory_used_bytes",): 5}
    device = machines.device(number)
    reading = Reading(
        device_id=device.id,
        values={series: value for series, value in values.items() if series[0] not in absent},
        absent={(key,): reason for key, reason in absent.items()},
    )
    whole = machines.view(number)
    return msgspec.structs.replace(whole, state=state, reading=reading, unreported={})


def test_series_of_each_device_are_counted() -> None:
    own = Vanished().series(
        [("nvidia", view()), ("nvidia", view(number=1, power_watts=Absence.ERROR))]
    )
    assert own["collector_device_series", "nvidia", machines.device(0).name] == 2
    assert own["collector_device_series", "nvidia", machines.device(1).name] == 1
    assert own[COUNT] == 0, "a quantity that never had a value has not vanished"


@pytest.mark.parametrize(
    ("reason", "count"),
    [
        (Absence.ERROR, 1),
        (Absence.UNSUPPORTED, 1),
        (Absence.TIMEOUT, 1),
        (Absence.NOT_COLLECTED, 0),
        (Absence.SUSPENDED, 0),
    ],
)
def test_a_quantity_that_had_a_value_and_has_a_reason_now(reason: Absence, count: int) -> None:
    vanished = Vanished()
    vanished.series([("nvidia", view())])
    assert vanished.series([("nvidia", view(power_watts=reason))])[COUNT] == count
    assert vanished.series([("nvidia", view(power_watts=reason))])[COUNT] == count
    assert vanished.series([("nvidia", view())])[COUNT] == 0


def test_a_reason_of_the_kind_counts_too() -> None:
    vanished = Vanished()
    vanished.series([("nvidia", view())])
    silent = view(power_watts=Absence.ERROR)
    reading = msgspec.structs.replace(silent.reading, absent={})
    unreported = {("power_watts",): Absence.UNSUPPORTED}
    silent = msgspec.structs.replace(silent, reading=reading, unreported=unreported)
    assert vanished.series([("nvidia", silent)])[COUNT] == 1
    without = msgspec.structs.replace(silent, unreported={})
    assert vanished.series([("nvidia", without)])[COUNT] == 0


@pytest.mark.parametrize("state", [DeviceState.LOST, DeviceState.UNRESPONSIVE])
def test_of_a_device_that_does_not_answer_nothing_vanishes(state: DeviceState) -> None:
    vanished = Vanished()
    vanished.series([("nvidia", view())])
    assert vanished.series([("nvidia", view(state, power_watts=Absence.LOST))])[COUNT] == 0
    assert vanished.series([("nvidia", view(power_watts=Absence.LOST))])[COUNT] == 1


def test_a_device_that_was_away_starts_anew() -> None:
    vanished = Vanished()
    vanished.series([("nvidia", view())])
    assert vanished.series([]) == {}
    assert vanished.series([("nvidia", view(power_watts=Absence.ERROR))])[COUNT] == 0


def test_how_many_devices_there_are_and_must_be() -> None:
    there, gone = view(), view(DeviceState.LOST, number=1)
    part = msgspec.structs.replace(
        view(number=2), device=msgspec.structs.replace(machines.device(2), parent_id="x")
    )
    views = [("nvidia", one) for one in (there, gone, part)]
    own = SelfMetrics(1.0, expect=8).series(views, {})
    assert own["collector_devices",] == 1
    assert own["collector_devices_expected",] == 8
    assert ("collector_devices",) not in SelfMetrics(1.0).series(views, {})


def test_quantities_that_vanish_from_several_devices_are_added_up() -> None:
    vanished = Vanished()
    whole = [("nvidia", view(number=n)) for n in range(3)]
    vanished.series(whole)
    gone = view(number=0, power_watts=Absence.ERROR, memory_used_bytes=Absence.ERROR)
    other = view(number=2, power_watts=Absence.TIMEOUT)
    assert vanished.series([("nvidia", gone), whole[1], ("nvidia", other)])[COUNT] == 3
    assert vanished.series([("nvidia", gone), whole[1], ("amd", other)])[COUNT] == 2
