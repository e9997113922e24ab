"""When processes of a device are looked for, and what is kept while that takes too long."""

import msgspec
import pytest

from accelwatch.base.absence import Absence
from accelwatch.node.sampler.turns.search import FIRST_PAUSE_S, LONGEST_PAUSE_S, Search
from accelwatch.schema.device import Device
from accelwatch.schema.reading import Process, Reading

DEVICE = Device(id="v:1", vendor="v", backend="b", index=0, name="v0")
POWER, CLOCK = ("power_watts",), ("clock_hertz", "sm")
_decode = msgspec.msgpack.Decoder(tuple[Reading, ...]).decode


def partial() -> Reading:
    """What a backend has of a device before it looks for processes."""
    return Reading(device_id="v:1", values={POWER: 300.0}, absent={CLOCK: Absence.UNSUPPORTED})


def kept(search: Search) -> Reading | None:
    raw = search.numbers((DEVICE,), frozenset())
    if raw is None:
        return None
    (reading,) = _decode(raw)
    return reading


def test_numbers_are_what_was_read_before_the_search() -> None:
    search, reading = Search(), partial()
    search.store_numbers([reading])
    assert isinstance(reading.values, dict)
    reading.values[POWER] = 999.0
    reading.absent[CLOCK] = Absence.ERROR
    numbers = kept(search)
    assert numbers is not None
    assert numbers.values[POWER] == 300.0
    assert numbers.absent[CLOCK] is Absence.UNSUPPORTED


def test_numbers_without_a_search_say_that_processes_came_too_late() -> None:
    search = Search()
    process = Process(device_id="v:1", pid=1)
    search.store_numbers([msgspec.structs.replace(partial(), processes=(process,))])
    numbers = kept(search)
    assert numbers is not None
    assert numbers.processes is None
    assert numbers.absent["processes",] is Absence.TIMEOUT


def test_numbers_are_given_once() -> None:
    search = Search()
    search.store_numbers([partial()])
    assert kept(search) is not None
    assert kept(search) is None


def test_a_device_that_has_not_come_so_far_has_no_numbers() -> None:
    search = Search()
    assert kept(search) is None
    search.store_numbers([partial()])
    assert search.numbers((), frozenset()) is None


def test_numbers_of_the_turn_before_are_forgotten() -> None:
    search = Search()
    search.store_numbers([partial()])
    assert search.due(0.0)
    assert kept(search) is None


def test_numbers_that_break_the_contract_are_none() -> None:
    search = Search()
    search.store_numbers([msgspec.structs.replace(partial(), device_id="another")])
    assert kept(search) is None


def test_nobody_searches_while_a_search_goes_on() -> None:
    search = Search()
    assert search.due(0.0)
    search.call = 7
    assert not search.due(0.0)
    search.finish(0.0, late=False)
    assert search.call is None
    assert search.due(0.0)


def test_a_late_search_is_repeated_ever_later_up_to_a_limit() -> None:
    search, now, pauses = Search(), 0.0, []
    for _ in range(8):
        assert search.due(now)
        search.finish(now, late=True)
        ready = next(pause for pause in range(1, 1000) if search.due(now + pause))
        pauses.append(ready)
        now += ready
    assert pauses == [5, 10, 20, 40, 80, 160, 300, 300]
    assert (FIRST_PAUSE_S, LONGEST_PAUSE_S) == (5.0, 300.0)


@pytest.mark.parametrize("searched", [True, False])
def test_only_a_search_in_time_forgets_the_late_ones(searched: bool) -> None:
    search = Search()
    for now in (0.0, 5.0):
        assert search.due(now)
        search.finish(now, late=True)
    # Two were late: the next is due after ten seconds more.
    assert search.due(15.0 if searched else 14.0) is searched
    search.finish(15.0, late=False)
    assert search.due(14.9) is searched
