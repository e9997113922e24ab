"""A reason is a word wherever it is shown, and no text anywhere else."""

import pickle

import msgspec
import pytest

from accelwatch.schema.absence import Absence


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
