"""A job's launcher has gone on without a node when its cycle file says so, and by nothing else."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from accelwatch.action import cycle_files
from accelwatch.action.cycle_files import CycleError, cycle_of
from accelwatch.action.intent import IntentKind, JobKey
from accelwatch.action.step import Achieved, Refusal, Wait
from accelwatch.base.errors import ConfigError
from support.slurm.action_on_cluster import Hand
from support.slurm.lab_cluster import WorkingSlurm, until
from support.slurm.scontrol_lines import KEY, action, intent, job, node, propose

# As protobuf's MessageToJson prints NVRxCycleInfo with the options of cycle_info_writer.py of 0.7.0:
# 32-bit numbers as numbers, `generation` as text, every field.
CYCLE: dict[str, Any] = {
    "job_id": KEY.id,
    "attempt_index": 0,
    "cycle_number": 3,
    "cycle_start_time": "2026-11-29T12:00:00.123456Z",
    "cycle_end_time": "",
    "cycle_log_file": "/lustre/logs/train_cycle3.log",
    "active_nodes": "n[2-3]",
    "standby_nodes": "",
    "generation": "0",
    "active_ranks": "0-1",
}
IN_JOB: dict[str, Any] = {"cycle_info": "/lustre/{job}/nvrx"}


def swapped(cycle: str | None = None, *, key: JobKey = KEY, **line: Any) -> Any:
    own = {"node": node("IDLE+DRAIN", "accelwatch:inc-1:r x")}
    own |= {"job": job("RUNNING", **{"NodeList": "n[1-3]", **line})}
    own |= {} if cycle is None else {"cycle": cycle}
    return propose(intent(IntentKind.SWAP_IN_JOB, job=key), own, **IN_JOB)


def written(**changes: Any) -> str:
    return json.dumps({**CYCLE, **changes})


def test_a_cycle_without_the_node_is_the_proof() -> None:
    end = swapped(written())
    assert isinstance(end, Achieved)
    assert end.text == f"cycle 3 of job {KEY.id} runs without n1 since 2026-11-29T12:00:00.123456Z"


@pytest.mark.parametrize(
    ("cycle", "why"),
    [
        (written(active_nodes="n[1-3]"), "runs on n1 still, since 2026-11-29T12:00:00.123456Z"),
        (written(active_nodes="n[1-2]", standby_nodes="n3"), "runs on n1 still"),
        (written(cycle_end_time="2026-11-29T12:09:00Z"), "ended at 2026-11-29T12:09:00Z"),
        (written(attempt_index=1), "is of its run 1; it is in run 0"),
        # Names that Slurm does not know: that one is missing proves nothing.
        (written(active_nodes="gpu-a,gpu-b"), "names gpu-a, which Slurm does not list"),
        (written(job_id="4711"), "it is of another job ('4711')"),
        (written(job_id=None), "it is of another job"),
        (written()[:200], "it is empty or torn"),
        ("", "it is empty or torn"),
        ("[]", "it is no JSON object"),
        ("[" * 100_000, "it is empty or torn"),
        (written(cycle_number="3"), "its cycle_number is missing or no number"),
        (written(cycle_number=True), "its cycle_number is missing or no number"),
        (written(active_nodes=["n2"]), "its active_nodes is missing or no text"),
        (written(active_nodes=""), "names no start or no active nodes"),
        (None, "it is empty or torn"),
    ],
)
def test_all_else_is_waited_for_and_says_why(cycle: str | None, why: str) -> None:
    end = swapped(cycle)
    assert isinstance(end, Wait)
    assert why in end.text


def test_keys_of_a_later_version_are_passed_over() -> None:
    assert isinstance(swapped(written(cordoned_nodes="n1", schema=2)), Achieved)
    later = {key: value for key, value in CYCLE.items() if key != "active_nodes"}
    end = swapped(json.dumps({**later, "nodes": {"active": ["n2"]}}))
    assert isinstance(end, Wait)
    assert "it may be of another version" in end.text


@pytest.mark.parametrize(
    ("line", "ends"),
    [({"NodeList": "n[2-3]"}, "has left n1"), ({"JobState": "COMPLETED"}, "has ended: completed")],
)
def test_a_job_that_is_gone_needs_no_swap(line: dict[str, Any], ends: str) -> None:
    end = swapped(written(active_nodes="n[1-3]"), **line)
    assert isinstance(end, Achieved)
    assert ends in end.text


def folder(tmp_path: Path, text: str = "", name: str = "cycle_info.17.0.3") -> Path:
    (tmp_path / name).write_text(text or written(job_id="17"))
    (tmp_path / "cycle_info.17.current").symlink_to(name)
    return tmp_path


def read(path: Path, job_id: str = "17") -> subprocess.CompletedProcess[str]:
    program = str(Path(cycle_files.__file__))
    return subprocess.run(
        [sys.executable, "-IS", program, str(path), job_id],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )


def test_the_newest_cycle_is_read_by_a_program_of_its_own(tmp_path: Path) -> None:
    result = read(folder(tmp_path))
    assert (result.returncode, cycle_of(result.stdout, "17").number) == (0, 3)
    later = written(job_id="17", cycle_number=4)
    (tmp_path / "cycle_info.17.0.4").write_text(later)
    (tmp_path / "cycle_info.17.current.tmp").symlink_to("cycle_info.17.0.4")
    (tmp_path / "cycle_info.17.current.tmp").replace(tmp_path / "cycle_info.17.current")
    assert cycle_of(read(tmp_path).stdout, "17").number == 4


@pytest.mark.parametrize(
    "target", ["/etc/passwd", "../secret", "cycle_info.18.0.3", "cycle_info.17"]
)
def test_only_a_cycle_of_the_job_beside_the_link_is_opened(tmp_path: Path, target: str) -> None:
    (tmp_path / "cycle_info.17.current").symlink_to(target)
    result = read(tmp_path)
    assert (result.returncode, result.stdout) == (1, "")
    assert "does not point to a cycle of the job" in result.stderr


def test_neither_links_nor_pipes_nor_large_files_are_read(tmp_path: Path) -> None:
    path = folder(tmp_path)
    file = path / "cycle_info.17.0.3"
    file.unlink()
    assert read(path).returncode == 1
    file.symlink_to("/etc/passwd")
    assert (read(path).returncode, read(path).stdout) == (1, "")
    file.unlink()
    os.mkfifo(file)
    assert "no regular file" in read(path).stderr
    file.unlink()
    file.write_bytes(b"x" * (65 << 10))
    assert "more than 65536 bytes" in read(path).stderr
    assert read(path, "../17").returncode == 1


def test_a_task_of_an_array_shares_its_file_with_others() -> None:
    key = JobKey(KEY.cluster, KEY.id, KEY.submitted, "7")
    line = {"ArrayJobId": KEY.id, "ArrayTaskId": "7"}
    end = swapped(written(), key=key, **line)
    assert isinstance(end, Refusal)
    assert "share one cycle file" in end.text


def test_a_text_that_is_no_cycle_is_refused_with_a_reason() -> None:
    with pytest.raises(CycleError, match="of another job"):
        cycle_of(written(), "other")


def test_on_a_real_slurm_the_next_cycle_without_the_node_ends_the_wait(
    slurm: WorkingSlurm, hand: Callable[..., Hand], tmp_path: Path
) -> None:
    job_id = slurm.submit("--nodes=2", "--nodelist=n1,n2", "--wrap=sleep 300")
    until(lambda: "JobState=RUNNING" in slurm.job(job_id), "the job runs")
    path = tmp_path / job_id
    path.mkdir()
    one = hand(cycle_info=str(tmp_path / "{job}"))
    one.pursue(IntentKind.QUARANTINE, "n1")
    current = written(job_id=job_id, active_nodes="n[1-2]")
    link = f"cycle_info.{job_id}.current"
    (path / f"cycle_info.{job_id}.0.3").write_text(current)
    (path / link).symlink_to(f"cycle_info.{job_id}.0.3")

    def restart() -> None:
        (path / f"cycle_info.{job_id}.0.4").write_text(
            written(job_id=job_id, cycle_number=4, active_nodes="n2")
        )
        (path / "new").symlink_to(f"cycle_info.{job_id}.0.4")
        (path / "new").replace(path / link)

    key = one.key(job_id)
    swap_intent = one.intent(IntentKind.SWAP_IN_JOB, "n1", job=key)
    early = one.action.propose(swap_intent, asyncio.run(one.action.observe(swap_intent)))
    assert isinstance(early, Wait)
    assert f"cycle 3 of job {job_id} runs on n1 still" in early.text
    restart()
    swap = one.pursue(IntentKind.SWAP_IN_JOB, "n1", job=key)
    assert isinstance(swap.ending, Achieved)
    assert (swap.kinds, swap.ending.text[:7]) == ([], "cycle 4")
    assert "JobState=RUNNING" in slurm.job(job_id)


def test_the_action_can_do_it_only_where_it_can_see_it() -> None:
    assert IntentKind.SWAP_IN_JOB not in action().intents
    assert IntentKind.SWAP_IN_JOB in action(**IN_JOB).intents
    with pytest.raises(ConfigError, match="cycle_info: expected an absolute path"):
        action(cycle_info="nvrx")
