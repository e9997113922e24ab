"""When a copy is not believed any more."""

import pytest

from accelwatch_kubernetes.cache import freshness
from accelwatch_kubernetes.cache.freshness import why_stale

NOW = 1000.0


@pytest.mark.parametrize(
    ("confirmed_at", "failing_since"),
    [
        (NOW, None),
        (NOW - freshness._SILENT_S, None),
        # A watch that broke just now.
        (NOW - 20.0, NOW - freshness._BROKEN_S),
    ],
)
def test_what_was_confirmed_lately_is_believed(
    confirmed_at: float, failing_since: float | None
) -> None:
    assert why_stale("nodes", confirmed_at, failing_since, "refused", NOW) == ""


@pytest.mark.parametrize(
    ("confirmed_at", "failing_since", "text"),
    [
        (None, None, "the nodes are not all read yet"),
        (None, NOW - 1.0, "the nodes are not all read yet"),
        (NOW - 121.0, None, "no update of the nodes for 121 s"),
        (NOW - 121.0, NOW - 1.0, "no update of the nodes for 121 s"),
        (NOW - 20.0, NOW - 16.0, "the nodes have not been followed for 16 s"),
    ],
)
def test_what_was_not_is_not(
    confirmed_at: float | None, failing_since: float | None, text: str
) -> None:
    assert why_stale("nodes", confirmed_at, failing_since, "", NOW) == text
    assert why_stale("nodes", confirmed_at, failing_since, "403", NOW) == f"{text}: 403"
