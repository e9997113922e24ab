"""`accelwatch remedy actions` over programs of a site."""

from pathlib import Path

import pytest

from accelwatch.base.errors import ConfigError, UsageError
from accelwatch.cli.startup.app import invoke
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


def test_a_step_is_tried_dry(file: Path, capfd: pytest.CaptureFixture[str]) -> None:
    words = ["actions", "try", "-c", str(file), "site", "quarantine", "n3"]
    assert invoke(words) == 0
    seen, step, told = capfd.readouterr().out.splitlines()
    assert '"hold_state":"open"' in seen
    assert step.startswith('step: {"kind":"quarantine"')
    assert '"status":"done","text":"would drain"' in told
    assert (file.parent / "ran").read_text() == "1\n"


def test_what_is_so_already_is_said(file: Path, capfd: pytest.CaptureFixture[str]) -> None:
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
        (("site", "quarantin"), "'quarantin' is not a goal; write one of quarantine"),
    ],
)
def test_what_is_not_there(file: Path, words: tuple[str, str], text: str) -> None:
    with pytest.raises(UsageError) as caught:
        invoke(["actions", "try", "-c", str(file), *words, "n3"])
    assert text in str(caught.value)
