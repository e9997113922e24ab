"""The newest whole checkpoint of a job is found by a pattern, and by nothing that hangs."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from accelwatch.action import checkpoint_paths as checkpoints
from accelwatch.action.checkpoint_options import CheckpointOptions
from accelwatch.action.step import ReportStatus, Step
from accelwatch.base.errors import ConfigError
from accelwatch_script.checkpoint_search import CheckpointSearch
from support.actions.hooks import MOVE, intent, operation, printing, program, script

PATTERN = "/srv/{job}/copy-{copy}/step-{step}"


def newest(*paths: str, pattern: str = PATTERN, job: str = "42") -> str:
    return checkpoints.newest([tuple(path.split("/")) for path in paths], pattern, job)


@pytest.mark.parametrize(
    ("paths", "expected"),
    [
        ([], ""),
        (["/srv/42/copy-0/step-9", "/srv/42/copy-0/step-10"], "/srv/42/copy-0/step-10"),
        # An old copy may have gone on for a while.
        (["/srv/42/copy-0/step-50", "/srv/42/copy-1/step-20"], "/srv/42/copy-1/step-20"),
        (["/srv/43/copy-0/step-9", "/srv/42/copy-0/step-x", "/srv/42/copy-0/step-7.part"], ""),
    ],
)
def test_the_greatest_copy_and_step_is_the_newest(paths: list[str], expected: str) -> None:
    assert newest(*paths) == expected


def test_a_pattern_without_copies() -> None:
    paths = ("/a/run-x/000009", "/a/run-y/000100", "/a/b/run-y/000900")
    assert newest(*paths, pattern="/a/run-*/{step}") == "/a/run-y/000100"


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("srv/{step}", "expected an absolute path"),
        ("/srv/latest", "expected {step} once"),
        ("/srv/{step}/{step}", "expected {step} once"),
        ("/srv/{step}/{copy}", "expected {copy} once at most, before {step}"),
        ("/srv/{name}/{step}", "only {job}, {copy}, {step} and *"),
    ],
)
def test_mistakes_in_a_pattern(pattern: str, text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        script(
            observe={"argv": ["/bin/true"]},
            hooks={"move_job": {"argv": ["/bin/true"]}},
            checkpoints={"pattern": pattern},
        )
    assert f"checkpoints.pattern: {text}" in str(caught.value)


def searched(folder: Path, job: str = "42", complete: str = "", timeout_s: float = 60.0) -> str:
    options = CheckpointOptions(pattern=f"{folder}/{{job}}/step-{{step}}", complete=complete)
    search = CheckpointSearch(options, None)
    search.timeout_s = timeout_s
    return asyncio.run(search.newest(job))[0]


def test_only_whole_ones_count(tmp_path: Path) -> None:
    for step in (8, 9, 10):
        (tmp_path / "42" / f"step-{step}").mkdir(parents=True)
    (tmp_path / "42" / "step-9" / "DONE").touch()
    assert searched(tmp_path) == f"{tmp_path}/42/step-10"
    assert searched(tmp_path, complete="DONE") == f"{tmp_path}/42/step-9"


@pytest.mark.parametrize("job", ["..", "*", "a/b", ""])
def test_a_job_is_no_pattern(tmp_path: Path, job: str) -> None:
    (tmp_path / "step-1").mkdir()
    assert searched(tmp_path, job) == ""


def test_what_stands_in_a_checkpoint_may_be_meant(tmp_path: Path) -> None:
    for step in (8, 9):
        (tmp_path / f"step-{step}").mkdir()
    (tmp_path / "step-8" / "model.pt").touch()
    pattern = f"{tmp_path}/step-{{step}}/model.pt"
    search = CheckpointSearch(CheckpointOptions(pattern=pattern), None)
    search.timeout_s = 60.0
    assert asyncio.run(search.newest("42")) == (f"{tmp_path}/step-8/model.pt", "")


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    assert searched(tmp_path) == ""


def test_a_search_that_hangs_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hanging = tmp_path / "hanging.py"
    hanging.write_text("import time\ntime.sleep(3600)\n")
    monkeypatch.setattr(checkpoints, "__file__", str(hanging))
    assert searched(tmp_path, timeout_s=0.1) == ""


def test_too_many_names_find_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for step in range(5):
        (tmp_path / f"step-{step}").mkdir()
    pattern = f"{tmp_path}/step-{{step}}"
    monkeypatch.setattr(checkpoints, "MOST_ENTRIES", 4)
    assert checkpoints.main(pattern, "42", "") == 1
    monkeypatch.setattr(checkpoints, "MOST_ENTRIES", 5)
    assert checkpoints.main(pattern, "42", "") == 0
    assert capsys.readouterr().out == f"{tmp_path}/step-4\n{tmp_path}/step-3"


def test_a_move_is_given_what_is_found(tmp_path: Path) -> None:
    (tmp_path / "42" / "step-900").mkdir(parents=True)
    job: dict[str, Any] = {
        "id": "42",
        "state": "running",
        "nodes": ["n2", "n3"],
        "requeueable": True,
    }
    node = {"name": "n3", "standing": "open", "answering": True}
    made = script(
        observe={"argv": printing(tmp_path, node=node, job=job)},
        hooks={"move_job": {"argv": ["/bin/true"]}},
        checkpoints={"pattern": f"{tmp_path}/{{job}}/step-{{step}}"},
    )

    async def scenario() -> None:
        wanted = intent(**MOVE)
        step = made.propose(wanted, await made.observe(wanted))
        assert isinstance(step, Step)
        assert step.arguments["checkpoint"] == f"{tmp_path}/42/step-900"

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (("copy-0/step-8", "copy-0/step-9"), "copy-0/step-8"),
        (("copy-0/step-8", "copy-1/step-9", "copy-1/step-8"), "copy-1/step-8"),
        # Another copy of the same step may be as broken.
        (("copy-0/step-9", "copy-1/step-9", "copy-0/step-7"), "copy-0/step-7"),
        (("copy-0/step-9",), ""),
    ],
)
def test_the_one_before_has_a_smaller_step(
    tmp_path: Path, made: tuple[str, ...], expected: str
) -> None:
    for one in made:
        (tmp_path / "42" / one).mkdir(parents=True)
    pattern = f"{tmp_path}/{{job}}/copy-{{copy}}/step-{{step}}"
    for earlier in (True, False):
        search = CheckpointSearch(CheckpointOptions(pattern=pattern, earlier=earlier), None)
        search.timeout_s = 60.0
        before = asyncio.run(search.newest("42"))[1]
        assert before == (f"{tmp_path}/42/{expected}" if expected and earlier else "")


@pytest.mark.parametrize("name", ["step 8", "step-8;rm", "step-8$x", "a" * 201])
def test_one_with_special_characters_is_not_passed_on(name: str) -> None:
    options = CheckpointOptions(pattern="/srv/{job}/{step}", earlier=True)
    assert options.read(f"/srv/9\n/srv/{name}") == ("/srv/9", "")


def test_a_hook_names_both_and_gets_the_one_to_start_from(tmp_path: Path) -> None:
    job = {"id": "42", "state": "ended", "failed": True, "nodes": ["n2"], "requeueable": True}
    node = {"name": "n3", "standing": "open", "answering": True}
    passed = tmp_path / "told"
    names = {"checkpoint": "/c/9", "checkpoint_before": "/c/8"}
    made = script(
        observe={"argv": printing(tmp_path, node=node, job=job, **names)},
        hooks={"move_job": {"argv": [program(tmp_path, f"echo $ACCELWATCH_BEGIN_FROM >{passed}")]}},
    )
    wanted = intent(**MOVE, revive=True, checkpoint="/c/8")

    async def scenario() -> None:
        seen = await made.observe(wanted)
        assert seen.job is not None
        assert (seen.job.checkpoint, seen.job.earlier) == ("/c/9", "/c/8")
        step = made.propose(wanted, seen)
        assert isinstance(step, Step)
        assert (await made.perform(step, operation())).status is ReportStatus.DONE

    asyncio.run(scenario())
    assert passed.read_text() == "/c/8\n"
