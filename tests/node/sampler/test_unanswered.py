"""What is said of a backend that told nothing."""

import pytest

from accelwatch.node.sampler.one_shot import LATE, failure_of
from accelwatch.node.sampler.protocol.settings import CollectSettings
from accelwatch.node.sampler.unanswered import statuses
from accelwatch.node.store.reports import CollectorExited
from accelwatch.schema.snapshot import BackendState
from node.sampler.fakes import FAKE, SECOND

DIED = failure_of(CollectorExited(code="exit_7", message="the collector process ended", wall=1.0))


def settings(*, one_shot: bool = False) -> CollectSettings:
    return CollectSettings(backends=(FAKE, SECOND), one_shot=one_shot, timeout_s=2.0)


def test_only_backends_without_a_status_are_reported_as_unanswered() -> None:
    assert [one.name for one in statuses(settings(), {FAKE}, DIED)] == [SECOND]
    assert list(statuses(settings(), {FAKE, SECOND}, DIED)) == []


def test_a_collector_that_died_has_made_it_fail() -> None:
    rows = [(one.state, one.reason, one.message) for one in statuses(settings(), (), DIED)]
    assert rows == [(BackendState.FAILED, "exit_7", "the collector process ended")] * 2


@pytest.mark.parametrize(
    ("one_shot", "remedy"),
    [
        (True, "give it more time (--timeout)"),
        (False, "it is waited for; look for a driver that hangs in the kernel log"),
    ],
)
def test_silence_is_a_timeout(one_shot: bool, remedy: str) -> None:
    one, _ = statuses(settings(one_shot=one_shot), (), LATE)
    assert (one.state, one.reason) == (BackendState.UNAVAILABLE, "timeout")
    assert (one.message, one.remedy) == ("nothing answered within 2 s", remedy)


def test_what_this_machine_cannot_have_is_absent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "accelwatch.node.sampler.unanswered.absent", lambda _: {FAKE: "no PCI function"}
    )
    first, second = statuses(settings(), (), DIED)
    assert (first.name, first.state, first.message) == (
        FAKE, BackendState.ABSENT, "no PCI function",
    )  # fmt: skip
    assert second.state is BackendState.FAILED
    assert [one.name for one in statuses(settings(), {FAKE}, DIED)] == [SECOND]
