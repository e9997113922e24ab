"""Where a hub is, from what a person writes."""

from pathlib import Path

import pytest

from accelwatch.base.errors import AccelwatchError
from accelwatch.fleet.targets.hub_endpoint import hub_endpoint


@pytest.mark.parametrize(
    ("url", "base"),
    [
        ("hub1", "http://hub1:9878"),
        ("hub1:80", "http://hub1:80"),
        ("https://hub.example/fleet/", "https://hub.example:9878/fleet"),
        ("http://[::1]:1", "http://[::1]:1"),
        ("unix:/run/hub.sock", "http://hub"),
    ],
)
def test_a_hub_is_found(url: str, base: str) -> None:
    assert hub_endpoint(url).base == base


def test_a_socket_is_a_path() -> None:
    assert hub_endpoint("unix:///run/hub.sock").unix_socket == "/run/hub.sock"


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("ftp://hub", "the scheme is http or https"),
        ("http://me:word@hub", "no credentials in a URL"),
        ("http://hub?x=1", "write http://host:9878"),
        ("http://hub:99999", "out of range"),
        ("http://ü..x:9878", "--hub 'http://ü..x:9878': the host is not a valid name"),
        ("", "write http://host:9878"),
        ("unix:run/hub.sock", "absolute path"),
    ],
)
def test_what_makes_no_sense_is_refused_without_a_secret(url: str, message: str) -> None:
    with pytest.raises(AccelwatchError, match=message) as caught:
        hub_endpoint(url)
    assert "word" not in str(caught.value)


def test_certificates_are_never_left_out(tmp_path: Path) -> None:
    file = tmp_path / "access.yaml"
    file.write_text("tls_config: {ca_file: ca.crt}\n")
    assert hub_endpoint("hub1", file).base == "https://hub1:9878"
    with pytest.raises(AccelwatchError, match="write https://"):
        hub_endpoint("http://hub1", file)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("basic_auth: {username: me}\n", "password_file are both needed"),
        ("basic_auth: {username: me, password: word}\n", "use password_file"),
        ("bearer: x\n", "access.yaml:1: bearer: unknown key"),
    ],
)
def test_a_mistake_in_the_file_is_reported(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "access.yaml"
    file.write_text(text)
    with pytest.raises(AccelwatchError, match=message):
        hub_endpoint("hub1", file)
