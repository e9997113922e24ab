"""docs/alert-on-xid.md: its files are what they say they are."""

import re
from pathlib import Path

import pytest

from accelwatch.agent.settings_check import read_settings
from accelwatch.cli.arguments import Arguments
from accelwatch.cli.node.snapshot import run
from accelwatch.cli.servers.config_command import config_check

PAGE = Path(__file__).parents[2] / "docs/alert-on-xid.md"


@pytest.fixture
def blocks() -> list[str]:
    found = re.findall(r"```yaml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert len(found) == 3
    return found


def test_the_configuration_and_that_of_the_rehearsal_are_well(
    blocks: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "agent.yaml"
    (tmp_path / "rehearsal.yaml").write_text(blocks[1], encoding="utf-8")
    for text in (blocks[0], blocks[0] + blocks[2]):
        file.write_text(text, encoding="utf-8")
        assert config_check(file) == 0
        assert capsys.readouterr().err == f"accelwatch: {file}: ok\n"
    options = read_settings(file, {}).settings.collect.options
    assert options["replay"]["file"] == str(tmp_path / "rehearsal.yaml")


def test_the_rehearsal_is_a_scenario_of_eight_gpus(
    blocks: list[str], tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    file = tmp_path / "rehearsal.yaml"
    file.write_text(blocks[1], encoding="utf-8")
    assert run(Arguments(replay=str(file), format="csv", fields="name,state")) == 0
    rows = capfdbinary.readouterr().out.decode().splitlines()
    assert rows[1:] == [f"nvidia{index},ok" for index in range(8)]
