"""What a hub does about a node, in the words of a dashboard, of `why` and of a plan."""

import msgspec
import pytest

from accelwatch.fleet.picture.remedies import next_step, result_text
from support.incidents.remedy_documents import TESTED, remedy


def test_a_result_names_what_was_run_and_when() -> None:
    assert result_text(TESTED) == (
        "failed test pair with n007: 312 GB/s, less than 350 GB/s (set for H100), by "
        "/opt/all_reduce_perf, at 2026-11-28T10:00:00"
    )
    assert ", by " not in result_text(msgspec.structs.replace(TESTED, command=""))


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({}, "is given back when it looks well"),
        (
            {"latest_test": "passed test pair"},
            "is given back when it looks well (latest test: passed test pair)",
        ),
        # What stands in the way says it already.
        (
            {"latest_test": "failed test pair", "blocked_by": "failed test pair: slow"},
            "failed test pair: slow",
        ),
        ({"intent": "swap_in_job", "doing": "cycle 3"}, "its jobs continue without it: cycle 3"),
    ],
)
def test_the_latest_test_stands_beside_what_is_done(fields: dict[str, str], text: str) -> None:
    document = msgspec.structs.replace(
        remedy("n002", "verifying", "i1"), **{"intent": "", "doing": "", "blocked_by": "", **fields}
    )
    assert next_step(document).text == text
