import msgspec
from hypothesis import given
from hypothesis import strategies as st

from accelwatch_lab.simulator.jobs import (
    Job,
    Phase,
    Stall,
    StallKind,
    load,
    overlap,
    progress,
    together,
)

JOB = Job(
    name="training",
    id="1",
    nodes=("n001",),
    user="trainer",
    at_s=100.0,
    lasts_s=2000.0,
    warm_up_s=60.0,
    step_s=10.0,
    checkpoint_every_s=300.0,
    checkpoint_lasts_s=20.0,
    stalls=(Stall(200.0, 50.0, StallKind.INPUT), Stall(500.0, 40.0, StallKind.COLLECTIVE)),
)


def test_the_phases_follow_each_other() -> None:
    at = {second: progress(JOB, 100.0 + second).phase for second in (-1, 0, 59, 60, 199, 200)}
    assert list(at.values()) == [
        Phase.WAITING,
        Phase.WARM_UP,
        Phase.WARM_UP,
        Phase.STEPS,
        Phase.STEPS,
        Phase.STALL,
    ]
    # 60 s of warm-up, 50 s of stall and 300 s of steps come before the first checkpoint.
    assert progress(JOB, 100 + 409.9).phase is Phase.STEPS
    assert progress(JOB, 100 + 410).phase is Phase.CHECKPOINT
    assert progress(JOB, 100 + 430).phase is Phase.STEPS
    assert progress(JOB, 2100).phase is Phase.FINISHED


def test_a_checkpoint_gets_its_number_when_it_is_complete() -> None:
    assert progress(JOB, 100 + 429).checkpoint == 0
    assert progress(JOB, 100 + 430).checkpoint == 1


def test_steps_stand_still_in_a_stall() -> None:
    assert progress(JOB, 100 + 200).step == progress(JOB, 100 + 249).step == 14
    assert progress(JOB, 100 + 261).step == 15


def test_a_job_that_waits_for_data_is_idle_and_one_that_waits_for_a_peer_spins() -> None:
    waiting, spinning = load(JOB, 100 + 220), load(JOB, 100 + 520)
    assert (waiting.busy, waiting.work) == (0.0, 0.0)
    assert (spinning.busy, spinning.work) == (1.0, 0.0)
    assert waiting.memory == spinning.memory == JOB.memory


def test_after_its_end_nothing_is_polled_and_nothing_forgotten() -> None:
    last, after = load(JOB, 2099.9), load(JOB, 5000)
    assert (after.busy, after.work, after.memory) == (0.0, 0.0, 0.0)
    assert after.work_s >= last.work_s > 0


@given(st.floats(0, 3000), st.floats(0, 500))
def test_integrals_never_fall_and_never_outrun_time(time_s: float, more_s: float) -> None:
    before, after = load(JOB, time_s), load(JOB, time_s + more_s)
    for first, second in ((before.busy_s, after.busy_s), (before.work_s, after.work_s)):
        assert -1e-6 <= second - first <= more_s + 1e-6


def test_a_job_may_never_save() -> None:
    job = Job(name="a", id="1", nodes=(), user="u", warm_up_s=0.0, checkpoint_every_s=0.0)
    assert progress(job, 1e6).phase is Phase.STEPS
    assert progress(job, 1e6).checkpoint == 0


def test_a_job_that_loads_is_idle_and_holds_its_devices() -> None:
    job = msgspec.structs.replace(JOB, loading_s=120.0, stalls=())
    assert progress(job, 100 + 119).phase is Phase.LOADING
    assert progress(job, 100 + 120).phase is Phase.WARM_UP
    assert progress(job, 100 + 180).phase is Phase.STEPS
    loading = load(job, 100 + 119)
    assert (loading.busy, loading.work) == (0.0, 0.0)
    assert 0 < loading.memory < load(job, 100 + 150).memory


def test_jobs_in_turn_are_one_load_that_never_forgets() -> None:
    second = msgspec.structs.replace(JOB, name="second", at_s=2100.0, lasts_s=None, stalls=())
    between, later = (
        together([load(job, time_s) for job in (JOB, second)]) for time_s in (2100.0, 2500.0)
    )
    assert between.work_s == load(JOB, 2100.0).work_s
    assert later.busy > 0
    assert later.work_s > between.work_s + 200


def test_jobs_overlap_by_their_times() -> None:
    def job(at_s: float, lasts_s: float | None) -> Job:
        return msgspec.structs.replace(JOB, at_s=at_s, lasts_s=lasts_s)

    assert not overlap(job(0, 100), job(100, None))
    assert not overlap(job(100, None), job(0, 100))
    assert overlap(job(0, 101), job(100, None))
    assert overlap(job(0, None), job(100, 1))
