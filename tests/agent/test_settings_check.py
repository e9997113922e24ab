"""What no single key shows: every mistake of an agent's settings at once, each where it was given."""

from pathlib import Path

import pytest

from accelwatch.agent.settings_check import checked, read_settings
from accelwatch.base.errors import ConfigError
from accelwatch.cli.servers.config_command import config_check
from accelwatch.config.layers import Effective, effective
from accelwatch.config.model import Collect, Settings, Web

MANY = """\
rules: {packs: [nvida]}
alerts: {sinks: [{name: a, type: slak}]}
collect: {backends: [hsot, nvdia]}
otlp: {endpoint: x}
web: {config_file: nope, listen_address: "0.0.0.0:1"}
"""


def read(settings: Settings) -> Effective[Settings]:
    """Settings that no file gave."""
    return Effective(settings=settings, file=None, sources={})


def refusal(file: Path, text: str) -> list[str]:
    """The lines with which a file of this text is refused, its own path as F."""
    file.write_text(text)
    with pytest.raises(ConfigError) as caught:
        checked(read_settings(file, {}))
    return str(caught.value).replace(f"{file}:", "F:").splitlines()


def test_every_section_is_checked_at_once_with_its_line(tmp_path: Path) -> None:
    lines = refusal(tmp_path / "agent.yaml", MANY)
    assert [line.partition("; ")[0] for line in lines] == [
        "F:3: collect.backends: 'hsot' is not installed",
        "F:3: collect.backends: 'nvdia' is not installed",
        "F:1: rules: no pack 'nvida'",
        "F:2: alerts.sinks[0].type: 'slak' is not installed",
        "F:4: otlp.endpoint: expected a URL, https://HOST/PATH",
        f"F:5: web.config_file: {tmp_path}/nope: cannot be read: No such file or directory",
    ]


@pytest.mark.parametrize(
    ("section", "lines"),
    [
        (
            "{hub: 'http://h:1'}",
            ["F:1: node_health.socket: nothing is served without one, such as"],
        ),
        ("{socket: s, hub: x}", ["F:1: node_health.hub: expected a URL, https://HOST/PATH"]),
        (
            "{socket: s, hub_token_file: t}",
            ["F:1: node_health.hub: no hub is queried without its URL, such as http://hub:9878"],
        ),
        (
            "{socket: s, hub_ca_file: t}",
            ["F:1: node_health.hub: no hub is queried without its URL, such as http://hub:9878"],
        ),
    ],
)
def test_a_health_check_that_does_not_fit_together(
    section: str, lines: list[str], tmp_path: Path
) -> None:
    refused = refusal(tmp_path / "agent.yaml", f"node_health: {section}\n")
    assert [line.partition(" /")[0] for line in refused] == lines


def test_the_command_says_the_same(tmp_path: Path) -> None:
    file = tmp_path / "agent.yaml"
    lines = refusal(file, MANY)
    with pytest.raises(ConfigError) as caught:
        config_check(file)
    assert str(caught.value).replace(f"{file}:", "F:").splitlines() == lines


def test_mistakes_in_a_file_that_is_named_have_their_own_lines(tmp_path: Path) -> None:
    web, rules = tmp_path / "web.yml", tmp_path / "rules.yaml"
    web.write_text("basic_auth_user: {}\nrols: {}\n")
    rules.write_text("version: 1\nrulez: []\nothers: []\n")
    lines = refusal(
        tmp_path / "agent.yaml", "rules: {files: rules.yaml}\nweb: {config_file: web.yml}"
    )
    locations = [line.partition(": ")[0] for line in lines]
    assert locations == [f"{rules}:2", f"{rules}:3", f"{web}:1", f"{web}:2"]


def test_an_address_that_is_open_to_all_is_reported_where_it_was_given(tmp_path: Path) -> None:
    (line,) = refusal(tmp_path / "agent.yaml", 'web:\n  listen_address: "0.0.0.0:1"\n')
    assert line.startswith("F:2: web.listen_address: other machines can reach 0.0.0.0:1")
    with pytest.raises(ConfigError, match=r"^ACCELWATCH_WEB_LISTEN_ADDRESS: web\.listen_address: "):
        checked(effective(None, {"ACCELWATCH_WEB_LISTEN_ADDRESS": ":1"}))
    with pytest.raises(ConfigError, match=r"^--web\.listen-address: web\.listen_address: other"):
        checked(effective(None, {}, {"web.listen_address": [":1"]}))
    with pytest.raises(ConfigError, match=r"^web\.listen_address: other"):
        checked(read(Settings(web=Web(listen_address=(":1",)))))


def test_a_key_of_a_free_mapping_has_its_own_line(tmp_path: Path) -> None:
    text = "otlp:\n  endpoint: http://c:1\n  headers:\n    X-Fine: a\n    X-Token: a\n"
    (line,) = refusal(tmp_path / "agent.yaml", text)
    assert line == "F:5: otlp.headers.X-Token: no secret belongs here; use header_files"


def test_a_backend_that_is_not_installed_is_a_mistake() -> None:
    checked(read(Settings(collect=Collect(backends=("host", "my_module:Backend")))))
    with pytest.raises(ConfigError, match=r"^collect\.backends: 'hsot' .*did you mean host\?$"):
        checked(read(Settings(collect=Collect(backends=("hsot",)))))


@pytest.fixture
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in which the user has no configuration, and neither has the system."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "none"))
    monkeypatch.delenv("ACCELWATCH_CONFIG_FILE", raising=False)
    monkeypatch.setattr("accelwatch.config.layers.SYSTEM_FILE", tmp_path / "none.yaml")
    return tmp_path


def test_without_a_file_and_variables_the_defaults_are_in_force(
    nowhere: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert nowhere.is_dir()
    assert config_check(None) == 0
    assert capsys.readouterr().err == (
        "accelwatch: no configuration file; the defaults are in force\n"
    )


def test_variables_are_judged_without_a_file(
    nowhere: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert nowhere.is_dir()
    monkeypatch.setenv("ACCELWATCH_WEB_MAX_REQUESTS", "zz")
    with pytest.raises(ConfigError, match=r"^ACCELWATCH_WEB_MAX_REQUESTS: 'zz' is not valid here"):
        config_check(None)
    monkeypatch.setenv("ACCELWATCH_WEB_MAX_REQUESTS", "3")
    monkeypatch.setenv("ACCELWATCH_LOG_LEVEL", "debug")
    assert config_check(None) == 0
    assert capsys.readouterr().err == (
        "accelwatch: no configuration file; ok: the defaults with"
        " ACCELWATCH_LOG_LEVEL, ACCELWATCH_WEB_MAX_REQUESTS\n"
    )


def test_variables_are_judged_with_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "agent.yaml"
    file.write_text("log: {level: info}")
    monkeypatch.setenv("ACCELWATCH_WEB_LISTEN_ADDRESS", "0.0.0.0:9")
    with pytest.raises(ConfigError, match=r"^ACCELWATCH_WEB_LISTEN_ADDRESS: web\.listen_address: "):
        config_check(file)
    monkeypatch.setenv("ACCELWATCH_WEB_LISTEN_ADDRESS", "127.0.0.1:9")
    assert config_check(file) == 0
    assert capsys.readouterr().err == (
        f"accelwatch: {file}: ok, with ACCELWATCH_WEB_LISTEN_ADDRESS\n"
    )
