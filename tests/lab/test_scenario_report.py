"""How long a job stood still, and whether an old copy of it wrote on, from the lines of its log."""

from accelwatch_lab.cluster.scenarios.report import (
    Entry,
    ScenarioReport,
    copies,
    line_of,
    resumed_at,
)
from accelwatch_lab.cluster.slurm.step_counter import Line


def line(time: float, step: int, restart: int = 0, what: str = "step") -> Line:
    return Line(time=time, what=what, step=step, restart=restart, pid=1, nodes=("n001",))


def test_a_job_went_on_with_its_first_step_after_a_pause() -> None:
    before = [line(9.5, 1), line(10.0, 2), line(10.2, 3)]
    assert resumed_at(before, fault_at=10.1) is None
    assert resumed_at([*before, line(10.45, 4)], fault_at=10.1) is None
    assert resumed_at([*before, line(15.0, 4), line(15.2, 5)], fault_at=10.1) == 15.0


def test_a_job_that_was_restarted_went_on_however_short_the_pause() -> None:
    lines = [line(10.0, 8), line(10.5, 8, 1, "begun"), line(10.7, 9, 1)]
    assert resumed_at(lines, fault_at=10.1) == 10.7


def test_a_pause_before_the_fault_is_none_of_it() -> None:
    assert resumed_at([line(1.0, 1), line(8.0, 2), line(8.2, 3)], fault_at=9.0) is None


def test_an_old_copy_that_writes_on_is_seen() -> None:
    assert not copies([line(1.0, 8), line(2.0, 9), line(3.0, 9, 1)])
    assert copies([line(1.0, 8), line(3.0, 9, 1), line(3.1, 9)])


def test_times_count_from_the_first_fault() -> None:
    report = ScenarioReport(scenario="lost-gpu", title="x", fault_at=100.0)
    report.entries += [
        Entry(at=101.5, what="alert", text="told"),
        Entry(at=101.0, what="incident", text="seen"),
    ]
    assert line_of(report, report.entries[0]) == "    +1.50 s  alert        told"
    assert [row["at_s"] for row in report.document()["timeline"]] == [1.0, 1.5]
