"""Words for states, recovery actions and failures, whether to colour, and a series put in whole."""

import io
from collections.abc import Mapping

import pytest

from accelwatch.base.absence import Absence
from accelwatch.schema.device import DeviceState
from accelwatch.schema.display import colour
from accelwatch.schema.reading import Collected
from accelwatch.schema.recovery_action import name_of
from accelwatch.schema.status.device_status import state_label, state_severity
from accelwatch.schema.status.failure_text import reason


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("state", "label"),
    [("unresponsive", "hung"), ("suspended", "asleep"), ("lost", "lost"), ("failed", "failed")],
)
def test_a_state_has_the_word_that_people_use(state: str, label: str) -> None:
    assert state_label(state) == label


@pytest.mark.parametrize(
    ("state", "severity"),
    [
        (DeviceState.LOST, "critical"),
        (DeviceState.UNRESPONSIVE, "critical"),
        (DeviceState.DEGRADED, "warning"),
        (DeviceState.OK, "info"),
        (DeviceState.SUSPENDED, "info"),
    ],
)
def test_a_state_is_as_bad_as_its_event(state: DeviceState, severity: str) -> None:
    assert state_severity(state) == severity


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("reset", "gpu_reset"),
        ("drain_p2p", "drain_p2p"),
        ("drain_and_reset", "drain_and_reset"),
        ("bus_reset", "bus_reset"),
        ("something_new", "something_new"),
    ],
)
def test_a_printed_action_has_the_name_of_the_catalogue(text: str, name: str) -> None:
    assert name_of(text) == name


@pytest.mark.parametrize(
    ("choice", "environ", "stream", "coloured"),
    [
        ("always", {"NO_COLOR": "1"}, None, True),
        ("never", {"FORCE_COLOR": "1"}, Terminal(), False),
        ("auto", {}, Terminal(), True),
        ("auto", {}, io.StringIO(), False),
        ("auto", {}, None, False),
        ("auto", {"FORCE_COLOR": "1"}, io.StringIO(), True),
        ("auto", {"NO_COLOR": "1", "FORCE_COLOR": "1"}, Terminal(), False),
        ("auto", {"TERM": "dumb"}, Terminal(), False),
    ],
)
def test_output_is_coloured_by_choice_environment_and_terminal(
    choice: str, environ: Mapping[str, str], stream: io.StringIO | None, coloured: bool
) -> None:
    assert colour(choice, stream, environ) is coloured


def test_a_series_is_put_in_with_its_labels() -> None:
    collected = Collected("nvidia:0")
    collected.record(("clock_hertz", "sm"), 1e9)
    collected.record(("power_watts",), 100.0)
    collected.record(("clock_hertz", "memory"), Absence.UNSUPPORTED)
    assert collected.values == {("clock_hertz", "sm"): 1e9, ("power_watts",): 100.0}
    assert collected.absent == {("clock_hertz", "memory"): Absence.UNSUPPORTED}


@pytest.mark.parametrize(
    ("code", "message", "short"),
    [
        (
            "NVML_ERROR_GPU_IS_LOST",
            "nvidia6: asking for its handle: NVML_ERROR_GPU_IS_LOST; the GPU has fallen off the bus;"
            " reboot the node",
            "the GPU has fallen off the bus (NVML_ERROR_GPU_IS_LOST)",
        ),
        ("timeout", "nvidia6: no answer in 2 s.", "no answer in 2 s"),
        ("79", "nvidia6: it failed", "it failed (79)"),
        ("79", "nvidia6: it failed with 79", "it failed with 79"),
        ("EIO", "nvidia6: it failed: EIO", "it failed: EIO"),
    ],
)
def test_a_failure_in_short_has_its_meaning_and_the_vendors_code(
    code: str, message: str, short: str
) -> None:
    assert reason("nvidia6", code, message) == short
