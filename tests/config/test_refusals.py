"""What no configuration may hold: the exact words of every refusal."""

import contextlib
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accelwatch.base.errors import ConfigError
from accelwatch.config import layers
from accelwatch.config.model import Settings
from accelwatch.config.reader import Reader
from accelwatch.fleet.hub import model
from accelwatch.web.protection.web_config import WebConfig
from config.loading import Write, load

BAD = [
    ("collekt: {}", "F:1: collekt: unknown key; did you mean collect?"),
    (
        "a: 1\nb: 2",
        "F:1: a: unknown key; expected one of alerts, blackbox, collect, exposition, hub, log,"
        " node_health, otlp, rules,"
        " state_dir, usage, web, workloads\nF:2: b: unknown key; expected one of alerts, blackbox,"
        " collect, exposition, hub, log, node_health, otlp, rules, state_dir, usage, web, workloads",
    ),
    ("collect:\n  intervall: 1s", "F:2: collect.intervall: unknown key; did you mean interval?"),
    (
        "collect:\n  interval: fast",
        "F:2: collect.interval: 'fast' is not a valid duration; "
        "expected a duration such as 500ms, 1s or 5m",
    ),
    (
        "collect:\n  interval: 10ms",
        "F:2: collect.interval: '10ms' is out of range; expected a duration from 100ms to 1m",
    ),
    (
        "collect:\n  interval: 1:30",
        "F:2: collect.interval: '1:30' is not a valid duration; "
        "expected a duration such as 500ms, 1s or 5m",
    ),
    (
        "collect:\n  interval: [1]",
        "F:2: collect.interval: a list is not valid here; expected a duration from 100ms to 1m",
    ),
    (
        "collect:\n  processes: 1",
        "F:2: collect.processes: '1' is not valid here; expected true or false",
    ),
    (
        "collect:\n  groups: [pipe]",
        "F:2: collect.groups: no opt-in group 'pipe', did you mean pipes?; expected one of G",
    ),
    (
        "collect:\n  backends: {a: b}",
        "F:2: collect.backends: a mapping is not valid here; expected a list of text",
    ),
    (
        "collect:\n  backends: [1]",
        "F:2: collect.backends: '1' is not valid here; expected text; put it in quotes",
    ),
    (
        "usage:\n  price_per_kwh: cheap",
        "F:2: usage.price_per_kwh: 'cheap' is not a valid price; "
        "expected a number from 0 to 999999 such as"
        " 0.30",
    ),
    (
        "usage:\n  currency: EUR 1",
        "F:2: usage.currency: 'EUR 1' is not a valid currency; "
        "expected a word of at most 8 letters such as"
        " EUR",
    ),
    ("collect: 3", "F:1: collect: expected a mapping"),
    (
        "collect:\n  options: {a: {b: 1, b: 2}}",
        "F:2: collect.options.a.b: given twice, first on line 2",
    ),
    (
        "collect:\n  options:\n    ipmi:\n      password: hunter2",
        "F:4: collect.options.ipmi.password: no secret belongs here; use ipmi.password_file",
    ),
    (
        "web:\n  max_requests: 0",
        "F:2: web.max_requests: 0 is out of range; expected a number from 1 to 100000",
    ),
    (
        "web:\n  max_requests: many",
        "F:2: web.max_requests: 'many' is not valid here; expected a number from 1 to 100000",
    ),
    (
        "web:\n  max_requests: 0x10",
        "F:2: web.max_requests: '0x10' is not valid here; expected a number from 1 to 100000",
    ),
    (
        "web:\n  max_requests: 99999999999999999999999999999",
        "F:2: web.max_requests: 99999999999999999999999999999 is out of range;"
        " expected a number from 1 to 100000",
    ),
    (
        "web:\n  listen_address: localhost",
        "F:2: web.listen_address: 'localhost' is not a valid listen address; expected host:port such as"
        ' "127.0.0.1:9877", "[::1]:9877" or ":9877"',
    ),
    (
        "web:\n  listen_address: ::1:9877",
        "F:2: web.listen_address: '::1:9877' is not a valid listen address; expected host:port such as"
        ' "127.0.0.1:9877", "[::1]:9877" or ":9877"',
    ),
    (
        "web:\n  listen_address: 1.2.3.4:99999",
        "F:2: web.listen_address: '1.2.3.4:99999' is not a valid listen address; "
        "expected host:port such as"
        ' "127.0.0.1:9877", "[::1]:9877" or ":9877"',
    ),
    (
        "exposition: {profile: tiny}",
        "F:1: exposition.profile: 'tiny' is not valid here; expected one of default, minimal",
    ),
    ("state_dir: a\nstate_dir: b", "F:2: state_dir: given twice, first on line 1"),
    ("? [a]\n: 1", "F:1: a key must be a word"),
    ("- 1", "F:1: a mapping is expected at the top"),
    ("a: &x 1\nb: *x", "F:2: aliases are not accepted; write it out"),
    ("collect: {", "F:1: bad YAML: expected the node content, but found '<stream end>'"),
    (
        "a: b: c",
        "F:1: bad YAML: mapping values are not allowed here; "
        "put text that has a ': ' in it in quotes",
    ),
    (
        "collect:\n\tinterval: 1",
        "F:2: bad YAML: found character '\\t' that cannot start any token; "
        "put the text in quotes, and indent with spaces",
    ),
    (b"\xff\xfe\xfd", "F: bad YAML: truncated data; write it as UTF-8"),
    (
        "state_dir: !!python/object:os.system x",
        "F:1: state_dir: 'x' is not valid here; expected a path",
    ),
    (
        "a: 1\n---\nb: 2",
        "F:2: bad YAML: expected a single document in the stream, but found another document; "
        "a file has one: take out this '---', or make two files of it",
    ),
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
            "ACCELWATCH_LOG_LEVEL: 'loud' is not valid here;"
            " expected one of debug, error, info, warning",
        ),
        (
            "ACCELWATCH_COLLECT_PROCESSES",
            "maybe",
            "ACCELWATCH_COLLECT_PROCESSES: 'maybe' is not valid here; expected true or false",
        ),
        (
            "ACCELWATCH_WEB_LISTEN_ADDRESS",
            "x",
            "ACCELWATCH_WEB_LISTEN_ADDRESS: 'x' is not a valid listen"
            ' address; expected host:port such as "127.0.0.1:9877", "[::1]:9877" or ":9877"',
        ),
    ],
)
def test_a_wrong_variable_is_named(name: str, value: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(None, {name: value})
    assert str(caught.value) == message


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


def _refusal(tmp_path: Path, text: str, read: Callable[[Path], object]) -> str:
    file = tmp_path / "file.yaml"
    file.write_text(text)
    with pytest.raises(ConfigError) as refused:
        read(file)
    return str(refused.value).removeprefix(f"{file}:")


@pytest.mark.parametrize("read", [layers.effective, model.effective], ids=["agent", "hub"])
@pytest.mark.parametrize("key", ["config_file", "unix_socket"])
def test_an_empty_path_is_refused(tmp_path: Path, read: Callable[[Path], object], key: str) -> None:
    message = _refusal(tmp_path, f"web:\n  {key}:\n", read)
    assert message == f"2: web.{key}: is empty; write a path, or leave the key out"
    (tmp_path / "file.yaml").write_text(f"web:\n  {key}: null\n")
    read(tmp_path / "file.yaml")


def test_nor_does_an_empty_variable() -> None:
    with pytest.raises(ConfigError, match="WEB_CONFIG_FILE"):
        layers.effective(None, {"ACCELWATCH_WEB_CONFIG_FILE": ""})


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("scrape:\n  authorization: {credentials_file: }", "scrape.authorization.credentials_file"),
        ("scrape:\n  tls_config: {ca_file: }", "scrape.tls_config.ca_file"),
        ("scrape:\n  basic_auth:", "scrape.basic_auth"),
        ("scrape:\n  authorization: {}", "scrape.authorization"),
        ("remote_write:\n  tls_config:", "remote_write.tls_config"),
        ("targets:\n  http: [{url: 'http://x', basic_auth: }]", "targets.http[0].basic_auth"),
        ("prometheus:\n  url:", "prometheus.url"),
        ("remedy:\n  stop_file: ''", "remedy.stop_file"),
        ("remedy:\n  links: {key_file: }", "remedy.links.key_file"),
        ("remedy:\n  domains: []", "remedy.domains"),
        ("remedy:\n  no_auto_label: ''", "remedy.no_auto_label"),
        ("history:\n  folder:", "history.folder"),
        ("alerts:\n  dead_man: {url_file: }", "alerts.dead_man.url_file"),
        ("\nstate_dir:", "state_dir"),
    ],
)
def test_an_empty_key_of_a_hub_takes_no_protection_away(
    tmp_path: Path, text: str, key: str
) -> None:
    assert _refusal(tmp_path, text, model.effective).startswith(f"2: {key}: ")
