from collections.abc import Callable

import numpy as np
import pytest

from accelwatch.detection.channels.hang import Hang
from accelwatch.detection.evidence import Channel, Evidence, Subject, Weight
from accelwatch.detection.frame import DeviceState, NodeState
from support.detection.restarts import restore
from support.detection.ticks import LOAD, POWER, RECEIVED, SENT, TABLE, Ticks, only, row

FABRIC = ("host_rdma_bytes_total", "*", "*", "receive")
REQUESTS = ("host_nfs_requests_total",)
DISK = ("host_disk_io_seconds_total",)
NETWORK = ("host_network_bytes_total",)


class Job:
    """A job on sixteen devices, which trains until something is changed here."""

    def __init__(self, nodes: int = 4) -> None:
        self.ticks = Ticks(per_node=16 // nodes)
        self.hang = Hang(TABLE)
        self.ticks.started(self.hang)
        self.load = np.full(16, 0.99)
        self.power = np.full(16, 600.0)
        self.traffic = np.full(16, 1e10)
        self.fabric = np.full(nodes, 5e9)
        self.requests, self.disk, self.network = 1.0, 0.01, 1e6

    def run(self, count: int) -> list[Evidence]:
        found: list[Evidence] = []
        for _ in range(count):
            found = self.hang.evidence(
                self.ticks.after(
                    {
                        LOAD: self.load,
                        POWER: self.power,
                        RECEIVED: self.traffic,
                        SENT: self.traffic,
                    },
                    {
                        FABRIC: self.fabric,
                        REQUESTS: self.requests,
                        DISK: self.disk,
                        NETWORK: self.network,
                    },
                    node_usual={REQUESTS: 1.0, DISK: 0.01, NETWORK: 1e6},
                )
            )
        return found

    def pauses(self, times: int, *, load: float = 0.99) -> None:
        """Moves nothing for ten minutes, at much power, then goes on."""
        for _ in range(times):
            self.load, self.traffic, self.fabric = row(16, load), row(16, 0.0), row(4, 0.0)
            assert of_jobs(self.run(20)) == []
            self.load, self.traffic, self.fabric = row(16, 0.99), row(16, 1e10), row(4, 5e9)
            assert of_jobs(self.run(10)) == []

    def hangs(self) -> None:
        self.power = np.full(16, 250.0)
        self.traffic = np.zeros(16)
        self.fabric = np.zeros_like(self.fabric)


@pytest.mark.parametrize(("missed_before", "ticks"), [(1, 1), (0, 2)])
def test_a_job_that_waits_for_a_silent_node(missed_before: int, ticks: int) -> None:
    job = Job()
    job.run(40)
    job.ticks.silent = {3}
    assert job.run(missed_before) == []
    job.hangs()
    # One sample is missed all the time.
    assert job.run(ticks - 1) == []
    found = job.run(1)
    assert of_jobs(found)
    assert only(found, "node_silent").rows.tolist() == [3]


def test_a_device_at_rest_is_named_before_a_silent_node_after_two_ticks() -> None:
    job = Job()
    job.run(40)
    job.ticks.silent = {3}
    job.run(1)
    job.hangs()
    job.load[5] = 0.0
    assert job.run(1) == []
    found = job.run(1)
    assert of_jobs(found)
    assert only(found, "hang_culprit").rows.tolist() == [5]
    # That it waits as well is seen now.
    job.load[5] = 0.99
    assert only(job.run(1), "node_silent").rows.tolist() == [3]


def test_a_job_that_works_without_a_sample_of_a_node() -> None:
    job = Job()
    job.run(40)
    job.ticks.silent = {3}
    assert job.run(20) == []


def test_two_of_four_nodes_that_are_silent_are_no_culprit() -> None:
    job = Job()
    job.run(40)
    job.hangs()
    job.ticks.node_state = dict.fromkeys({2, 3}, NodeState.DOWN)
    assert job.run(3) == []
    assert [item.subject for item in job.run(1)] == [Subject.JOB]


def of_jobs(found: list[Evidence]) -> list[Evidence]:
    return [item for item in found if item.subject is Subject.JOB]


def test_a_job_that_waits_busily() -> None:
    job = Job()
    assert job.run(40) == []
    job.hangs()
    assert job.run(3) == []
    found = only(job.run(1))
    assert (found.channel, found.weight, found.rows.tolist()) == (
        Channel.HANG,
        Weight.DECISIVE,
        [0],
    )
    assert found.sustained_s.tolist() == [90.0]
    # It goes on for as long as it lasts, and is not learned.
    assert of_jobs(job.run(200))


def _idle(job: Job) -> None:
    job.load[:4] = 0.5


def _powerful(job: Job) -> None:
    job.power = np.full(16, 400.0)


def _moves_over_links(job: Job) -> None:
    job.traffic = np.full(16, 1e9)


def _moves_over_fabric(job: Job) -> None:
    job.fabric = np.full(4, 5e9)


def _saves(job: Job) -> None:
    job.requests = 50.0


def _writes(job: Job) -> None:
    job.disk = 0.8


def _sends(job: Job) -> None:
    job.network = 5e8


def _is_worked_at(job: Job) -> None:
    job.ticks.maintenance = {2}


def _is_not_read(job: Job) -> None:
    job.ticks.missing = {0, 1, 2, 3}


@pytest.mark.parametrize(
    "but",
    [
        _idle,
        _powerful,
        _moves_over_links,
        _moves_over_fabric,
        _saves,
        _writes,
        _sends,
        _is_worked_at,
        _is_not_read,
    ],
)
def test_each_condition_is_needed(but: Callable[[Job], None]) -> None:
    job = Job()
    job.run(40)
    job.hangs()
    but(job)
    assert of_jobs(job.run(8)) == []


def test_the_device_that_differs_is_to_blame() -> None:
    job = Job()
    job.run(40)
    job.hangs()
    job.load[9] = 0.0
    # All others wait and one does nothing: two ticks of that are enough.
    assert job.run(1) == []
    found = [item for item in job.run(1) if item.subject is Subject.DEVICE]
    assert (only(found).cause, only(found).rows.tolist()) == ("hang_culprit", [9])


def test_a_device_that_is_lost_is_to_blame() -> None:
    job = Job()
    job.run(40)
    job.hangs()
    job.ticks.device_state = {9: DeviceState.LOST}
    assert job.run(1) == []
    found = [item for item in job.run(1) if item.subject is Subject.DEVICE]
    assert only(found).rows.tolist() == [9]


def test_a_device_that_can_no_longer_be_read_is_to_blame() -> None:
    job = Job()
    job.run(40)
    job.hangs()
    job.load[9] = np.nan
    assert job.run(1) == []
    found = [item for item in job.run(1) if item.subject is Subject.DEVICE]
    assert only(found).rows.tolist() == [9]


def test_a_device_that_never_reported_how_busy_it_is_is_not() -> None:
    job = Job()
    job.load[9] = np.nan
    job.run(40)
    job.hangs()
    assert job.run(3) == []
    assert [item.subject for item in job.run(1)] == [Subject.JOB]


def test_of_two_nodes_that_miss_samples_none_is_to_blame_until_one_answers() -> None:
    job = Job(nodes=16)
    job.run(40)
    job.ticks.silent = {3, 7}
    job.run(1)
    job.hangs()
    assert job.run(1) == []
    job.ticks.silent = {3}
    assert only(job.run(1), "node_silent").rows.tolist() == [3]


def test_of_nodes_that_miss_samples_the_one_that_has_missed_more_is_to_blame() -> None:
    job = Job(nodes=16)
    job.run(40)
    job.ticks.silent = {7}
    job.run(1)
    job.ticks.silent = {3, 7}
    job.run(1)
    job.hangs()
    assert only(job.run(1), "node_silent").rows.tolist() == [7]


@pytest.mark.parametrize("saves", [_saves, _writes, _sends])
def test_a_rank_that_saves_alone_is_no_culprit(saves: Callable[[Job], None]) -> None:
    job = Job()
    job.run(40)
    job.hangs()
    job.load[9] = 0.0
    saves(job)
    assert job.run(8) == []


def test_the_node_whose_traffic_stopped_first_is_suspected() -> None:
    job = Job()
    job.run(40)
    job.traffic[8:12] = 0.0
    job.run(1)
    job.hangs()
    found = [item for item in job.run(4) if item.subject is Subject.NODE]
    assert (only(found).cause, only(found).rows.tolist()) == ("stopped_first", [2])
    assert only(found).weight is Weight.STATISTICAL


def test_nobody_is_suspected_when_all_stop_together() -> None:
    job = Job()
    job.run(40)
    job.hangs()
    assert [item.subject for item in job.run(6)] == [Subject.JOB]


def test_a_job_of_one_device_never_hangs() -> None:
    job = Job()
    job.ticks.jobs = tuple(f"j{number}" for number in range(16))
    job.ticks.job = np.arange(16)
    job.run(40)
    job.hangs()
    assert job.run(10) == []


def test_a_new_job_has_no_past() -> None:
    job = Job()
    job.run(40)
    job.ticks.jobs = ("other",)
    job.hangs()
    assert job.run(10) == []


def test_codes_that_are_given_anew_change_nothing() -> None:
    job = Job()
    job.run(40)
    job.ticks.jobs = ("a", "train")
    job.ticks.job[:] = 1
    job.hangs()
    assert only(job.run(4)).rows.tolist() == [1]


def test_devices_of_no_job_say_nothing() -> None:
    job = Job()
    job.ticks.job[:] = -1
    job.run(40)
    job.hangs()
    assert job.run(10) == []


def test_a_job_whose_work_changes_each_minute_does_not_hang() -> None:
    job = Job()
    job.run(40)
    for _ in range(20):
        job.hangs()
        assert job.run(2) == []
        job.power, job.traffic = row(16, 600.0), row(16, 1e10)
        job.fabric = row(4, 5e9)
        assert job.run(2) == []


def test_a_restart_keeps_the_past() -> None:
    job = Job()
    job.run(40)
    kept, job.hang = job.hang.state_arrays(), Hang(TABLE)
    job.hang.resize(16, 4)
    restore(kept, job.hang, (16, 4))
    job.hangs()
    assert only(job.run(4)).subject is Subject.JOB


def test_what_a_job_has_done_twice_is_its_work_until_it_lasts_half_as_long_again() -> None:
    job = Job()
    job.run(40)
    job.pauses(2)
    job.hangs()
    # Twenty samples are ten minutes from the first to the one that moves again.
    assert of_jobs(job.run(33)) == []
    assert of_jobs(job.run(1))


def test_what_a_job_has_done_once_is_no_habit() -> None:
    job = Job()
    job.run(40)
    job.pauses(1)
    job.hangs()
    assert of_jobs(job.run(4))


def test_pauses_in_which_devices_rest_say_nothing_of_a_hang() -> None:
    job = Job()
    job.run(40)
    job.pauses(2, load=0.1)
    job.hangs()
    assert of_jobs(job.run(4))


def test_another_job_has_no_habits_of_the_one_before() -> None:
    job = Job()
    job.run(40)
    job.pauses(2)
    job.ticks.jobs = ("other",)
    job.run(40)
    job.hangs()
    assert of_jobs(job.run(4))
