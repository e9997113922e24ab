"""What an answer that grants nothing means for a step."""

import pytest

from accelwatch.action.step import ReportStatus
from accelwatch.api_client.backendai.errors import BackendAiRefusedError, Problem
from accelwatch_backendai.api.answers import is_final, report_of


@pytest.mark.parametrize(
    ("status", "kind", "expected"),
    [
        (400, "invalid-api-params", ReportStatus.REFUSED),
        # The clock of one side was set between a read that was answered and this write.
        (400, "invalid-auth-params", ReportStatus.RETRY),
        (401, "auth-failed", ReportStatus.RETRY),
        (403, "forbidden", ReportStatus.REFUSED),
        (429, "", ReportStatus.RETRY),
    ],
)
def test_what_may_be_granted_later_is_tried_again(
    status: int, kind: str, expected: ReportStatus
) -> None:
    error = BackendAiRefusedError("refused", status=status, problem=Problem(kind=kind))
    assert report_of(error).status is expected
    assert is_final(error) is (expected is ReportStatus.REFUSED)


def test_what_was_started_is_unknown_whatever_it_is_called() -> None:
    error = BackendAiRefusedError(
        "failed", status=200, problem=Problem(kind="graphql", started=True)
    )
    assert report_of(error).status is ReportStatus.UNKNOWN
    assert not is_final(error)
