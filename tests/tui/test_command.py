"""The command: what it refuses before the terminal is touched, and which source it chooses."""

import asyncio
import gc
import sys
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from accelwatch.archive.recording import Recorder
from accelwatch.base.errors import ExpressionError, UsageError
from accelwatch.cli.startup.dashboard import run_dashboard
from accelwatch.cli.startup.dashboard_command import dashboard_command
from accelwatch.cli.startup.main import main
from accelwatch.node.sampler.protocol.settings import CollectSettings
from accelwatch.schema.snapshot import Snapshot
from accelwatch.tui.app import Dashboard
from accelwatch.tui.local.sources.live import LiveSource
from accelwatch.tui.local.sources.replay import ReplaySource
from support.dashboards.local import node
from support.machines.composed import NOW


@pytest.fixture(autouse=True)
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """A person looks, unless a test says otherwise."""
    monkeypatch.setattr("accelwatch.cli.startup.dashboard_command.on_terminal", lambda: True)


@pytest.mark.parametrize(
    ("person", "words", "driver", "runs"),
    [
        (True, [], "", True),
        (False, ["--served"], "", True),
        (False, [], "textual.drivers.web_driver:WebDriver", True),
        (False, [], "", False),
        (False, ["--replay", "demo"], "", False),
    ],
)
def test_without_a_terminal_it_says_what_there_is_instead(
    person: bool,
    words: list[str],
    driver: str,
    runs: bool,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("accelwatch.cli.startup.dashboard_command.on_terminal", lambda: person)
    monkeypatch.setattr("accelwatch.cli.startup.dashboard_command.run_dashboard", lambda **_: 0)
    monkeypatch.delenv("TEXTUAL_DRIVER", raising=False)
    if driver:
        monkeypatch.setenv("TEXTUAL_DRIVER", driver)
    result = CliRunner().invoke(dashboard_command, words)
    assert result.exit_code == (0 if runs else 2)
    if not runs:
        instead = " ".join(("accelwatch snapshot", *words))
        assert f"the dashboard needs a terminal to draw on; for a pipe or a file: {instead}" in (
            result.output + capsys.readouterr().err
        )


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[Dashboard]:
    """The applications that were run, without running them."""
    given: list[Dashboard] = []

    def run(app: Dashboard) -> None:
        given.append(app)

    monkeypatch.setattr(Dashboard, "run", run)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    return given


def recording(folder: Path) -> Path:
    path = folder / "node.ndjson.zst"
    with_times = [msgspec.structs.replace(node(2), time=NOW + second) for second in range(5)]
    recorder = Recorder(path)
    for shot in with_times:
        recorder.write(shot)
    recorder.close()
    return path


@pytest.mark.parametrize(
    ("wrong", "error", "configured"),
    [
        ({"theme": "pink"}, UsageError, "no theme 'pink'; there are safe"),
        ({"condition": "indx == 1"}, ExpressionError, "did you mean index"),
        ({"replay": "/nowhere.zst"}, UsageError, "nowhere.zst"),
        ({"interval": "soon"}, UsageError, "soon"),
    ],
)
def test_mistakes_are_shown_before_the_terminal_is_touched(
    shown: list[Dashboard], wrong: dict[str, str], error: type[Exception], configured: str
) -> None:
    with pytest.raises(error, match=configured):
        run_dashboard(**wrong)  # type: ignore[arg-type]  # one option of text each
    assert shown == []


def test_a_recording_is_played_and_its_files_are_let_go(
    shown: list[Dashboard], tmp_path: Path
) -> None:
    path = recording(tmp_path)
    assert run_dashboard(replay=str(path), loop=True, theme="light", readonly=True) == 0
    source = shown[0].source
    assert isinstance(source, ReplaySource)
    assert source.position == (1, 5)
    assert source.loop
    assert shown[0].readonly
    assert shown[0].board.preferences.theme == "light"


def test_the_demo_is_a_scenario_whose_processes_are_not_ours(shown: list[Dashboard]) -> None:
    assert run_dashboard(replay="demo", condition="index == 0") == 0
    source = shown[0].source
    assert isinstance(source, LiveSource)
    assert not source.local
    assert shown[0].board.filter_text == "index == 0"


def test_options_go_before_the_file(shown: list[Dashboard], tmp_path: Path) -> None:
    path = tmp_path / "accelwatch" / "dashboard.yaml"
    path.parent.mkdir()
    path.write_text("theme: dark\ninterval_s: 5\n")
    run_dashboard(replay="demo", interval="500ms")
    assert shown[0].board.preferences.theme == "dark"
    assert shown[0].board.preferences.interval_s == 0.5


def test_what_is_wrong_with_the_file_is_shown_on_the_screen(
    shown: list[Dashboard], tmp_path: Path
) -> None:
    path = tmp_path / "accelwatch" / "dashboard.yaml"
    path.parent.mkdir()
    path.write_text("theme: pink\n")
    run_dashboard(replay="demo")
    app = shown[0]

    async def go() -> None:
        async with app.run_test(size=(120, 30)) as pilot:
            app.follow(ReplaySource(Frames()))
            await pilot.pause()
            assert "no theme 'pink'" in app.board.message

    asyncio.run(go())


class Frames:
    """One frame."""

    def times(self) -> list[float]:
        return [NOW]

    def at(self, index: int) -> Snapshot:
        return node(1)

    def close(self) -> None:
        """Nothing is held."""


def test_the_options_of_the_command_line_arrive(monkeypatch: pytest.MonkeyPatch) -> None:
    given: dict[str, object] = {}

    def run(**options: object) -> int:
        given.update(options)
        return 0

    monkeypatch.setattr("accelwatch.cli.startup.dashboard_command.run_dashboard", run)
    words = ["--interval", "1", "--replay", "x", "--theme", "mono", "--ascii", "--readonly"]
    result = CliRunner().invoke(dashboard_command, [*words, "--filter", "index == 1", "--loop"])
    assert result.exit_code == 0, result.output
    assert given == {
        "interval": "1",
        "replay": "x",
        "theme": "mono",
        "ascii_only": True,
        "readonly": True,
        "condition": "index == 1",
        "loop": True,
        "machine": CollectSettings(groups=frozenset({"host"})),
        "served": False,
    }


@pytest.mark.parametrize("collecting", [True, False])
def test_garbage_is_collected_once_it_is_loaded(
    collecting: bool, shown: list[Dashboard], monkeypatch: pytest.MonkeyPatch
) -> None:
    frozen: list[str] = []
    monkeypatch.setattr(LiveSource, "start", lambda self: None)
    monkeypatch.setattr(gc, "freeze", lambda: frozen.append("frozen"))
    before, usual = gc.get_threshold(), (700, 10, 10)
    try:
        # Another dashboard of this process may have set its own.
        gc.set_threshold(*usual)
        (gc.enable if collecting else gc.disable)()
        assert run_dashboard() == 0
        assert gc.isenabled()
        assert frozen == ([] if collecting else ["frozen"])
        assert (gc.get_threshold() == usual) is collecting
    finally:
        gc.set_threshold(*before)
        gc.enable()


@pytest.mark.parametrize(
    ("words", "terminal", "started"),
    [
        ([], True, True),
        ([], False, False),
        (["dashboard"], True, True),
        (["dashboard"], False, False),
        (["dashboard", "--interval", "1s"], True, True),
        (["dashboard", "--replay", "demo"], True, False),
        (["dashboard", "--replay=demo"], True, False),
        (["dashboard", "--help"], True, False),
        (["fleet"], True, False),
    ],
)
def test_a_collector_is_started_at_once_where_this_machine_is_shown(
    words: list[str], terminal: bool, started: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    kinds: list[bool] = []
    monkeypatch.setattr(sys, "argv", ["accelwatch", *words])
    monkeypatch.setattr("accelwatch.cli.terminal.on_terminal", lambda: terminal)
    monkeypatch.setattr("accelwatch.cli.startup.entry.dispatch", lambda _: 0)
    monkeypatch.setattr("accelwatch.cli.startup.entry.leave", lambda _: None)
    monkeypatch.setattr(
        "accelwatch.node.sampler.early.start", lambda *, lasting=False: kinds.append(lasting)
    )
    main()
    assert kinds == [True] * started


def test_a_shown_machine_is_read_from_the_start(
    shown: list[Dashboard], monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[str] = []
    monkeypatch.setattr(LiveSource, "start", lambda self: started.append("begun"))
    monkeypatch.setattr(LiveSource, "close", lambda self: started.append("closed"))
    assert run_dashboard() == 0
    assert started == ["begun", "closed"]


def test_the_dashboard_reads_the_machine_that_is_passed(
    shown: list[Dashboard], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Processes below another root may be another pid namespace's: no signal is sent to them."""
    started: list[tuple[CollectSettings, bool]] = []

    def start(source: LiveSource) -> None:
        started.append((source.settings, source.local))

    monkeypatch.setattr(LiveSource, "start", start)
    words = ["--root", str(tmp_path), "--backend", "amd,intel", "--collect", "links"]
    assert CliRunner().invoke(dashboard_command, words).exit_code == 0
    assert (
        CliRunner().invoke(dashboard_command, ["--replay", "demo", "--collect", "all"]).exit_code
        == 0
    )
    assert CliRunner().invoke(dashboard_command, []).exit_code == 0
    (configured, far), (demo, recorded), (plain, here) = started
    assert (configured.root, configured.backends) == (str(tmp_path), ("amd", "intel", "host"))
    assert configured.groups == {"links", "host"}
    assert demo.backends == ("replay",)
    assert {"links", "host"} <= demo.groups
    assert (plain.root, plain.backends) == ("/", ())
    assert plain.groups == {"host"}
    assert (far, recorded, here) == (False, False, True)


@pytest.mark.parametrize(
    ("words", "groups"),
    [
        ([], {"host"}),
        (["--collect", "host"], {"host"}),
        (["--collect", "none"], set()),
        (["--collect", "none,links"], {"links"}),
    ],
)
def test_the_host_is_read_unless_it_is_not_wanted(
    words: list[str],
    groups: set[str],
    shown: list[Dashboard],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    started: list[CollectSettings] = []
    monkeypatch.setattr(LiveSource, "start", lambda self: started.append(self.settings))

    assert CliRunner().invoke(dashboard_command, ["--backend", "nvidia", *words]).exit_code == 0

    assert started[0].groups == groups
    assert started[0].backends == (("nvidia", "host") if "host" in groups else ("nvidia",))


def test_a_recording_is_not_read_by_a_backend(shown: list[Dashboard], tmp_path: Path) -> None:
    machine = CollectSettings(backends=("amd",))
    with pytest.raises(UsageError, match="not for a recording"):
        run_dashboard(replay=str(recording(tmp_path)), machine=machine)
    assert shown == []
