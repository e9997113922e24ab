"""What nvidia-smi cannot tell of a device has its reason, over one machine of ours."""

import pytest

from accelwatch.backend import Backend
from accelwatch.base.absence import Absence
from support.machines.fixture_machines import MACHINES
from support.machines.polling import Poll
from support.machines.staged_machines import FixtureMachine


@pytest.mark.parametrize(
    "machine",
    [one for one in MACHINES if one.name == "nvidia-smi-faulty"],
    ids=lambda one: one.name,
    indirect=True,
)
def test_what_nvidia_smi_cannot_report_is_absent_with_its_reason(
    machine: FixtureMachine, backend: Backend, poll: Poll
) -> None:
    healthy, erring, partly_lost, lost = poll(backend)
    assert healthy.readings[0].values[("power_watts",)] == 642.13
    for key in ("power_watts", "memory_used_bytes", "utilization_ratio"):
        assert erring.readings[0].absent[(key,)] is Absence.ERROR
        if partly_lost.readings:
            assert partly_lost.readings[0].absent[(key,)] is Absence.LOST
    assert lost.error is not None
    assert lost.error.absence is Absence.LOST
