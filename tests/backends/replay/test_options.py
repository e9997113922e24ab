"""Options of the replay backend, and what opening says when they are wrong."""

from pathlib import Path

import pytest

from accelwatch.backend import Context
from accelwatch.backend.errors import BackendUnavailable
from accelwatch_lab.replay import ReplayBackend, demo_file


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "file is not set"),
        ({"file": "/nowhere/at/all"}, "no recording"),
        ({"file": "demo", "spede": 2}, "did you mean speed?"),
        ({"file": "demo", "speed": 0}, "above 0"),
        ({"file": "demo", "speed": "fast"}, "speed"),
        ({"file": "demo", "start": "soon"}, "not a valid duration"),
        ({"file": "demo", "start": -1}, "negative"),
        ({"file": "/proc/self/fd"}, "no recording in"),
    ],
)
def test_wrong_options_are_named(options: dict[str, object], message: str) -> None:
    backend = ReplayBackend(Context(options=options))
    with pytest.raises(BackendUnavailable, match=message.replace("?", r"\?")) as caught:
        backend.open()
    assert caught.value.remedy


def test_probe_distinguishes_no_file_from_a_missing_one(tmp_path: Path) -> None:
    nothing = ReplayBackend(Context()).probe()
    assert not nothing.present
    missing = ReplayBackend(Context(options={"file": str(tmp_path / "x")})).probe()
    assert missing.present
    assert not missing.checks[0].ok
    assert ReplayBackend(Context(options={"file": "demo"})).probe().checks[0].ok


def test_demo_is_a_file_of_the_package() -> None:
    assert demo_file().is_file()
    assert demo_file().parent.name == "replay"
