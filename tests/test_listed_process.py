"""Processes as tools list them: each once, with nothing made up of a memory that is not known."""

import pytest

from accelwatch.listed_process import by_pid, listed
from accelwatch.schema.absence import Absence

GIB = float(1 << 30)


@pytest.mark.parametrize(
    ("first", "second", "together"),
    [
        (GIB, 2 * GIB, 3 << 30),
        (GIB, Absence.ERROR, None),
        (Absence.ERROR, GIB, None),
        (Absence.UNSUPPORTED, Absence.ERROR, None),
    ],
)
def test_rows_of_one_process(
    first: float | Absence, second: float | Absence, together: int | None
) -> None:
    rows = [listed("x:0", 7, "infer", first), listed("x:0", 7, "infer", second)]
    (process,) = by_pid(rows)
    assert process.gpu_memory_bytes == together
    assert ("gpu_memory_bytes" in process.absent) == (together is None)
    assert process.absent["utilization_ratio"] is Absence.UNSUPPORTED


def test_by_pid() -> None:
    rows = [listed("x:0", pid, None, GIB) for pid in (9, 7, 8)]
    assert [process.pid for process in by_pid(rows)] == [7, 8, 9]
