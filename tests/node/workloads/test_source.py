"""What every source of owners has: pauses after failures, and the last good answer for a while."""

from accelwatch.backend.kit.grpc.failure import SourceError
from accelwatch.base.clock import ManualClock
from accelwatch.node.workloads.source import PolledSource


class Answers:
    """Reads that fail while they are told to, and are counted."""

    def __init__(self) -> None:
        self.reads = 0
        self.fails = False

    def read(self) -> str:
        self.reads += 1
        if self.fails:
            raise SourceError("refused", reason="permission")
        return f"answer {self.reads}"


def source(clock: ManualClock) -> PolledSource[str]:
    return PolledSource("podresources", "kubelet", "", clock, interval_s=10.0, keep_s=60.0)


def test_pauses_double_up_to_two_minutes_and_a_success_forgets_them() -> None:
    clock, answers = ManualClock(), Answers()
    one = source(clock)
    answers.fails = True
    read_after = []
    one.poll(answers.read)
    for _ in range(5):
        waited = 0
        before = answers.reads
        while answers.reads == before:
            clock.advance(1.0)
            waited += 1
            one.poll(answers.read)
        read_after.append(waited)
    assert read_after == [10, 20, 40, 80, 120]
    answers.fails = False
    clock.advance(120.0)
    one.poll(answers.read)
    before = answers.reads
    one.poll(answers.read)
    assert answers.reads == before + 1


def test_the_last_good_answer_stays_for_a_while_whether_it_is_queried_or_pauses() -> None:
    clock, answers = ManualClock(), Answers()
    one = source(clock)
    one.poll(answers.read)
    answers.fails = True
    clock.advance(60.0)
    one.poll(answers.read)
    assert (one.value, answers.reads) == ("answer 1", 2)
    clock.advance(1.0)
    one.poll(answers.read)
    assert (one.value, answers.reads) == ("", 2)
