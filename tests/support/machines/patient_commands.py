"""The vendor commands of fixture machines are waited for, however busy the machine of the tests is.

A backend waits fractions of a second for a command while it has an older answer, and few seconds for the
first one. A test that advances its clock means the answer of the command as it is now.
"""

import pytest

from support.processes.waiting import GUARD_S

# What a backend waits for, by the name of the limit; seconds.
_LIMITS_S = {
    "accelwatch.backend.kit.polled.PATIENCE_S": GUARD_S,
    "accelwatch.backend.kit.vendor_tool._FIRST_WAIT_S": GUARD_S,
    "accelwatch_apple.session._FIRST_WAIT_S": GUARD_S,
    "accelwatch_neuron.backend._FIRST_WAIT_S": GUARD_S,
    "accelwatch_rebellions.backend._DAEMON_S": GUARD_S,
    "accelwatch_tpu.backend._FIRST_WAIT_S": GUARD_S,
    "accelwatch_tpu.backend._RUNTIME_S": GUARD_S,
    # Some machines have a command that never says anything.
    "accelwatch_jetson.ticker._QUICK_S": 10.0,
}


@pytest.fixture(autouse=True)
def patient_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    """For every test of a folder whose conftest imports it."""
    for limit, seconds in _LIMITS_S.items():
        monkeypatch.setattr(limit, seconds)
