"""Commands that print everything and end with a status of failure, as while one card is not well."""

from pathlib import Path

import pytest

from support.machines.fixture_machines import MACHINES
from support.machines.polling import Poll, Polled
from support.machines.staged_machines import FixtureMachine

_NAMES = (
    "ascend-910b4-x2",
    "cambricon-mlu370x8-x2",
    "cambricon-mlu370s4-table-only",
    "furiosa-rngd-x2",
    "furiosa-warboy",
    "gaudi-gaudi2-x2",
    "gaudi-gaudi1-table",
    "hygon-k100ai-x2",
    "hygon-z100-table",
    "iluvatar-bi-v150-x2",
    "metax-c500-x2",
    "mthreads-s5000-x2",
    "mthreads-table-only",
    "neuron-trn1",
    "qualcomm-ai100-x2",
    "rebellions-atom-x2",
    "rebellions-sdk1",
    "tenstorrent-n300",
    "thead-zw810e-x2",
    "tpu-v5e-x4",
)
_CHOSEN = [machine for machine in MACHINES if machine.name in _NAMES]
ENDS_BADLY = "exit 3"
IS_KILLED = "kill -9 $$"


def polled(machine: FixtureMachine, folder: Path, end: str = "") -> list[Polled]:
    """One round in which each run of the vendor's command ends so, after what it prints."""
    folder.mkdir()
    with machine.stage(folder) as staged:
        programs = [path for path in folder.rglob("bin/*") if path.read_bytes()[:2] == b"#!"]
        programs += folder.glob("opt/qti-aic/tools/*")
        for program in programs if end else ():
            program.rename(program.with_suffix(".real"))
            program.write_text(f'#!/bin/sh\n"$0.real" "$@"\n{end}\n')
            program.chmod(0o755)
        assert programs
        backend = staged.backend()
        backend.open()
        polls = Poll(staged.clock)(backend)
        backend.close()
    return polls


def series_of(polls: list[Polled]) -> list[set[tuple[str, ...]]]:
    return [set(reading.values) for one in polls for reading in one.readings]


@pytest.mark.parametrize("machine", _CHOSEN, ids=lambda machine: machine.name)
def test_a_whole_document_counts_whatever_the_status(
    machine: FixtureMachine, tmp_path: Path
) -> None:
    well = polled(machine, tmp_path / "well")
    ill = polled(machine, tmp_path / "ill", ENDS_BADLY)
    assert [one.error for one in ill] == [None] * len(well)
    assert [[who.id for who in one.identity] for one in ill] == [
        [who.id for who in one.identity] for one in well
    ]
    for before, after in zip(series_of(well), series_of(ill), strict=True):
        main = {("temperature_celsius", "gpu"), ("memory_size_bytes",), ("power_watts",)} & before
        assert main <= after


@pytest.mark.parametrize("machine", _CHOSEN, ids=lambda machine: machine.name)
def test_of_a_command_that_was_killed_nothing_counts(
    machine: FixtureMachine, tmp_path: Path
) -> None:
    well = polled(machine, tmp_path / "well")
    killed = polled(machine, tmp_path / "killed", IS_KILLED)
    if any(one.error for one in killed):
        assert all(one.error for one in killed)
        return
    # What the kernel tells of the device stands without the command.
    for before, after in zip(series_of(well), series_of(killed), strict=True):
        assert after < before


def test_every_vendor_is_tried() -> None:
    assert {machine.name for machine in _CHOSEN} == set(_NAMES)
