"""Which options lead to a manager, and which keys are accepted."""

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest

from accelwatch.api_client.backendai.credentials import Credentials, secret_key_in
from accelwatch.api_client.backendai.server import Server, ServerOptions, server_of
from accelwatch.base.errors import ConfigError
from support.backendai.signed_api import ACCESS_KEY, SECRET_KEY

GOOD = {
    "url": "https://api.backend.example/bai/",
    "access_key": ACCESS_KEY,
    "secret_key_file": "/secret",
}


def options(**changed: Any) -> ServerOptions:
    return msgspec.convert({**GOOD, **changed}, ServerOptions)


def test_the_host_of_the_url_is_signed_unless_another_is_named() -> None:
    assert server_of(options()) == Server(
        base="https://api.backend.example/bai",
        access_key=ACCESS_KEY,
        secret_key_file="/secret",
        host="api.backend.example",
    )
    assert server_of(options(host="manager:8081")).host == "manager:8081"


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("http://10.0.0.1:8081", "10.0.0.1:8081"),
        ("https://api.example:443", "api.example"),
        ("http://[fd00::1]:8081", "[fd00::1]:8081"),
    ],
)
def test_a_host_is_signed_as_it_is_sent(url: str, host: str) -> None:
    assert server_of(options(url=url)).host == host


@pytest.mark.parametrize(
    "url",
    [
        "api.backend.example",
        "https://",
        "https://u:hunter2@api.example",
        "https://api.example?key=hunter2",
        "https://api.example:0",
    ],
)
def test_a_url_of_no_use_is_refused_and_not_repeated(url: str) -> None:
    with pytest.raises(ConfigError, match="^url: ") as error:
        server_of(options(url=url))
    assert "hunter2" not in str(error.value)


@pytest.mark.parametrize("key", ["", "hunter2 x", "hunter2:x", "hunter2,x", "hünter2"])
def test_an_access_key_of_no_use_is_refused_and_not_repeated(key: str) -> None:
    with pytest.raises(ConfigError, match="^access_key: ") as error:
        server_of(options(access_key=key))
    assert "nter2" not in str(error.value)


@pytest.mark.parametrize("host", ["https://manager", "manager 1", "mänager"])
def test_a_host_is_what_a_header_has(host: str) -> None:
    with pytest.raises(ConfigError, match="^host: "):
        server_of(options(host=host))


def test_a_secret_key_needs_its_file() -> None:
    with pytest.raises(ConfigError, match="^secret_key_file: "):
        server_of(options(secret_key_file=""))


@pytest.mark.parametrize("timeout_s", [0, 301])
def test_a_request_has_a_bounded_time(timeout_s: float) -> None:
    with pytest.raises(msgspec.ValidationError, match="timeout_s"):
        options(timeout_s=timeout_s)


def test_the_secret_key_is_read_from_its_file(secret_key_file: Path) -> None:
    assert secret_key_in(str(secret_key_file)) == SECRET_KEY
    link = secret_key_file.with_name("mounted")
    link.symlink_to(secret_key_file)
    assert secret_key_in(str(link)) == SECRET_KEY


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o610])
def test_a_key_that_others_can_read_is_refused_with_what_to_do(
    secret_key_file: Path, mode: int
) -> None:
    secret_key_file.chmod(mode)
    with pytest.raises(ConfigError, match=f"chmod 600 {secret_key_file}") as error:
        secret_key_in(str(secret_key_file))
    assert SECRET_KEY not in str(error.value)


@pytest.mark.parametrize("content", [b"", b"two words", b"\xff\xfe", b"a\nb"])
def test_a_file_with_anything_else_than_a_key_is_refused(
    secret_key_file: Path, content: bytes
) -> None:
    secret_key_file.write_bytes(content)
    with pytest.raises(ConfigError, match="one word"):
        secret_key_in(str(secret_key_file))


def test_a_folder_or_nothing_is_no_key(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="is not a file"):
        secret_key_in(str(tmp_path))
    with pytest.raises(ConfigError, match="No such file"):
        secret_key_in(str(tmp_path / "none"))


class _Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def wall(self) -> float:
        return self.now

    def monotonic(self) -> float:
        return self.now


def test_a_key_that_was_replaced_is_read_again(secret_key_file: Path) -> None:
    async def main() -> None:
        clock = _Clock()
        server = server_of(options(url="http://127.0.0.1:1", secret_key_file=str(secret_key_file)))
        credentials = Credentials(server, clock)
        first = await credentials.ticket()
        secret_key_file.write_text("another")
        assert (await credentials.ticket()).secret_key == SECRET_KEY
        clock.now = 10.0
        assert (await credentials.ticket()).secret_key == "another"
        secret_key_file.chmod(0o644)
        clock.now = 20.0
        # Its mode alone has changed: it has been read, and is as good as it was.
        assert (await credentials.ticket()).secret_key == "another"
        assert SECRET_KEY not in repr(first)

    asyncio.run(main())


def test_neither_key_stands_in_a_representation(secret_key_file: Path) -> None:
    assert ACCESS_KEY not in repr(server_of(options()))
