"""`accelwatch remedy actions` over programs of a site."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from accelwatch.base.clock import ManualClock
from accelwatch.base.errors import ConfigError, PluginError, UsageError
from accelwatch.cli.startup.app import invoke
from accelwatch.remediation.actions import built
from accelwatch.remediation.settings import ActionSettings
from support.actions.hooks import printing, program


@pytest.fixture
def file(tmp_path: Path) -> Path:
    act = program(tmp_path, f"echo $ACCELWATCH_DRY_RUN >> {tmp_path}/ran; echo would drain", "act")
    (observe,) = printing(tmp_path, node={"name": "n3", "standing": "open"})
    config = tmp_path / "hub.yaml"
    config.write_text(
        "remedy:\n"
        "  actions:\n"
        "    - name: site\n"
        "      type: script\n"
        "      options:\n"
        f"        observe: {{argv: [{observe}]}}\n"
        "        hooks:\n"
        f"          quarantine: {{argv: [{act}], dry_run: true}}\n"
        f"          release: {{argv: [{act}]}}\n"
    )
    return config


def test_all_is_well(file: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert invoke(["actions", "check", "-c", str(file)]) == 0
    assert capfd.readouterr().out == "site: ok; supports quarantine, release\n"


def test_the_second_of_a_pair_that_does_not_answer_is_named(
    file: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    broken = program(file.parent, "echo no route to host >&2; exit 3", "broken")
    first = file.read_text()
    second = first.partition("  actions:\n")[2].replace("name: site", "name: other")
    survey = f"        survey: {{argv: [{broken}]}}\n        hooks:"
    second = second.replace("        hooks:", survey)
    file.write_text(first.replace("name: site", "name: site\n      also: other") + second)
    assert invoke(["actions", "check", "-c", str(file)]) == 0
    shown = capfd.readouterr()
    assert shown.out == "site: ok; supports quarantine, release\n"
    assert "site: other does not answer" in shown.err


def test_a_program_that_others_can_change(file: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (file.parent / "act").chmod(0o777)
    assert invoke(["actions", "check", "-c", str(file)]) == 1
    first, second = capfd.readouterr().err.splitlines()
    assert f"{file}: site: hooks.quarantine: {file.parent}/act: its group or others" in first
    assert "hooks.release" in second


def test_a_mistake_is_named_with_its_line(file: Path) -> None:
    file.write_text(file.read_text().replace("dry_run: true", "timeout: soon"))
    with pytest.raises(ConfigError) as caught:
        invoke(["actions", "check", "-c", str(file)])
    key = "remedy.actions[0].options: hooks.quarantine.timeout"
    assert str(caught.value) == (
        f"{file}:5: {key}: 'soon' is not a valid duration; write 2, 2s, 500ms or 5m"
    )
    file.write_text(file.read_text().replace("type: script", "type: skript"))
    with pytest.raises(ConfigError, match="'skript' is not installed; did you mean script"):
        invoke(["actions", "check", "-c", str(file)])


CONTRACT = """\
class Action:
    intents = frozenset()
    steps = {}
    def __init__(self, context): pass
    async def observe_all(self): return ()
    async def observe(self, intent): raise NotImplementedError
    def propose(self, intent, observed): raise NotImplementedError
    async def perform(self, step, operation): raise NotImplementedError
    def recover(self, started_step, observed): raise NotImplementedError
    async def close(self): pass
"""


@pytest.fixture
def ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The module of an installed plug-in `ours`, and a configuration that names it."""
    folder = tmp_path / "stranger-1.0.dist-info"
    folder.mkdir()
    (folder / "entry_points.txt").write_text(
        "[accelwatch.actions]\nours = stranger_action:Action\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "hub.yaml").write_text("remedy:\n  actions:\n    - type: ours\n")
    yield tmp_path / "stranger_action.py"
    sys.modules.pop("stranger_action")


def test_an_action_of_somebody_else(ours: Path, capfd: pytest.CaptureFixture[str]) -> None:
    ours.write_text(CONTRACT)
    assert invoke(["actions", "check", "-c", str(ours.parent / "hub.yaml")]) == 0
    assert capfd.readouterr().out.startswith("ours: ok")


def test_a_misspelled_ability_of_an_action_is_reported(
    ours: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    ours.write_text(f"{CONTRACT}    def complaint(self): return ['never asked']\n")
    assert invoke(["actions", "check", "-c", str(ours.parent / "hub.yaml")]) == 1
    output = capfd.readouterr()
    assert output.out == ""
    assert output.err.endswith(
        "ours: complaint is not used; did you mean complaints of HasComplaints?\n"
    )
    ours.write_text(f"{CONTRACT}    def complaints(self): return ['a key is missing']\n")
    sys.modules.pop("stranger_action")
    assert invoke(["actions", "check", "-c", str(ours.parent / "hub.yaml")]) == 1
    assert capfd.readouterr().err.endswith("ours: a key is missing\n")


@pytest.mark.parametrize(
    ("part", "instead", "complaint"),
    [
        ("def observe_all", "def survey", "has no observe_all; rename its survey to observe_all"),
        ("def observe_all", "def all", "has no observe_all; see accelwatch.action.contract.Action"),
        ("def recover", "def survey", "has no recover; see accelwatch.action.contract.Action"),
        ("steps", "stages", "has no steps; see accelwatch.action.contract.Action"),
    ],
)
def test_an_action_that_lacks_part_of_the_contract_is_refused(
    ours: Path, part: str, instead: str, complaint: str
) -> None:
    ours.write_text(CONTRACT.replace(part, instead))
    with pytest.raises(PluginError) as refused:
        built(ActionSettings(type="ours"), ManualClock())
    assert str(refused.value) == f"action plug-in 'ours' {complaint}"
    file = ours.parent / "hub.yaml"
    with pytest.raises(ConfigError) as caught:
        invoke(["actions", "check", "-c", str(file)])
    assert str(caught.value) == f"{file}:3: remedy.actions[0].type: {refused.value}"


def test_a_step_is_tried_dry(file: Path, capfd: pytest.CaptureFixture[str]) -> None:
    words = ["actions", "try", "-c", str(file), "site", "quarantine", "n3"]
    assert invoke(words) == 0
    seen, step, stdout = capfd.readouterr().out.splitlines()
    assert '"hold_state":"open"' in seen
    assert step.startswith('step: {"kind":"quarantine"')
    assert '"status":"done","text":"would drain"' in stdout
    assert (file.parent / "ran").read_text() == "1\n"


def test_what_is_so_already_is_printed(file: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert invoke(["actions", "try", "-c", str(file), "site", "release", "n3"]) == 0
    assert "achieved: " in capfd.readouterr().out
    assert not (file.parent / "ran").exists()


def test_nothing_can_be_seen(file: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert invoke(["actions", "try", "-c", str(file), "site", "quarantine", "n4"]) == 1
    assert "answered for n3" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("other", "quarantine"), "no action 'other'"),
        (("site", "quarantin"), "'quarantin' is not an operation; write one of quarantine"),
    ],
)
def test_what_is_not_there(file: Path, words: tuple[str, str], text: str) -> None:
    with pytest.raises(UsageError) as caught:
        invoke(["actions", "try", "-c", str(file), *words, "n3"])
    assert text in str(caught.value)
