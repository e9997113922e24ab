"""`accelwatch config check --hub`: where a mistake stands, and files that are not there yet."""

from pathlib import Path

import pytest

from accelwatch.base.errors import ConfigError
from accelwatch.cli.servers.config_command import hub_config_check


def test_an_address_without_protection_is_named_with_file_and_line(tmp_path: Path) -> None:
    file = tmp_path / "hub.yaml"
    file.write_text('state: {}\nweb:\n  listen_address: ["0.0.0.0:9878"]\n')
    with pytest.raises(ConfigError) as refused:
        hub_config_check(file)
    assert str(refused.value).startswith(f"{file}:3: web.listen_address: other machines can reach")


def test_a_web_configuration_of_its_own_keeps_its_name(tmp_path: Path) -> None:
    file = tmp_path / "hub.yaml"
    file.write_text("web: {config_file: none.yaml}\n")
    with pytest.raises(ConfigError, match=r"none.yaml: cannot be read"):
        hub_config_check(file)


def test_a_targets_file_that_is_not_there_is_named_and_a_pattern_is_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "here.json").write_text("[]")
    file = tmp_path / "hub.yaml"
    file.write_text("targets:\n  files: [here.json, gone.json, 'more/*.json']\n")
    assert hub_config_check(file) == 0
    assert capsys.readouterr().err.splitlines() == [
        f"accelwatch: {file}:2: targets.files: {tmp_path}/gone.json does not exist yet; "
        "the hub reads it as soon as it does",
        f"accelwatch: {file}: ok",
    ]
