"""Configuration files, environment and flags: what is taken, and the exact words of every refusal."""

import contextlib
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
import typer
import yaml
from hypothesis import given
from hypothesis import strategies as st

from accelwatch.agent.web_config import WebConfig
from accelwatch.cli.agent_command import FLAGS, agent
from accelwatch.config.forms import duration_text, seconds
from accelwatch.config.layers import (
    SYSTEM_FILE,
    Effective,
    Flag,
    effective,
    find_file,
    flag_name,
    leaves,
    variable,
)
from accelwatch.config.model import Settings
from accelwatch.config.reader import Reader
from accelwatch.config.show import shown
from accelwatch.errors import ConfigError

Write = Callable[[str | bytes], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def _write(text: str | bytes) -> Path:
        path = tmp_path / "agent.yaml"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return _write


def load(
    path: Path | None = None,
    environ: Mapping[str, str] | None = None,
    flags: Mapping[str, Flag] | None = None,
) -> Effective:
    return effective(path, environ or {}, flags)


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


BAD = [
    ("collekt: {}", "F:1: collekt: unknown key; did you mean collect?"),
    (
        "a: 1\nb: 2",
        "F:1: a: unknown key; expected one of collect, exposition, log, state_dir,"
        " web, workloads\nF:2: b: unknown key; expected one of collect, exposition, log,"
        " state_dir, web, workloads",
    ),
    ("collect:\n  intervall: 1s", "F:2: collect.intervall: unknown key; did you mean interval?"),
    (
        "collect:\n  interval: fast",
        "F:2: collect.interval: 'fast' is no duration; expected a duration such as 500ms, 1s or 5m",
    ),
    (
        "collect:\n  interval: 10ms",
        "F:2: collect.interval: '10ms' is out of range; expected a duration from 100ms to 1m",
    ),
    (
        "collect:\n  interval: 1:30",
        "F:2: collect.interval: '1:30' is no duration; expected a duration such as 500ms, 1s or 5m",
    ),
    (
        "collect:\n  interval: [1]",
        "F:2: collect.interval: a list is out of place; expected a duration from 100ms to 1m",
    ),
    (
        "collect:\n  processes: 1",
        "F:2: collect.processes: '1' is out of place; expected true or false",
    ),
    (
        "collect:\n  groups: [pipe]",
        "F:2: collect.groups: no opt-in group 'pipe', did you mean pipes?; expected one of G",
    ),
    (
        "collect:\n  backends: {a: b}",
        "F:2: collect.backends: a mapping is out of place; expected a list of text",
    ),
    (
        "collect:\n  backends: [1]",
        "F:2: collect.backends: '1' is out of place; expected text; put it in quotes",
    ),
    ("collect: 3", "F:1: collect: expected a mapping"),
    (
        "collect:\n  options: {a: {b: 1, b: 2}}",
        "F:2: collect.options: the key 'b' is no word or given twice",
    ),
    (
        "collect:\n  options:\n    ipmi:\n      password: hunter2",
        "F:2: collect.options.ipmi.password: no secret belongs here; use ipmi.password_file",
    ),
    (
        "web:\n  max_requests: 0",
        "F:2: web.max_requests: 0 is out of range; expected a number from 1 to 100000",
    ),
    (
        "web:\n  max_requests: many",
        "F:2: web.max_requests: 'many' is out of place; expected a number from 1 to 100000",
    ),
    (
        "web:\n  max_requests: 0x10",
        "F:2: web.max_requests: '0x10' is out of place; expected a number from 1 to 100000",
    ),
    (
        "web:\n  max_requests: 99999999999999999999999999999",
        "F:2: web.max_requests: 99999999999999999999999999999 is out of range;"
        " expected a number from 1 to 100000",
    ),
    (
        "web:\n  listen_address: localhost",
        "F:2: web.listen_address: 'localhost' is no listen address; expected host:port such as"
        ' "127.0.0.1:9877", "[::1]:9877" or ":9877"',
    ),
    (
        "web:\n  listen_address: ::1:9877",
        "F:2: web.listen_address: '::1:9877' is no listen address; expected host:port such as"
        ' "127.0.0.1:9877", "[::1]:9877" or ":9877"',
    ),
    (
        "web:\n  listen_address: 1.2.3.4:99999",
        "F:2: web.listen_address: '1.2.3.4:99999' is no listen address; expected host:port such as"
        ' "127.0.0.1:9877", "[::1]:9877" or ":9877"',
    ),
    (
        "exposition: {profile: tiny}",
        "F:1: exposition.profile: 'tiny' is out of place; expected one of default, minimal",
    ),
    ("state_dir: a\nstate_dir: b", "F:2: state_dir: given twice, first on line 1"),
    ("? [a]\n: 1", "F:1: a key must be a word"),
    ("- 1", "F:1: a mapping is expected at the top"),
    ("a: &x 1\nb: *x", "F:2: aliases are not taken; write it out"),
    ("collect: {", "F:1: bad YAML: expected the node content, but found '<stream end>'"),
    ("a: b: c", "F:1: bad YAML: mapping values are not allowed here"),
    ("collect:\n\tinterval: 1", "F:2: bad YAML: found character '\\t' that cannot start any token"),
    (b"\xff\xfe\xfd", "F: bad YAML: truncated data"),
    (
        "state_dir: !!python/object:os.system x",
        "F:1: state_dir: 'x' is out of place; expected a path",
    ),
    ("a: 1\n---\nb: 2", "F:2: bad YAML: but found another document"),
]


@pytest.mark.parametrize(("text", "message"), BAD)
def test_a_bad_file_says_where_and_what(write: Write, text: str, message: str) -> None:
    path = write(text)
    with pytest.raises(ConfigError) as caught:
        load(path)
    groups = str(caught.value).partition("expected one of ")[2]
    assert str(caught.value) == message.replace("F:", f"{path}:").replace("of G", f"of {groups}")


def test_all_mistakes_are_reported_together(write: Write) -> None:
    path = write("collect:\n  interval: x\nweb:\n  max_requests: -1\nlog:\n  levle: info\n")
    with pytest.raises(ConfigError) as caught:
        load(path, {"ACCELWATCH_COLLECT_TIMEOUT": "soon"}, {"web.max_connections": "no"})
    assert [line.split(": ")[0] for line in str(caught.value).splitlines()] == [
        f"{path}:2",
        f"{path}:4",
        f"{path}:6",
        "ACCELWATCH_COLLECT_TIMEOUT",
        "--web.max-connections",
    ]


def test_a_missing_or_unreadable_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"agent.yaml: cannot be read: No such file"):
        load(tmp_path / "agent.yaml")
    with pytest.raises(ConfigError, match=r"cannot be read: Is a directory"):
        load(tmp_path)


def test_a_huge_file_is_refused(write: Write) -> None:
    with pytest.raises(ConfigError, match="no configuration file"):
        load(write("#" * (2 << 20)))


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


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        (
            "ACCELWATCH_COLLECT_INTERVALL",
            "1",
            "ACCELWATCH_COLLECT_INTERVALL: unknown variable;"
            " did you mean ACCELWATCH_COLLECT_INTERVAL?",
        ),
        (
            "ACCELWATCH_LOG_LEVEL",
            "loud",
            "ACCELWATCH_LOG_LEVEL: 'loud' is out of place;"
            " expected one of debug, error, info, warning",
        ),
        (
            "ACCELWATCH_COLLECT_PROCESSES",
            "maybe",
            "ACCELWATCH_COLLECT_PROCESSES: 'maybe' is out of place; expected true or false",
        ),
        (
            "ACCELWATCH_WEB_LISTEN_ADDRESS",
            "x",
            "ACCELWATCH_WEB_LISTEN_ADDRESS: 'x' is no listen"
            ' address; expected host:port such as "127.0.0.1:9877", "[::1]:9877" or ":9877"',
        ),
    ],
)
def test_a_wrong_variable_is_named(name: str, value: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(None, {name: value})
    assert str(caught.value) == message


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
    with pytest.raises(ValueError, match="no duration"):
        seconds(text)


def test_the_documentation_names_every_setting() -> None:
    page = Path(__file__).resolve().parents[2] / "docs" / "configuration.md"
    text = page.read_text("utf-8")
    assert [dotted for dotted in leaves() if f"`{dotted}`" not in text] == []
    for block in text.split("```yaml")[1:]:
        assert isinstance(yaml.safe_load(block.partition("```")[0]), dict)


EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def test_the_examples_are_right() -> None:
    assert load(EXAMPLES / "systemd" / "agent.yaml").settings.web == Settings().web
    values, complaints = Reader(WebConfig).read(EXAMPLES / "systemd" / "web-config.yml")
    assert complaints == []
    assert values["tls_server_config.cert_file"].value == "/etc/accelwatch/tls/agent.crt"
    (manifest,) = (
        document["data"]["agent.yaml"]
        for document in yaml.safe_load_all(
            (EXAMPLES / "kubernetes" / "daemonset.yaml").read_text("utf-8")
        )
        if document["kind"] == "ConfigMap"
    )
    assert Reader(Settings).parse(manifest.encode(), Path("agent.yaml"))[1] == []


HOSTILE = st.one_of(
    st.binary(max_size=300),
    st.text(alphabet="{}[]:,-&*!|>'\"#% \n\tabcollectweb_0", max_size=200).map(str.encode),
)


@given(HOSTILE)
def test_no_file_breaks_the_reader(data: bytes) -> None:
    with contextlib.suppress(ConfigError):
        Reader(Settings).parse(data, Path("agent.yaml"))
    with contextlib.suppress(ConfigError):
        Reader(WebConfig).parse(data, Path("web.yml"))


def test_deep_nesting_is_refused(write: Write) -> None:
    for text in ("[" * 100_000, "collect: {options: {a: {b: " + "[" * 30 + "]" * 30 + "}}}"):
        with pytest.raises(ConfigError):
            load(write(text))


def test_every_flag_is_named_as_it_is_given() -> None:
    """A mistake in a flag is told under the name that the command takes."""
    app = typer.Typer()
    app.command()(agent)
    taken = {name for option in typer.main.get_command(app).params for name in option.opts}
    for dotted in FLAGS:
        assert flag_name(dotted) in taken
