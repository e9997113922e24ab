"""What `accelwatch lab` says before and after a lab runs, where none can, and by its exit code."""

import json
from pathlib import Path

import pytest

from accelwatch.base.errors import UnmetError, UsageError
from accelwatch.cli.startup.app import invoke
from accelwatch_lab.cluster import lab as lab_module
from accelwatch_lab.cluster.lab import Lab, Record
from accelwatch_lab.cluster.processes import Processes
from accelwatch_lab.cluster.scenarios import runner
from accelwatch_lab.cluster.scenarios.catalogue import SCENARIOS
from accelwatch_lab.cluster.scenarios.report import ScenarioReport
from accelwatch_lab.cluster.scheduler import SchedulerKind
from accelwatch_lab.cluster.slurm import scheduler as slurm_scheduler


def test_where_a_requested_slurm_is_missing_the_message_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slurm_scheduler, "missing", lambda: ["slurmctld", "slurmd"])
    words = ["lab", "up", "--scheduler", "slurm", "--folder", str(tmp_path / "lab")]
    with pytest.raises(UnmetError, match=r"slurmctld, slurmd cannot be found.*apt-get install"):
        invoke(words)


def test_the_scheduler_is_the_one_requested_then_the_folder_s_then_what_is_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lab_module, "missing", list)
    assert Lab(tmp_path).kind is SchedulerKind.SLURM
    assert Lab(tmp_path, SchedulerKind.STAND_IN).kind is SchedulerKind.STAND_IN
    monkeypatch.setattr(lab_module, "missing", lambda: ["slurmctld"])
    assert Lab(tmp_path).kind is SchedulerKind.STAND_IN
    (tmp_path / "lab.json").write_text('{"hub": "h", "simulator": "s", "alerts": "a"}')
    assert Lab(tmp_path).kind is SchedulerKind.SLURM


def test_a_lab_that_runs_with_another_scheduler_is_not_taken_for_the_one_requested(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = '{"hub": "h", "simulator": "s", "alerts": "a", "scheduler": "stand-in"}'
    (tmp_path / "lab.json").write_text(text)
    monkeypatch.setattr(Processes, "runs", lambda *_: True)
    record = Lab(tmp_path).record()
    assert record is not None
    assert record.scheduler is SchedulerKind.STAND_IN
    with pytest.raises(UsageError, match=r"with the scheduler stand-in runs .*lab down"):
        Lab(tmp_path, SchedulerKind.SLURM).record()


def test_a_scheduler_that_does_not_exist_is_a_mistake(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no scheduler 'pbs'; there are slurm, stand-in"):
        invoke(["lab", "up", "--scheduler", "pbs", "--folder", str(tmp_path)])


@pytest.mark.parametrize("word", ["up", "down"])
def test_a_folder_of_somebody_else_is_not_touched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, word: str
) -> None:
    monkeypatch.setattr(lab_module, "missing", list)
    (tmp_path / "thesis.tex").write_text("x")
    with pytest.raises(UsageError, match="not a lab folder"):
        invoke(["lab", word, "--folder", str(tmp_path)])
    assert (tmp_path / "thesis.tex").read_text() == "x"


def test_without_a_scenario_they_are_listed(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    assert invoke(["lab", "run"]) == 0
    listed = capsysbinary.readouterr().out.decode()
    assert [line.split()[0] for line in listed.splitlines()] == list(SCENARIOS)


def test_a_scenario_that_does_not_exist_is_a_mistake(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no scenario 'fire'; there are lost-gpu, "):
        invoke(["lab", "run", "fire", "--folder", str(tmp_path)])


@pytest.mark.parametrize(("missing", "code"), [([], 0), (["not seen within 60 s: running"], 1)])
def test_the_exit_code_says_whether_it_ended_as_it_should(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfdbinary: pytest.CaptureFixture[bytes],
    missing: list[str],
    code: int,
) -> None:
    report = ScenarioReport(scenario="lost-gpu", title="x", missing=missing, recovered_s=4.25)
    record = Record(hub="h", simulator="s", alerts="a")
    monkeypatch.setattr(Lab, "record", lambda _: record)
    monkeypatch.setattr(runner, "run_scenario", lambda *_: report)
    words = ["lab", "run", "lost-gpu", "--folder", str(tmp_path)]
    assert invoke(words) == code
    output = capfdbinary.readouterr()
    assert output.out == b"recovered: 4.2 s from the fault to the job's next step\n"
    assert output.err.decode() == "".join(f"accelwatch: lost-gpu: {one}\n" for one in missing)
    assert invoke([*words, "--json"]) == code
    assert json.loads(capfdbinary.readouterr().out)["ended_well"] is not bool(missing)


def test_a_lab_that_runs_is_not_started_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lab_module, "missing", list)
    monkeypatch.setattr(Lab, "record", lambda _: Record(hub="h", simulator="s", alerts="a"))
    with pytest.raises(UsageError, match="runs in .* already"):
        Lab(tmp_path).up()


@pytest.mark.parametrize("given", [True, False])
def test_what_to_try_names_the_folder_where_it_is_not_the_usual_one(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsysbinary: pytest.CaptureFixture[bytes],
    given: bool,
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    record = Record(hub="127.0.0.1:1", simulator="s", alerts="a")
    monkeypatch.setattr(Lab, "up", lambda *_: record)
    folder = tmp_path / "my lab"
    assert invoke(["lab", "up", *(["--folder", str(folder)] if given else [])]) == 0
    output = capsysbinary.readouterr().out.decode()
    assert "accelwatch incidents --hub http://127.0.0.1:1\n" in output
    assert output.endswith(f"lab down --folder '{folder}'\n" if given else "lab down\n")
