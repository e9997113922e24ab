"""The agent accepts the configuration files and the flags that stand in the examples."""

import re
from pathlib import Path

import pytest
import yaml

from accelwatch.base.default_addresses import AGENT_PORT
from accelwatch.config import Settings, effective
from accelwatch.config.layers import flag_name, leaves


def load(folder: Path, text: str) -> Settings:
    """What the agent makes of a file with this text."""
    file = folder / "agent.yaml"
    file.write_text(text, encoding="utf-8")
    return effective(file, environ={}).settings


@pytest.fixture
def systemd_text(examples: Path) -> str:
    return (examples / "systemd/agent.yaml").read_text("utf-8")


def test_file_for_systemd(systemd_text: str, tmp_path: Path) -> None:
    assert load(tmp_path, systemd_text) == Settings(state_dir="/var/lib/accelwatch")


def test_commented_settings_of_that_file(systemd_text: str, tmp_path: Path) -> None:
    switched_on = re.sub(r"^# (?=\s*[a-z_]+:)", "", systemd_text, flags=re.MULTILINE)
    settings = load(tmp_path, switched_on)
    assert settings.web.listen_address == ("0.0.0.0:9877",)
    assert settings.web.config_file == "/etc/accelwatch/web-config.yml"
    assert settings.exposition.groups == {"processes", "links"}


def test_configuration_in_the_cluster(examples: Path, tmp_path: Path) -> None:
    text = (examples / "kubernetes/daemonset.yaml").read_text("utf-8")
    maps = [item for item in yaml.safe_load_all(text) if item["kind"] == "ConfigMap"]
    settings = load(tmp_path, maps[0]["data"]["agent.yaml"])
    assert settings.web.listen_any
    assert settings.state_dir == "/var/lib/accelwatch"


def test_flags_are_named_after_settings(examples: Path) -> None:
    known = {flag_name(dotted) for dotted in leaves()} | {"--config.file"}
    for file in ("kubernetes/daemonset.yaml", "systemd/accelwatch-agent.service"):
        flags = re.findall(r"(--[a-z.-]+)=", (examples / file).read_text("utf-8"))
        assert flags, file
        assert set(flags) <= known, file


def test_examples_use_the_default_port(examples: Path) -> None:
    for file in ("prometheus/prometheus.yml", "kubernetes/daemonset.yaml", "systemd/README.md"):
        assert f":{AGENT_PORT}" in (examples / file).read_text("utf-8"), file
