"""What a real Slurm, as it is configured, would refuse: it is known before it is asked for."""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from accelwatch.action.intent import IntentKind
from accelwatch.action.step import Refusal, RefusalKind
from accelwatch.cli.startup.app import invoke
from accelwatch.system.files.atomic_file import replace_file
from support.slurm.action_on_cluster import Hand
from support.slurm.lab_cluster import WorkingSlurm, until

Hands = Callable[..., Hand]
NO_PROGRAM = "RebootProgram is not defined in slurm.conf"


@pytest.fixture
def without_program(slurm: WorkingSlurm) -> Iterator[WorkingSlurm]:
    """A cluster whose slurm.conf names no RebootProgram."""
    before = slurm.conf.read_text()
    try:
        reconfigure(slurm, before.replace("RebootProgram=/bin/true\n", ""))
        until(lambda: not defined(slurm), "none is defined")
        yield slurm
    finally:
        reconfigure(slurm, before)
        until(lambda: defined(slurm), "one is defined")


def reconfigure(slurm: WorkingSlurm, conf: str) -> None:
    """Have all daemons read `conf`; a slurmd still reading the previous file never finds it empty."""
    replace_file(slurm.conf, conf.encode())
    slurm.scontrol("reconfigure")


def defined(slurm: WorkingSlurm) -> bool:
    line = next(
        line for line in slurm.scontrol("show", "config").splitlines() if "RebootProgram" in line
    )
    return "/bin/true" in line


def test_a_reboot_without_a_program_is_refused_with_the_reason_and_nothing_is_done(
    without_program: WorkingSlurm, hand: Hands
) -> None:
    one = hand()
    assert one.action.impossible == {}, "nothing was asked yet"
    asyncio.run(one.action.observe_all())
    assert one.action.impossible == {IntentKind.REBOOT: NO_PROGRAM}
    one.pursue(IntentKind.QUARANTINE, "n1")
    end = one.pursue(IntentKind.REBOOT, "n1")
    assert isinstance(end.ending, Refusal)
    assert (end.ending.kind, end.ending.text) == (RefusalKind.IMPOSSIBLE, NO_PROGRAM)
    assert end.kinds == []


def test_what_was_impossible_is_not_any_more_after_a_reconfiguration(
    without_program: WorkingSlurm, hand: Hands
) -> None:
    one = hand()
    asyncio.run(one.action.observe_all())
    reconfigure(without_program, without_program.conf.read_text() + "RebootProgram=/bin/true\n")
    until(lambda: defined(without_program), "one is defined")
    asyncio.run(one.action.observe_all())
    assert one.action.impossible == {}


def configured(slurm: WorkingSlurm, folder: Path) -> str:
    file = folder / "hub.yaml"
    file.write_text(
        "remedy:\n  actions:\n"
        f"  - {{name: cluster, type: slurm, options: {{slurm_conf: {slurm.conf}}}}}\n"
    )
    return str(file)


def test_the_check_of_the_actions_looks_for_the_program(
    without_program: WorkingSlurm, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert invoke(["actions", "check", "-c", configured(without_program, tmp_path)]) == 0
    lines = capfd.readouterr().out.splitlines()
    assert "reboot" not in lines[0]
    assert f"cluster: does not support reboot: {NO_PROGRAM}" in lines


def test_the_check_offers_what_can_be_done(
    slurm: WorkingSlurm, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert invoke(["actions", "check", "-c", configured(slurm, tmp_path)]) == 0
    lines = capfd.readouterr().out.splitlines()
    assert "reboot" in lines[0]
    assert not [line for line in lines if "does not support reboot" in line]


def test_a_check_where_no_slurm_answers_says_that_it_has_not_looked(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "hub.yaml"
    file.write_text(
        "remedy:\n  actions:\n  - {name: cluster, type: slurm, options: {commands: /nowhere}}\n"
    )
    assert invoke(["actions", "check", "-c", str(file)]) == 0
    assert "its scheduler does not answer" in capfd.readouterr().err
