"""What a site's power commands prove, and for how long."""

import asyncio
from collections.abc import Sequence

import pytest

from accelwatch.action.power_switch import (
    OFF_VALID_S,
    STATE_TIMEOUT_S,
    PowerState,
    check_power,
    command_for,
)
from accelwatch.base.clock import ManualClock
from accelwatch.base.errors import ConfigError
from accelwatch.remediation.execution.pursuits.action_calls import OBSERVE_WITHIN_S


class Switch:
    """A site's command, and what it was run with."""

    def __init__(self, *, off: bool) -> None:
        self.off = off
        self.runs: list[list[str]] = []
        # Seconds that the command had, of each run.
        self.timeouts_s: list[float] = []

    async def succeeds(self, argv: Sequence[str], timeout_s: float) -> bool:
        self.runs.append(list(argv))
        self.timeouts_s.append(timeout_s)
        return self.off


def test_a_command_is_run_for_the_node() -> None:
    switch = Switch(off=True)
    power = PowerState(["/bmc", "off?", "{node}.mgmt"], 60.0, switch.succeeds, ManualClock())
    assert asyncio.run(power.is_off("n1"))
    assert switch.runs == [["/bmc", "off?", "n1.mgmt"]]
    assert command_for(["/bmc", "{node}"], "n2") == ["/bmc", "n2"]


def test_without_a_command_nothing_is_known_to_be_off() -> None:
    switch = Switch(off=True)
    assert not asyncio.run(PowerState([], 60.0, switch.succeeds, ManualClock()).is_off("n1"))
    assert switch.runs == []


def test_a_switch_that_reported_off_is_queried_again_once_the_node_may_have_booted() -> None:
    switch, clock = Switch(off=True), ManualClock()
    power = PowerState(["/bmc"], 60.0, switch.succeeds, clock)
    assert asyncio.run(power.is_off("n1"))
    switch.off = False
    assert asyncio.run(power.is_off("n1"))
    clock.advance(OFF_VALID_S)
    assert not asyncio.run(power.is_off("n1"))
    assert len(switch.runs) == 2


@pytest.mark.parametrize(
    ("timeout_s", "expected"), [(0.2, 0.2), (60.0, STATE_TIMEOUT_S), (600.0, STATE_TIMEOUT_S)]
)
def test_a_state_is_read_within_the_time_of_a_look(timeout_s: float, expected: float) -> None:
    """However long the switch may take to power a node off."""
    switch = Switch(off=False)
    power = PowerState(["/bmc"], timeout_s, switch.succeeds, ManualClock())
    assert not asyncio.run(power.is_off("n1"))
    assert switch.timeouts_s == [expected]
    assert expected < OBSERVE_WITHIN_S


def test_what_is_not_off_is_queried_each_time() -> None:
    switch = Switch(off=False)
    power = PowerState(["/bmc"], 60.0, switch.succeeds, ManualClock())
    assert not asyncio.run(power.is_off("n1"))
    switch.off = True
    assert asyncio.run(power.is_off("n1"))


def test_a_switch_needs_the_command_that_proves_it() -> None:
    with pytest.raises(ConfigError, match="power_state"):
        check_power(["/bmc"], [])
    check_power([], ["/bmc"])
    check_power(["/bmc"], ["/bmc"])
    check_power([], [])
