import numpy as np
import pytest

from accelwatch.detection.channels.prior import ConfirmedIncident, Prior
from accelwatch.detection.evidence import Channel, Subject
from support.detection.restarts import restore
from support.detection.ticks import Ticks, only

DAY_S = 86400.0


def test_without_a_past_nothing_is_reported() -> None:
    assert Prior().evidence(Ticks().after()) == []


def test_more_and_younger_incidents_weigh_more_and_never_more_than_8() -> None:
    ticks, prior = Ticks(), Prior()
    prior.record(
        [
            ConfirmedIncident(ticks.now, ("device:d1",)),
            ConfirmedIncident(ticks.now - 10 * DAY_S, ("device:d2",)),
            *(ConfirmedIncident(ticks.now - day, ("device:d3",)) for day in range(50)),
        ]
    )
    found = only(prior.evidence(ticks.after()))
    assert (found.channel, found.subject, found.rows.tolist()) == (
        Channel.PRIOR,
        Subject.DEVICE,
        [1, 2, 3],
    )
    young, old, many = found.score
    assert 0 < old < young < many <= 8.0


def test_after_28_days_all_is_forgotten() -> None:
    ticks, prior = Ticks(), Prior()
    prior.record([ConfirmedIncident(ticks.now - 29 * DAY_S, ("node:n2",))])
    assert prior.evidence(ticks.after()) == []


def test_nodes_and_further_keys() -> None:
    ticks, prior = Ticks(), Prior()
    prior.also = {"d5": ("serial:x", "slot:3")}
    prior.record([ConfirmedIncident(ticks.now, ("serial:x", "node:n2"))])
    rows = {item.subject: item.rows.tolist() for item in prior.evidence(ticks.after())}
    assert rows == {Subject.DEVICE: [5], Subject.NODE: [2]}


def test_the_order_of_incidents_is_of_no_matter() -> None:
    ticks, first, second = Ticks(), Prior(), Prior()
    incidents = [ConfirmedIncident(ticks.now - days * DAY_S, ("node:n1",)) for days in (1, 9, 4)]
    first.record(incidents)
    second.record(reversed(incidents))
    tick = ticks.after()
    assert np.allclose(only(first.evidence(tick)).score, only(second.evidence(tick)).score)


def test_a_restart_and_a_reboot_forget_nothing() -> None:
    ticks, prior, other = Ticks(), Prior(), Prior()
    prior.record([ConfirmedIncident(ticks.now, ("device:d1",))])
    restore(prior.state_arrays(), other, (16, 4))
    other.void(np.array([1]), np.array([0]))
    assert only(other.evidence(ticks.after())).rows.tolist() == [1]


@pytest.mark.parametrize("replaced_first", [True, False])
def test_what_is_given_at_a_start_counts_once(*, replaced_first: bool) -> None:
    """Whoever knows the past gives all of it, before or after a snapshot was restored."""
    ticks, before, after = Ticks(), Prior(), Prior()
    past = [ConfirmedIncident(ticks.now - days * DAY_S, ("node:n1",)) for days in (9, 4, 1)]
    before.record(past[:2])
    if not replaced_first:
        restore(before.state_arrays(), after, (16, 4))
    after.replace(past)
    restore(before.state_arrays(), after, (16, 4))
    before.record(past[2:])
    tick = ticks.after()
    assert np.allclose(only(after.evidence(tick)).score, only(before.evidence(tick)).score)
