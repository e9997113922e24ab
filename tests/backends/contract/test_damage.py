"""Damaged answers: no exception but typed ones, and no value where none was given."""

from pathlib import Path

import pytest

from accelwatch.base.errors import AccelwatchError
from support.machines.polling import Poll, readings
from support.machines.staged_machines import FixtureMachine, Stage

# Files by which a device is found at all; they stay, and so does what `machine.finding` names.
_NAMES_OF_DEVICES = {"vendor", "device", "class", "uevent", "revision", "runtime_status"}
# Counted over a list (gpu_vram_bad_pages), of which an empty file is a true answer: no page.
_LISTS = {"memory_retired_pages", "memory_repair_pending", "memory_repair_failed"}
# Words of the kernel's files, whatever stands there: a setting is text, and none is made a number.
_TEXTS = {"host_setting_info"}
DAMAGE = {
    "not available": b"N/A\n",
    "empty": b"",
    "no text": bytes(range(128, 256)) * 40,
    "cut": b"1",
    "nonsense": b"potatoes 12\n",
}


def damage(root: Path, machine: FixtureMachine, content: bytes) -> None:
    """Give every file below /sys and /proc another content, but those that name devices."""
    kept = _NAMES_OF_DEVICES | machine.finding
    for top in ("sys", "proc"):
        for path in (root / top).rglob("*"):
            if path.is_file() and not path.is_symlink() and path.name not in kept:
                path.write_bytes(content)


@pytest.mark.parametrize("content", DAMAGE.values(), ids=DAMAGE.keys())
@pytest.mark.needs("files")
def test_damaged_files_raise_nothing_untyped(
    machine: FixtureMachine, stage: Stage, poll: Poll, content: bytes
) -> None:
    damage(stage.root, machine, content)
    backend = stage.backend()
    backend.probe()
    try:
        backend.open()
    except AccelwatchError:
        return
    for _ in range(2):
        poll(backend)
    backend.close()


@pytest.mark.parametrize("what", ["not available", "empty", "no text", "nonsense"])
@pytest.mark.needs("files")
def test_no_value_is_invented_from_damaged_files(
    machine: FixtureMachine, stage: Stage, poll: Poll, what: str
) -> None:
    damage(stage.root, machine, DAMAGE[what])
    backend = stage.backend()
    backend.open()
    invented = {
        series: value
        for reading in readings(poll(backend))
        for series, value in reading.values.items()
        if series[0] not in _TEXTS and not (what == "empty" and series[0] in _LISTS)
    }
    assert invented == {}
    backend.close()
