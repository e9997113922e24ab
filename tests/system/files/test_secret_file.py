"""A secret is read from a file that nobody else can read, as ssh reads a private key."""

import asyncio
import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from accelwatch.base.errors import ConfigError
from accelwatch.fleet.follow.access import Access
from accelwatch.fleet.scrape_settings import Authorization, BasicAuth, Scrape
from accelwatch.system.files.secret_file import read_secret

NOBODY = 54321
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    path = tmp_path / "secret"
    path.write_text("hunter2\n")
    path.chmod(0o600)
    return path


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o602])
def test_our_file_is_for_us_alone(secret: Path, mode: int) -> None:
    assert read_secret(secret, "the token") == b"hunter2"
    secret.chmod(mode)
    with pytest.raises(ConfigError, match="the token|everybody may write") as refused:
        read_secret(secret, "the token")
    assert "hunter2" not in str(refused.value)


@needs_root
@pytest.mark.parametrize(("mode", "well"), [(0o640, True), (0o644, False), (0o660, False)])
def test_a_file_of_another_user_may_be_for_our_group(secret: Path, mode: int, well: bool) -> None:
    os.chown(secret, NOBODY, -1)
    secret.chmod(mode)
    if well:
        assert read_secret(secret, "the token") == b"hunter2"
    else:
        with pytest.raises(ConfigError, match="others can read or write the token; chmod"):
            read_secret(secret, "the token")


def test_what_is_mounted_read_only_is_a_containers_own(
    secret: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret.chmod(0o644)
    mounted = SimpleNamespace(f_flag=os.ST_RDONLY)
    monkeypatch.setattr(os, "statvfs", lambda _place: mounted)
    assert read_secret(secret, "the token") == b"hunter2"


@pytest.mark.parametrize("kind", ["token", "password"])
def test_credentials_of_a_fleet_are_refused_only_where_everybody_can_write(
    secret: Path, kind: str
) -> None:
    """As Prometheus, whose files these are on many machines, we use what a group or all can read."""
    scrape = (
        Scrape(authorization=Authorization(credentials_file=str(secret)))
        if kind == "token"
        else Scrape(basic_auth=BasicAuth(username="me", password_file=str(secret)))
    )
    secret.chmod(0o644)
    assert "Authorization" in asyncio.run(Access(scrape).ticket()).headers
    secret.chmod(0o666)
    with pytest.raises(ConfigError, match="everybody may write"):
        asyncio.run(Access(scrape).ticket())
