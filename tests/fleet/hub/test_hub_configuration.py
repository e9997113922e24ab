"""A hub's configuration file: what it takes, and what it says of mistakes."""

from pathlib import Path

import pytest

from accelwatch.base.errors import AccelwatchError, ConfigError
from accelwatch.fleet.hub.flags import with_targets
from accelwatch.fleet.hub.model import HubSettings, load_settings


def test_a_configuration_file_is_read_strictly(tmp_path: Path) -> None:
    file = tmp_path / "hub.yaml"
    file.write_text(
        "targets:\n  static: ['n[01-02]:9877']\n  files: targets/*.json\n  labels: {pool: a}\n"
        "scrape:\n  scheme: https\n  scrape_timeout: 3s\n  tls_config: {ca_file: ca.pem}\n"
        "state: {stale_after: 20s}\n"
    )
    settings = load_settings(file)
    assert settings.targets.files == (str(tmp_path / "targets/*.json"),)
    assert settings.scrape.tls_config.ca_file == str(tmp_path / "ca.pem")
    assert settings.web.listen_address == ("127.0.0.1:9878",)
    assert settings.thresholds.stale_s == 20
    more = with_targets(load_settings(file, {"log.level": "debug"}), targets=["m[1-2],k"])
    assert more.targets.static == ("n[01-02]:9877", "m[1-2]", "k")
    assert more.log.level == "debug"
    flags = {"web.listen_address": ["127.0.0.1:1"], "state_dir": "kept"}
    laid = load_settings(file, flags)
    assert (laid.web.listen_address, laid.state_dir) == (
        ("127.0.0.1:1",),
        str(Path("kept").absolute()),
    )
    with pytest.raises(
        AccelwatchError, match=r"--web.listen-address: 'nonsense' is not a valid listen address"
    ):
        load_settings(None, {"web.listen_address": ["nonsense"]})
    with pytest.raises(AccelwatchError, match=r"targets.static.*backwards"):
        with_targets(HubSettings(), targets=["n[2-1]"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("target: []", "targets"),
        ("scrape:\n  basic_auth: {password: x}", "password_file"),
        ("scrape:\n  basic_auth: {username: x}", "password_file"),
        ("scrape:\n  proxy_url: x", "not supported"),
        ("scrape:\n  mode: push", "auto"),
        ("state: {stale_after: 40s}", "down_after"),
    ],
)
def test_a_mistake_in_the_configuration_is_named(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "hub.yaml"
    file.write_text(text + "\n")
    with pytest.raises(ConfigError, match=message):
        load_settings(file)


@pytest.mark.parametrize(
    ("text", "packs"),
    [
        ("rules: {packs: [nvidia]}\n", ("nvidia", "detector")),
        ("rules: {packs: [detector, nvidia]}\n", ("detector", "nvidia")),
        ("rules: {packs: [nvidia]}\ndetector: {enabled: false}\n", ("nvidia",)),
        ("detector: {enabled: true}\n", ()),
    ],
)
def test_the_detector_is_on_where_rules_are_evaluated(
    tmp_path: Path, text: str, packs: tuple[str, ...]
) -> None:
    file = tmp_path / "hub.yaml"
    file.write_text(text)
    assert load_settings(file).rules_in_force.packs == packs
