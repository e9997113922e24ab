"""The engine's pursuit over real programs: what a site's scripts do to a decision.

Time stands still while a program runs, and goes by at once where everybody waits.
"""

import selectors
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from accelwatch.action.intent import IntentKind
from accelwatch.action.step import RefusalKind
from accelwatch.remediation.execution.operations.operation import OperationState
from accelwatch.remediation.policy.state.pursued import Pursued, PursuitResult
from remediation.bench import Bench, intent
from support.actions.hooks import printing, program, script

OPEN = {"name": "n1", "standing": "open"}
OURS = {"name": "n1", "standing": "ours", "mark": {"incident": "i1", "token": 1}}
QUARANTINE = intent(IntentKind.QUARANTINE)


def _wait_for_programs(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    skipping = bench.loop._selector  # type: ignore[attr-defined]
    skip = skipping.select

    def select(timeout: float | None = None) -> Any:
        if any(thread.name.startswith("hook ") for thread in threading.enumerate()):
            return selectors.DefaultSelector.select(skipping, 0.01)
        return skip(timeout)

    monkeypatch.setattr(skipping, "select", select)


class Site(Bench):
    """The bench, with a script where the fake scheduler was."""

    def __init__(self, folder: Path, text: str, **hook: Any) -> None:
        self.folder = folder
        self.called = folder / "called"
        argv = [program(folder, f"echo $ACCELWATCH_OPERATION_ID >> {self.called}\n{text}")]
        kind = hook.pop("kind", "quarantine")
        self.options: dict[str, Any] = {"hooks": {kind: {"argv": argv, **hook}}}
        if not hook.get("trusted"):
            self.options["observe"] = {"argv": printing(folder, node=OPEN)}
        super().__init__()

    def restart(self) -> None:
        self.action: Any = script(self.clock, **self.options)
        super().restart()

    def calls(self) -> list[str]:
        return self.called.read_text().split() if self.called.exists() else []


@pytest.fixture
def sites(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    made: list[Site] = []

    def make(text: str, **hook: Any) -> Site:
        made.append(Site(tmp_path, text, **hook))
        _wait_for_programs(made[-1], monkeypatch)
        return made[-1]

    yield make
    for one in made:
        one.loop.close()


def ended(pursued: Pursued | None) -> PursuitResult:
    assert pursued is not None
    return pursued.result


def states(site: Site) -> list[OperationState]:
    return [state for _, state in site.lives()]


def acting(tmp_path: Path) -> str:
    (tmp_path / "ours").write_bytes(msgspec.json.encode({"node": OURS}))
    return f"cp {tmp_path}/ours {tmp_path}/observe.json"


def test_what_is_seen_after_a_call_is_achieved(sites: Any, tmp_path: Path) -> None:
    site = sites(acting(tmp_path))
    assert ended(site.pursue(QUARANTINE)) is PursuitResult.ACHIEVED
    assert states(site)[-1] is OperationState.OBSERVED
    assert len(site.calls()) == 1


def test_ok_though_nothing_happened_is_reported_to_a_person(sites: Any) -> None:
    site = sites("exit 0")
    assert site.pursue(QUARANTINE, 300.0) is None
    (unknown,) = site.reported
    assert unknown.result is PursuitResult.UNKNOWN
    assert len(site.calls()) == 1


def test_ok_though_nothing_happened_is_refused_where_it_could_be_repeated(sites: Any) -> None:
    site = sites("exit 0", idempotent=True)
    end = site.pursue(QUARANTINE)
    assert end is not None
    assert (end.result, end.refusal) == (PursuitResult.REFUSED, RefusalKind.UNSAFE)
    assert "not observed" in end.text
    assert len(site.calls()) == 1


def test_each_attempt_has_the_same_operation(sites: Any, tmp_path: Path) -> None:
    site = sites(f"[ $ACCELWATCH_ATTEMPT -ge 3 ] || exit 75; {acting(tmp_path)}", idempotent=True)
    assert ended(site.pursue(QUARANTINE)) is PursuitResult.ACHIEVED
    assert len(site.calls()) == 3
    assert len(set(site.calls())) == 1
    assert len({one.id for one in site.operations()}) == 3


def test_one_that_fails_is_refused(sites: Any) -> None:
    site = sites("echo no such rack >&2; exit 1")
    end = site.pursue(QUARANTINE)
    assert end is not None
    assert end.result is PursuitResult.REFUSED
    assert "no such rack" in end.text
    assert len(site.calls()) == 1


def test_one_that_was_killed_is_not_called_again(sites: Any) -> None:
    site = sites("kill -KILL $$")
    assert site.pursue(QUARANTINE, 300.0) is None
    assert site.reported[0].result is PursuitResult.UNKNOWN
    assert len(site.calls()) == 1


def test_what_nothing_shows_is_done_once_whatever_restarts(sites: Any) -> None:
    site = sites("echo opened T-1", kind="service", trusted=True)
    wanted = intent(IntentKind.SERVICE)
    assert ended(site.pursue(wanted)) is PursuitResult.ACHIEVED
    site.restart()
    assert ended(site.pursue(wanted)) is PursuitResult.ACHIEVED
    assert len(site.calls()) == 1


def test_what_was_accepted_and_fails_is_refused(sites: Any, tmp_path: Path) -> None:
    (tmp_path / "first").write_text('{"status":"accepted","external_id":"t9","poll_after":20}')
    (tmp_path / "then").write_text('{"status":"failed","message":"the rack is locked"}')
    text = f'[ -z "$ACCELWATCH_POLL" ] && cat {tmp_path}/first || cat {tmp_path}/then'
    site = sites(text)
    end = site.pursue(QUARANTINE)
    assert end is not None
    assert end.result is PursuitResult.REFUSED
    assert "the rack is locked" in end.text
    assert len(site.calls()) == 2


def test_what_was_accepted_before_a_restart_is_requested_after_it(
    sites: Any, tmp_path: Path
) -> None:
    accepted = '{"status":"accepted","external_id":"t 9","poll_after":30}'
    polls = f'echo "$ACCELWATCH_POLL" >> {tmp_path}/polls; [ "$ACCELWATCH_POLL" ]'
    then = f"[ -e {tmp_path}/ready ] && {{ {acting(tmp_path)}; }}"
    site = sites(f"{polls} || {{ echo '{accepted}'; exit; }}; {then} || echo '{accepted}'")
    assert site.pursue(QUARANTINE, 10.0) is None
    site.end_all()
    assert (tmp_path / "polls").read_text() == "\n"
    (operation,) = site.operations()
    site.restart()
    (tmp_path / "ready").touch()
    assert ended(site.pursue(QUARANTINE)) is PursuitResult.ACHIEVED
    assert (tmp_path / "polls").read_text().splitlines()[1:] == ["t 9"]
    assert len(set(site.calls())) == 1, "it is asked for as the same operation"
    assert [one.id for one in site.operations()] == [operation.id]


OBSERVE_FOR_S = 60.0


@pytest.mark.parametrize("idempotent", [False, True])
def test_a_word_without_an_effect_is_reported_when_the_time_to_see_it_is_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, idempotent: bool
) -> None:
    """A program may take a minute to answer; one that has answered is not given that minute more."""
    site = Site(tmp_path, "echo ok", idempotent=idempotent, observe_for="60s")
    _wait_for_programs(site, monkeypatch)
    started_at = site.clock.wall()
    try:
        site.pursue(QUARANTINE, within_s=OBSERVE_FOR_S + 10.0)
        (report, *_) = site.reported
        assert report.result is (PursuitResult.REFUSED if idempotent else PursuitResult.UNKNOWN)
        assert OBSERVE_FOR_S <= report.time - started_at < OBSERVE_FOR_S + 5.0
        assert len(site.calls()) == 1
    finally:
        site.end_all()
        site.loop.close()
