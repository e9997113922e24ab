"""The section `alerts` of hub.yaml: every mistake with its line, and the page's own examples."""

import re
from pathlib import Path

import pytest

from accelwatch.base.errors import ConfigError
from accelwatch.config.alerts import Alerts, QuietHours
from accelwatch.fleet.hub.model import load_settings

# Of the standard library's modules that apprise still imports.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

_PAGE = Path(__file__).parents[3] / "docs" / "alerts.md"
_CONTENT = {
    "webhook.secret": "whsec_" + "A" * 43 + "=",
    "slack.token": "xoxb-1",
    "mail.password": "hush",
    "apprise.urls": "json://localhost\njson://127.0.0.1\n",
}


def loaded(tmp_path: Path, text: str) -> Alerts:
    file = tmp_path / "hub.yaml"
    file.write_text(text)
    return load_settings(file).alerts


def complaints(tmp_path: Path, text: str) -> list[str]:
    with pytest.raises(ConfigError) as refused:
        loaded(tmp_path, text)
    return str(refused.value).replace(f"{tmp_path}/", "").splitlines()


def test_nobody_is_notified_without_a_section(tmp_path: Path) -> None:
    assert loaded(tmp_path, "") == Alerts()


@pytest.mark.parametrize("number", range(9))
def test_each_example_of_the_page_is_right(tmp_path: Path, number: int) -> None:
    # The others are of rule files, of Alertmanager, and of another section.
    blocks = re.findall(r"```yaml\n(alerts:\n.*?)```", _PAGE.read_text(), re.DOTALL)
    assert len(blocks) == 9
    for name in re.findall(r"/etc/accelwatch/([\w.-]+)", blocks[number]):
        (tmp_path / name).write_text(_CONTENT.get(name, "https://example.org/hush"))
    alerts = loaded(tmp_path, blocks[number].replace("/etc/accelwatch", str(tmp_path)))
    assert alerts.sinks


def test_times_are_read_though_yaml_takes_them_for_numbers(tmp_path: Path) -> None:
    text = """\
alerts:
  sinks: [{name: a, type: webhook, options: {url: "http://localhost/"}}]
  routes:
    - after: 30m
      quiet: {from: 22:00, to: 7:30, zone: Asia/Seoul}
"""
    (route,) = loaded(tmp_path, text).routes
    assert route.quiet == QuietHours(start="22:00", end="07:30", zone="Asia/Seoul")
    assert route.after_s == 1800.0


SINK = 'alerts:\n  sinks:\n    - name: a\n      type: webhook\n      options: {url: "http://h/"}\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "alerts:\n  sinks:\n    - name: a\n      type: slak\n",
            "hub.yaml:4: alerts.sinks[0].type: 'slak' is not installed; did you mean slack?",
        ),
        (
            "alerts:\n  sinks:\n    - name: a\n      type: slack\n      options: {token: hush}\n",
            "hub.yaml:5: alerts.sinks[0].options: token: no secret belongs here; use token_file",
        ),
        (
            "alerts:\n  sinks:\n    - {name: a, type: teams, options: {url_file: rel}}\n",
            "hub.yaml:3: alerts.sinks[0].options: url_file: expected the absolute path of a file",
        ),
        (
            "alerts:\n  sinks:\n    - {name: a, type: teams, options: {}}\n",
            "hub.yaml:3: alerts.sinks[0].options: url: is missing",
        ),
        (SINK + "    - {name: a, type: webhook, options: {url: 'http://h'}}\n", "two sinks 'a'"),
        (SINK + "    - {type: webhook, options: {url: 'http://h'}}\n", "name: is missing"),
        (SINK + "  routes:\n    - sinks: [b]\n", "hub.yaml:7: alerts.routes[0].sinks: there is no"),
        (SINK + "  routes:\n    - match: 'pool'\n", "'pool' is not a valid matcher"),
        (SINK + "  routes:\n    - match: 'pool=~('\n", "alerts.routes[0].match: pool:"),
        (SINK + "  routes:\n    - quiet: {from: 22:00}\n", "quiet: from and to are both needed"),
        (SINK + "  routes:\n    - quiet: {from: 7:00, to: '07:00'}\n", "are the same"),
        (SINK + "  routes:\n    - quiet: {from: 25:00}\n", "'25:00' is not a valid time of day"),
        (SINK + "  routes:\n    - quiet: {zone: Mars/Base}\n", "no time zone 'Mars/Base'"),
        (SINK + "  routes:\n    - min_severity: bad\n", "one of critical, info, warning"),
        (SINK + "  routes:\n    - after: 8d\n", "out of range; expected a duration"),
        (SINK + "  routs: []\n", "unknown key; did you mean routes?"),
        ("alerts:\n  routes:\n    - after: 1m\n", "there are no sinks"),
        ("alerts:\n  external_url: hub\n", "expected http://HOST:PORT"),
        ("alerts:\n  dead_man: {url_file: none.url}\n", "hub.yaml:2: alerts.dead_man.url_file: "),
    ],
)
def test_a_mistake_names_its_line_and_key(tmp_path: Path, text: str, message: str) -> None:
    found = complaints(tmp_path, text)
    assert any(message in line for line in found), found
    assert "hush" not in "".join(found)


def test_all_mistakes_are_named_in_one_run(tmp_path: Path) -> None:
    text = SINK + "  external_url: hub\n  routes:\n    - sinks: [b]\n      match: x\n"
    assert len(complaints(tmp_path, text)) == 3


def options_refused(tmp_path: Path, kind: str, options: str) -> list[str]:
    text = f"alerts: {{sinks: [{{name: a, type: {kind}, options: {options}}}]}}\n"
    prefix = "hub.yaml:1: alerts.sinks[0].options: "
    found = complaints(tmp_path, text)
    assert all(line.startswith(prefix) for line in found)
    return [line.removeprefix(prefix) for line in found]


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        (
            "webhook",
            "{url: 'http://h/', tokenfile: x}",
            ["tokenfile: unknown key; did you mean token_file?"],
        ),
        (
            "webhook",
            "{url: 'http://h/', secret: hush, tokenfile: x}",
            [
                "secret: no secret belongs here; use secret_file",
                "tokenfile: unknown key; did you mean token_file?",
            ],
        ),
        (
            "webhook",
            "{url: 'http://h/', secret: hush, token: hush}",
            [
                "secret: no secret belongs here; use secret_file",
                "token: no secret belongs here; use token_file",
            ],
        ),
        # A secret that the plug-in does not know is not to be moved into a file first.
        (
            "teams",
            "{url: 'http://h/', password: hush}",
            ["password: unknown key; expected one of url"],
        ),
        # A file that cannot be read is the mistake, and not what is missing without it.
        ("teams", "{url_file: rel}", ["url_file: expected the absolute path of a file"]),
        (
            "email",
            "{host: h, sender: a@b, to: [c@d], username: me, password_file: rel}",
            ["password_file: expected the absolute path of a file"],
        ),
        (
            "teams",
            "{url: 'http://h/', url_file: /x}",
            ["url: there is url_file as well; leave one of them out"],
        ),
        (
            "webhook",
            "{url: 'http://h/', token: hush, token_file: rel}",
            [
                "token: no secret belongs here; use token_file",
                "token_file: expected the absolute path of a file",
            ],
        ),
    ],
)
def test_all_mistakes_of_options_are_named(
    tmp_path: Path, kind: str, options: str, message: list[str]
) -> None:
    assert options_refused(tmp_path, kind, options) == message


def test_a_value_from_a_file_is_refused_under_the_key_that_was_written(tmp_path: Path) -> None:
    (tmp_path / "to").write_text("a@b\n")
    options = f"{{host: h, sender: a@b, to_file: {tmp_path}/to}}"
    assert options_refused(tmp_path, "email", options) == [
        "to_file: expected a list of 1 to 50 texts"
    ]
