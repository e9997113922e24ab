import numpy as np
import pytest

from accelwatch.detection.channels.relation import Relation
from accelwatch.detection.evidence import Channel, Evidence, Weight
from support.detection.ticks import CLOCK, LOAD, POWER, RECEIVED, SENT, TABLE, Ticks, only, row


class Machine:
    """Sixteen devices: power follows load and clock, links send what they receive."""

    def __init__(self, *, peers: bool = True) -> None:
        self.ticks = Ticks(comparable=peers)
        self.relation = Relation(TABLE)
        self.ticks.started(self.relation)
        self.random = np.random.default_rng(3)
        self.clock = 1.9e9
        self.extra_w = 0.0
        # What all draw more than before, and of whom power is read.
        self.other_work_w, self.known = 0.0, range(16)
        # Standard deviations of device 5 from its peers; by how much each draws more or less now.
        self.power_z, self.scatter_w = np.nan, 0.0
        self.lost_share = 0.0
        self.period = 40
        # NaN where the clock is not read.
        self.reported_clock = 1.0

    def run(self, count: int) -> list[Evidence]:
        found: list[Evidence] = []
        for number in range(count):
            busy = number // self.period % 2 == 0
            load = np.full(16, 0.99 if busy else 0.1) + self.random.normal(0, 0.003, 16)
            power = 70 + 300 * load + 100 * self.clock / 1e9 + self.random.normal(0, 2, 16)
            power[5] += self.extra_w
            power += self.other_work_w + self.scatter_w * np.linspace(-1, 1, 16)
            power[np.isin(np.arange(16), self.known, invert=True)] = np.nan
            sent = np.full(16, 1e9) + self.random.normal(0, 1e7, 16)
            received = sent.copy()
            received[5] *= 1 - self.lost_share
            found = self.relation.evidence(
                self.ticks.after(
                    {
                        LOAD: load,
                        POWER: power,
                        CLOCK: self.reported_clock * self.clock,
                        RECEIVED: received,
                        SENT: sent,
                    },
                    device_z={POWER: row(16, np.nan, r5=self.power_z)},
                )
            )
        return found


def test_power_that_no_longer_follows_its_load() -> None:
    machine = Machine()
    assert machine.run(400) == []
    machine.extra_w = -60.0
    found = only(machine.run(10))
    assert (found.channel, found.family, found.rows.tolist()) == (
        Channel.RELATION,
        "power",
        [5],
    )
    assert found.score[0] >= 8.0
    assert found.signal.tolist() == [TABLE.devices.position(*POWER)]
    # It does not become the rule within hours.
    assert only(machine.run(360)).score[0] >= 8.0


def test_a_device_at_rest_breaks_no_relation() -> None:
    machine = Machine()
    machine.run(400)
    machine.extra_w = -60.0
    # The last forty ticks of a period are at rest.
    assert machine.run(80) == []


def test_who_draws_what_its_peers_draw_is_in_order() -> None:
    machine = Machine()
    machine.run(400)
    machine.extra_w, machine.power_z = -60.0, -4.9
    assert machine.run(10) == []
    machine.power_z = -5.1
    assert only(machine.run(10)).rows.tolist() == [5]


def test_work_that_breaks_the_relation_of_each_by_another_amount_is_work() -> None:
    machine = Machine()
    machine.run(400)
    machine.scatter_w = 20.0
    assert machine.run(20) == []


def test_a_link_that_receives_less_than_it_sends() -> None:
    machine = Machine()
    machine.run(300)
    machine.lost_share = 0.6
    found = only(machine.run(10))
    assert (found.family, found.rows.tolist()) == ("nvlink", [5])


def test_a_job_that_changes_each_minute_and_a_clock_that_is_lowered_break_nothing() -> None:
    machine = Machine()
    machine.period = 2
    assert machine.run(400) == []
    for number in range(20):
        machine.clock = 1.4e9 if number % 2 else 1.9e9
        machine.run(30)
    machine.clock = 1.4e9
    assert machine.run(30) == []


def test_nothing_is_reported_before_it_is_learned() -> None:
    machine = Machine()
    machine.extra_w = -200.0
    assert machine.run(60) == []


@pytest.mark.parametrize("reason", ["missing", "maintenance", "held"])
def test_what_is_not_known_or_not_judged_says_nothing(reason: str) -> None:
    machine = Machine()
    machine.run(300)
    machine.extra_w = -60.0
    if reason == "missing":
        machine.ticks.missing = {5}
    elif reason == "maintenance":
        machine.ticks.maintenance = {1}
    else:
        machine.ticks.held = True
    assert machine.run(20) == []


def test_a_clock_that_is_not_read_for_some_ticks_breaks_nothing() -> None:
    machine = Machine()
    for clock in (1.9e9, 1.4e9, 1.9e9):
        machine.clock = clock
        machine.run(150)
    machine.reported_clock = np.nan
    assert machine.run(10) == []


def test_what_breaks_for_all_is_their_work() -> None:
    machine = Machine()
    machine.run(400)
    machine.other_work_w = -120.0
    assert machine.run(10) == []


def test_a_device_that_differs_from_peers_of_the_same_slight_change_is_named() -> None:
    machine = Machine()
    machine.run(400)
    machine.other_work_w, machine.extra_w = -4.0, -60.0
    found = only(machine.run(10))
    assert (found.rows.tolist(), found.weight) == ([5], Weight.STATISTICAL)


def test_without_peers_a_break_only_confirms() -> None:
    machine = Machine(peers=False)
    machine.run(400)
    machine.extra_w = -60.0
    found = only(machine.run(10))
    assert (found.rows.tolist(), found.weight) == ([5], Weight.CONFIRMING)


def test_without_peers_more_power_at_the_same_load_is_more_work() -> None:
    machine = Machine(peers=False)
    machine.run(400)
    machine.extra_w = 60.0
    assert machine.run(10) == []


def test_beside_peers_more_power_at_the_same_load_is_named() -> None:
    machine = Machine()
    machine.run(400)
    machine.extra_w = 60.0
    assert only(machine.run(10)).rows.tolist() == [5]


def test_where_too_few_peers_are_known_a_break_only_confirms() -> None:
    machine = Machine()
    machine.known = range(3, 7)
    machine.run(400)
    machine.extra_w = -60.0
    found = only(machine.run(10))
    assert (found.rows.tolist(), found.weight) == ([5], Weight.CONFIRMING)


def test_another_job_has_another_relation() -> None:
    machine = Machine(peers=False)
    machine.run(400)
    machine.ticks.jobs = ("other",)
    machine.extra_w = -60.0
    assert machine.run(100) == []


def test_a_device_without_a_job_keeps_its_relation() -> None:
    machine = Machine(peers=False)
    machine.ticks.job[:] = -1
    machine.run(400)
    machine.ticks.jobs = ("other",)
    machine.extra_w = -60.0
    assert only(machine.run(10)).rows.tolist() == [5]
