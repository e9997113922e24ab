"""The newest checkpoint of a job, in the folder of its namespace."""

import asyncio
from pathlib import Path

import pytest

from accelwatch.action.checkpoint_options import CheckpointOptions
from accelwatch.action.intent import JobKey
from accelwatch.action.observed import JobObservation, JobState
from accelwatch.base.errors import ConfigError
from accelwatch_kubernetes.settings.checkpoint_patterns import check
from accelwatch_kubernetes.workloads.checkpoints import Checkpoints, with_checkpoints

KEY = JobKey("k", "ml/TrainJob/llama", 1.0)


def _found(options: CheckpointOptions | None, key: JobKey = KEY) -> JobObservation:
    """A job with what a search finds of it."""

    async def search() -> str:
        checkpoints = Checkpoints(options)
        try:
            return await checkpoints.search(key)
        finally:
            checkpoints.close()

    observation = JobObservation(key=key, state=JobState.RUNNING)
    return with_checkpoints(observation, asyncio.run(search()), options)


def test_jobs_of_two_namespaces_with_one_name_have_their_own(tmp_path: Path) -> None:
    for namespace, step in (("ml", 100), ("ml", 200), ("other", 900)):
        (tmp_path / namespace / "llama" / f"step-{step}").mkdir(parents=True)
    options = CheckpointOptions(pattern=f"{tmp_path}/{{namespace}}/{{job}}/step-{{step}}")
    found = _found(options)
    assert (found.checkpoint, found.step) == (f"{tmp_path}/ml/llama/step-200", 200)
    assert _found(options, JobKey("k", "other/Job/llama", 1.0)).step == 900


def test_without_a_namespace_in_the_pattern_the_name_is_enough(tmp_path: Path) -> None:
    (tmp_path / "llama" / "step-7").mkdir(parents=True)
    assert _found(CheckpointOptions(pattern=f"{tmp_path}/{{job}}/step-{{step}}")).step == 7


def test_nothing_is_known_without_options_without_a_path_and_of_anothers_job(
    tmp_path: Path,
) -> None:
    options = CheckpointOptions(pattern=f"{tmp_path}/{{job}}/step-{{step}}")
    for found in (_found(None), _found(options), _found(options, JobKey("slurm", "77", 1.0))):
        assert (found.checkpoint, found.step) == ("", None)


def test_a_pattern_is_checked_with_its_namespace() -> None:
    check(None)
    check(CheckpointOptions(pattern="/ckpt/{namespace}/{job}/step-{step}"))
    with pytest.raises(ConfigError, match="checkpoints.pattern"):
        check(CheckpointOptions(pattern="/ckpt/{name}/step-{step}"))


def test_a_job_cannot_be_made_to_start_from_an_earlier_one() -> None:
    with pytest.raises(ConfigError, match="checkpoints.earlier"):
        check(CheckpointOptions(pattern="/ckpt/{job}/step-{step}", earlier=True))
