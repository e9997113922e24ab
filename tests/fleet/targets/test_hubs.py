"""`targets.hubs`: hubs as targets, and what is said of mistakes."""

from pathlib import Path

import pytest

from accelwatch.base.errors import ConfigError, UsageError
from accelwatch.fleet.hub.flags import with_targets
from accelwatch.fleet.hub.model import HubSettings, load_settings
from accelwatch.fleet.hub_client.local_hub.embedded import checked_targets
from accelwatch.fleet.targets.hubs import MOST_HUBS, hub_endpoints


def settings_of(folder: Path, text: str) -> HubSettings:
    file = folder / "hub.yaml"
    file.write_text(text)
    return load_settings(file)


def test_hubs_are_named_and_have_credentials_of_their_own(tmp_path: Path) -> None:
    settings = settings_of(
        tmp_path,
        "targets:\n"
        "  hubs:\n"
        "  - {url: 'https://hub1:9999/base', name: pod-1, authorization: {credentials_file: t}}\n"
        "  - hub2.example.org\n"
        "  - {url: 'hub3', tls_config: {ca_file: ca.pem}}\n"
        "  - {url: 'unix:/run/hub.sock', name: here}\n"
        "stream_interval: 5s\n",
    )
    endpoints = hub_endpoints(settings.targets.hubs)
    assert [(one.name, one.base, one.unix_socket) for one in endpoints] == [
        ("pod-1", "https://hub1:9999/base", None),
        ("hub2.example.org", "http://hub2.example.org:9878", None),
        ("hub3", "https://hub3:9878", None),
        ("here", "http://hub", "/run/hub.sock"),
    ]
    files = [one.access.authorization.credentials_file for one in endpoints]
    assert files == [str(tmp_path / "t"), None, None, None]


@pytest.mark.parametrize(
    ("hubs", "message"),
    [
        ("['http://me:word@hub1']", r"hub.yaml:1: targets.hubs\[0\].url: 'hub1': no credentials"),
        ("['ftp://hub1']", r"targets.hubs\[0\].url: .*the scheme is http or https"),
        ("[{}]", r"targets.hubs\[0\].url: .*write http://host:9878"),
        ("[hub1, 'http://hub1:9878']", r"targets.hubs\[1\].url: the same hub is listed before"),
        ("['http://hub1:1', 'http://hub1:2']", r"\[1\].name: another hub is called hub1 too"),
        ("[{url: hub1, name: 'a b'}]", r"targets.hubs\[0\].name: write a name of letters"),
        (
            "[{url: 'http://hub1', authorization: {credentials_file: t}}]",
            r"\[0\].url: credentials could be read on the way: write https://",
        ),
        (
            "[{url: 'http://hub1', basic_auth: {username: a, password_file: t}}]",
            r"\[0\].url: credentials could be read on the way: write https://",
        ),
        ("[{url: hub1, basic_auth: {username: a}}]", r"username and password_file are both"),
        ("[{url: hub1, authorization: {credentials: x}}]", r"no secret belongs here"),
        (
            "[{url: 'http://hub1', tls_config: {ca_file: c}}]",
            r"\[0\].url: .*has a tls_config; write https://",
        ),
    ],
)
def test_a_mistake_names_file_line_key_and_the_mend(
    tmp_path: Path, hubs: str, message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        settings_of(tmp_path, f"targets: {{hubs: {hubs}}}\n")


@pytest.mark.parametrize(
    "url", ["'http://127.0.0.1:9878'", "'unix:/run/hub.sock'", "'https://hub1'"]
)
def test_credentials_go_where_nobody_on_the_way_reads_them(tmp_path: Path, url: str) -> None:
    hub = f"{{url: {url}, name: a, authorization: {{credentials_file: t}}}}"
    assert settings_of(tmp_path, f"targets: {{hubs: [{hub}]}}\n").targets.hubs


def test_credentials_go_over_http_where_that_is_wanted(tmp_path: Path) -> None:
    hub = "{url: 'http://h', credentials_over_http: true, authorization: {credentials_file: t}}"
    assert settings_of(tmp_path, f"targets: {{hubs: [{hub}]}}\n").targets.hubs


def test_there_are_so_many_hubs_and_no_more(tmp_path: Path) -> None:
    hubs = [f"hub{number}" for number in range(MOST_HUBS + 1)]
    assert settings_of(tmp_path, f"targets: {{hubs: {hubs[:-1]}}}\n").targets.hubs
    with pytest.raises(ConfigError, match="33 hubs, and 32 are the most"):
        settings_of(tmp_path, f"targets: {{hubs: {hubs}}}\n")


@pytest.mark.parametrize(
    ("more", "key"),
    [
        ("  static: [n1]\n", "hub.yaml:3: targets.static"),
        ("  http: [{url: 'http://x'}]\n", "targets.http"),
        ("rules: {packs: [nvidia]}\n", "hub.yaml:3: rules"),
        ("prometheus: {url: 'http://p'}\n", "hub.yaml:3: prometheus"),
        ("state: {slow_after: 3s}\n", "hub.yaml:3: state"),
    ],
)
def test_what_belongs_to_the_hubs_below_is_refused(tmp_path: Path, more: str, key: str) -> None:
    with pytest.raises(ConfigError, match=f"{key}: .*targets.hubs"):
        settings_of(tmp_path, f"targets:\n  hubs: [hub1]\n{more}")


def test_targets_of_the_command_line_are_refused_too(tmp_path: Path) -> None:
    settings = settings_of(tmp_path, "targets: {hubs: [hub1]}\n")
    with pytest.raises(ConfigError, match=r"targets.static: a hub follows either nodes or hubs"):
        with_targets(settings, targets=["n1"])


def test_a_dashboard_with_its_own_hub_follows_no_hubs(tmp_path: Path) -> None:
    settings = settings_of(tmp_path, "targets: {hubs: [hub1]}\n")
    with pytest.raises(UsageError, match="write --hub"):
        checked_targets(settings)
