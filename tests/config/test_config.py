"""Files, environment and flags: what is taken, which goes first, and what is shown of it."""

from pathlib import Path

import pytest

from accelwatch.base.errors import ConfigError
from accelwatch.config.forms import duration_text, seconds
from accelwatch.config.layers import SYSTEM_FILE, find_file, leaves, variable
from accelwatch.config.model import Settings
from accelwatch.config.show import shown
from config.loading import Write, load


def test_an_empty_file_gives_the_defaults(write: Write) -> None:
    for text in ("", "{}\n", "# nothing\n", "collect:\n"):
        assert load(write(text)).settings == Settings()


def test_every_section_is_taken(write: Write, tmp_path: Path) -> None:
    found = load(
        write(
            """
collect:
  interval: 500ms
  timeout: 2
  backends: [nvidia, host]
  groups: [pipes, links]
  processes: false
  exclude: nvidia3
  wake_suspended: true
  options:
    nvidia: {library: /opt/libnvidia-ml.so.1, depth: 3}
web:
  listen_address: ["[::1]:9877", ":9100"]
  config_file: web.yml
  max_requests: 7
  request_timeout: 1m
exposition:
  profile: minimal
  inventory: no
log: {level: debug, format: json}
workloads: {sources: [slurm], job_dirs: [/run/jobs]}
state_dir: /var/lib/accelwatch
"""
        )
    ).settings
    assert found.collect.interval_s == 0.5
    assert found.collect.timeout_s == 2.0
    assert found.collect.backends == ("nvidia", "host")
    assert found.collect.groups == {"pipes", "links"}
    assert found.collect.exclude == ("nvidia3",)
    assert found.collect.options == {"nvidia": {"library": "/opt/libnvidia-ml.so.1", "depth": 3}}
    assert found.web.listen_address == ("[::1]:9877", ":9100")
    assert found.web.config_file == str(tmp_path / "web.yml")
    assert found.web.max_requests == 7
    assert found.web.request_timeout_s == 60.0
    assert found.exposition.profile == "minimal"
    assert found.exposition.inventory is False
    assert found.log.format == "json"
    assert found.workloads.sources == {"slurm"}
    assert found.state_dir == "/var/lib/accelwatch"


def test_later_sources_win_and_are_named(write: Write) -> None:
    path = write("collect: {interval: 2s, timeout: 2s, argv: true}\nlog: {level: debug}\n")
    found = load(
        path,
        {"ACCELWATCH_COLLECT_INTERVAL": "3s", "ACCELWATCH_COLLECT_TIMEOUT": "3s"},
        {"collect.interval": "4s", "web.listen_address": None, "web.listen_any": None},
    )
    assert found.settings.collect.interval_s == 4.0
    assert found.settings.collect.timeout_s == 3.0
    assert found.settings.log.level == "debug"
    assert found.sources == {
        "collect.interval": "--interval",
        "collect.timeout": "ACCELWATCH_COLLECT_TIMEOUT",
        "collect.argv": f"{path}:1",
        "log.level": f"{path}:2",
    }


def test_environment_takes_every_kind() -> None:
    found = load(
        None,
        {
            "ACCELWATCH_WEB_LISTEN_ADDRESS": "127.0.0.1:1, [::1]:2",
            "ACCELWATCH_WEB_LISTEN_ANY": "yes",
            "ACCELWATCH_WEB_MAX_REQUESTS": "3",
            "ACCELWATCH_COLLECT_BACKENDS": "nvidia,123",
            "ACCELWATCH_COLLECT_GROUPS": "",
            "ACCELWATCH_LOG_LEVEL": "error",
            "ACCELWATCH_STATE_DIR": "/x",
            "ACCELWATCH_DISABLE_PLUGINS": "amd",
            "ACCELWATCH_WEB_SERVICE_HOST": "10.0.0.1",
            "ACCELWATCH_WEB_PORT_9877_TCP": "tcp://10.0.0.1:9877",
            "ACCELWATCH_WEB_PORT": "tcp://10.0.0.1:9877",
        },
    ).settings
    assert found.web.listen_address == ("127.0.0.1:1", "[::1]:2")
    assert found.web.listen_any is True
    assert found.web.max_requests == 3
    assert found.collect.backends == ("nvidia", "123")
    assert found.collect.groups == frozenset()
    assert found.log.level == "error"
    assert found.state_dir == "/x"


def test_which_file_counts(tmp_path: Path) -> None:
    user = tmp_path / "accelwatch" / "agent.yaml"
    user.parent.mkdir()
    user.write_text("{}")
    environ = {"XDG_CONFIG_HOME": str(tmp_path)}
    assert find_file("given.yaml", environ) == Path("given.yaml")
    assert find_file(None, environ | {"ACCELWATCH_CONFIG_FILE": "e.yaml"}) == Path("e.yaml")
    assert find_file(None, environ) == user
    user.unlink()
    assert find_file(None, environ) in (None, SYSTEM_FILE)


def test_what_is_shown_can_be_read_back(write: Write, tmp_path: Path) -> None:
    path = write("collect:\n  groups: [links]\n  options: {x: {a: [1, {token_file: /t}]}}\n")
    before = load(path, {"ACCELWATCH_COLLECT_TIMEOUT": "1500ms"})
    text = shown(before)
    assert "  groups: [links]  # " + f"{path}:2" in text
    assert "  timeout: 1.5s  # ACCELWATCH_COLLECT_TIMEOUT" in text
    assert "  interval: 1s  # default" in text
    again = tmp_path / "again.yaml"
    again.write_text(text)
    assert load(again).settings == before.settings


def test_sinks_are_shown_and_can_be_read_back(write: Write, tmp_path: Path) -> None:
    path = write(
        """\
alerts:
  storm_wait: 5s
  sinks: [{name: a, type: webhook, timeout: 3s, options: {url: "http://h/", token: hunter2}}]
  routes: [{sinks: [a], after: 30m, quiet: {from: 22:00, to: 7:30}}]
  dead_man: {url_file: /etc/url}
"""
    )
    text = shown(load(path))
    assert "  dead_man:\n    url_file: /etc/url  # " in text
    assert "  storm_wait: 5s  # " in text
    assert "hunter2" not in text
    again = tmp_path / "again.yaml"
    again.write_text(text)
    before, after = load(path).settings.alerts, load(again).settings.alerts
    assert (after.routes, after.dead_man) == (before.routes, before.dead_man)
    assert after.sinks[0].timeout_s == 3.0


def test_sinks_and_routes_stand_in_files_only(write: Write) -> None:
    with pytest.raises(ConfigError, match="ACCELWATCH_ALERTS_SINKS: unknown variable"):
        load(write("{}"), {"ACCELWATCH_ALERTS_SINKS": "a"})
    found = load(write("{}"), {"ACCELWATCH_ALERTS_DEAD_MAN_URL_FILE": "/u"})
    assert found.settings.alerts.dead_man.url_file == "/u"


def test_secrets_are_not_shown(write: Write) -> None:
    found = load(write("collect:\n  options: {x: {deep: {api_key: hunter2}}}\n"))
    assert "hunter2" not in shown(found)


def test_variables_do_not_collide() -> None:
    assert len({variable(dotted) for dotted in leaves()}) == len(leaves())


@pytest.mark.parametrize(
    ("text", "value"), [("1", 1), ("500ms", 0.5), ("1.5h", 5400), ("2 d", 172800)]
)
def test_durations(text: str, value: float) -> None:
    assert seconds(text) == value
    assert seconds(duration_text(value)) == value


@pytest.mark.parametrize("text", ["", "s", "-1s", "1w", "1e3", "nan", "1s1s", "٣s"])
def test_no_durations(text: str) -> None:
    with pytest.raises(ValueError, match="not a valid duration"):
        seconds(text)
