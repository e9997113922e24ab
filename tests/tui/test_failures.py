"""An error that nobody has handled ends the program with a code, a line, and a file with the details."""

import asyncio
import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from textual.pilot import Pilot

from accelwatch.base.errors import AccelwatchError, ConfigError
from accelwatch.base.exit_codes import OK
from accelwatch.cli.startup.dashboard import run_to_end
from accelwatch.cli.startup.entry import guarded
from accelwatch.tui import failure
from accelwatch.tui.app import Dashboard
from accelwatch.tui.screens.local import LocalScreen
from support.dashboards.fleets import FedFleet, fleet_view
from support.dashboards.local import FedSource, board_of, node


class FailingSource(FedSource):
    """Ends with an error instead of going on."""

    def __init__(self, error: Exception) -> None:
        super().__init__(node(2))
        self._error = error

    async def run(self, changed: Callable[[], None]) -> None:
        """Fail."""
        raise self._error


class FailingFleet(FedFleet):
    """The same of a fleet."""

    async def run(self, changed: Callable[[], None]) -> None:
        """Fail."""
        raise ConfigError("the token file is gone")


def ended(app: Dashboard) -> Dashboard:
    """The application once it has ended by itself, or by q where it does not."""

    async def quit(pilot: "Pilot[object]") -> None:
        await pilot.pause()
        app.call_later(app.pull)
        await pilot.pause()
        app.exit()

    asyncio.run(app.run_async(headless=True, size=(100, 30), auto_pilot=quit))
    return app


def failed(app: Dashboard, folder: Path) -> AccelwatchError:
    """The error that the command ends with."""
    ended(app)
    assert app.failure is not None
    return failure.user_error(app.failure, folder / "accelwatch" / "dashboard-error.txt")


def test_a_quiet_end_has_no_failure() -> None:
    assert ended(Dashboard(board_of(), FedSource(node(2)))).failure is None


def test_a_screen_that_breaks_is_shown_in_a_line_with_the_path_of_the_details(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def broken(screen: LocalScreen) -> None:
        password = "hunter2"
        raise AttributeError(f"no _header\x1b[2J\n of {len(password)}")

    monkeypatch.setattr(LocalScreen, "show", broken)
    error = failed(Dashboard(board_of(), FedSource(node(2))), tmp_path)
    path = tmp_path / "accelwatch" / "dashboard-error.txt"
    assert error.exit_code == 1
    assert str(error).count("\n") == 0
    assert "\x1b" not in str(error)
    assert "AttributeError: no _header" in str(error)
    assert str(path) in str(error)
    details = path.read_text()
    assert "Traceback" in details
    assert "in broken" in details
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    shown = capfd.readouterr()
    assert "Traceback" not in shown.out + shown.err
    assert "hunter2" not in shown.out + shown.err + str(error)


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (RuntimeError("no pipe"), "RuntimeError: no pipe"),
        (ConfigError("hub.yaml, line 3: no key tokn"), "hub.yaml, line 3: no key tokn"),
    ],
)
def test_a_source_that_fails_ends_the_program(
    error: Exception, message: str, tmp_path: Path
) -> None:
    given = failed(Dashboard(board_of(), FailingSource(error)), tmp_path)
    assert message in str(given)
    assert given.exit_code == (2 if isinstance(error, ConfigError) else 1)


def test_a_fleet_that_fails_ends_the_program_with_its_own_words(tmp_path: Path) -> None:
    app = Dashboard(board_of(), None, fleet=FailingFleet(fleet_view(2)))
    given = failed(app, tmp_path)
    assert isinstance(given, ConfigError)
    assert not list(tmp_path.iterdir())


def test_details_that_cannot_be_written_are_shown_too(tmp_path: Path) -> None:
    (tmp_path / "accelwatch").write_text("a file in the way")
    error = failure.user_error(ValueError("x" * 1000), tmp_path / "accelwatch" / "error.txt")
    assert "cannot be written" in str(error)
    assert len(str(error)) < 500 + len(str(tmp_path))


def test_the_command_ends_with_a_code_and_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    app = Dashboard(board_of(), FailingSource(RuntimeError("no pipe")))
    monkeypatch.setattr(Dashboard, "run", ended)

    def command() -> int:
        run_to_end(app)
        return OK

    assert guarded(command) == 1
    stderr = capsys.readouterr().err
    assert stderr.startswith("accelwatch: the dashboard has failed")
    assert stderr.count("\n") == 1
    assert str(failure.path_of(os.environ)) in stderr


def test_the_details_are_kept_in_the_state_folder() -> None:
    name = "accelwatch/dashboard-error.txt"
    assert failure.path_of({"XDG_STATE_HOME": "/s"}) == Path("/s") / name
    assert failure.path_of({"HOME": "/h"}) == Path("/h/.local/state") / name
