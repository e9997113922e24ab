"""What a host must have to be read, and what it says when it has not."""

import pytest

from accelwatch.fleet.follow.failures.faults import Reason, TargetFault
from accelwatch.fleet.ssh.answers import HostProbe
from accelwatch.fleet.ssh.transport import Pace, check
from accelwatch.fleet.ssh.vendors import commands_of, remotes


def why(looked: HostProbe) -> str:
    with pytest.raises(TargetFault) as fault:
        check(looked, remotes())
    assert fault.value.reason is Reason.NO_SOURCE
    assert fault.value.retry_after_s == 60
    return str(fault.value)


def test_a_command_is_enough() -> None:
    check(HostProbe(programs=("/usr/bin/nvidia-smi",)), remotes())


def test_a_command_that_is_missing_for_what_is_on_the_bus() -> None:
    text = why(HostProbe(pci_vendors=frozenset({"10de", "1a03"})))
    assert text == "an accelerator is on its PCI bus, but nvidia-smi is not installed there"


def test_a_vendor_without_a_command_that_is_read() -> None:
    text = why(HostProbe(pci_vendors=frozenset({"1002"})))
    assert text == "an accelerator of amd is read over ssh only where accelwatch is installed"


def test_nothing_at_all() -> None:
    text = why(HostProbe(pci_vendors=frozenset({"1a03"})))
    assert text.startswith("no known accelerator on its PCI bus, and none of ")


def test_commands_are_known_by_backend_and_key() -> None:
    commands = commands_of(remotes())
    assert commands["nvidia.query"].programs == ("nvidia-smi",)
    assert len(commands) == sum(len(remote.commands) for remote in remotes().values())


def test_connections_come_more_slowly_where_some_are_dropped() -> None:
    pace = Pace()
    first_s = pace.apart_s
    pace.logged_in()
    assert pace.apart_s == first_s
    for _ in range(10):
        pace.dropped()
    assert pace.apart_s == 1.0
    for _ in range(100):
        pace.logged_in()
    assert pace.apart_s == first_s
