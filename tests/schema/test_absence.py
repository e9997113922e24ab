"""A reason is a word wherever it is shown, and no text anywhere else."""

import pickle

import msgspec
import pytest

from accelwatch.base.absence import Absence, reason_of


@pytest.mark.parametrize("reason", Absence)
def test_a_reason_is_shown_and_read_as_its_word(reason: Absence) -> None:
    assert str(reason) == f"{reason}" == reason.value
    assert f"{reason:>15}" == reason.value.rjust(15)
    assert msgspec.json.encode({"power_watts": reason}) == b'{"power_watts":"%s"}' % (
        reason.value.encode()
    )
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(reason), type=Absence) is reason
    assert pickle.loads(pickle.dumps(reason)) is reason
    assert {reason: 1}[Absence(reason.value)] == 1


@pytest.mark.parametrize("reason", Absence)
def test_a_reason_is_no_text(reason: Absence) -> None:
    """What a driver or file answered can be such a word."""
    answered: object = reason.value
    assert not isinstance(reason, str)
    assert reason != answered
    assert answered not in {reason: 1}


@pytest.mark.parametrize(
    ("absent", "reason"),
    [
        ({("fan_speed_ratio", "0"): Absence.LOST}, "lost (the device is gone)"),
        ({("fan_speed_ratio",): Absence.TIMEOUT}, "timeout (the driver did not answer in time)"),
        ({("*",): Absence.SUSPENDED}, "suspended (the device sleeps)"),
        (
            {("*",): Absence.LOST, ("fan_speed_ratio",): Absence.STALE},
            "stale (the last value is too old)",
        ),
        (
            {("fan_speed_ratio",): Absence.STALE, ("fan_speed_ratio", "0"): Absence.PERMISSION},
            "permission (no permission to read it)",
        ),
        ({("fan_speed_ratio", "1"): Absence.LOST}, ""),
        ({}, ""),
    ],
)
def test_the_nearest_reason_of_a_series_is_reported(
    absent: dict[tuple[str, ...], Absence], reason: str
) -> None:
    assert reason_of(absent, ("fan_speed_ratio", "0")) == reason
