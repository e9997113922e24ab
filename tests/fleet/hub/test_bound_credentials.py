"""A target is shown the credentials of the section that named it, and those of no other."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from accelwatch.base.errors import ConfigError
from accelwatch.fleet.follow.access import BoundAccess, withheld
from accelwatch.fleet.hub.model import HubSettings, load_settings
from accelwatch.fleet.scrape_settings import Authorization, BasicAuth, Credentials, Scrape
from accelwatch.fleet.target import Target, targets_of
from accelwatch.fleet.targets.settings import HttpSd, Targets
from accelwatch.fleet.targets.watch import merged
from support.fleet.hub_peers import served_hub

FAST = Scrape(timeout_s=0.5, max_backoff_s=0.1, interval_s=0.1)


class Listener:
    """Refuses everybody, remembers what it was shown, and answers `/sd` with targets."""

    def __init__(self) -> None:
        self.shown: list[str] = []
        self.found: list[str] = []
        self.address = ""

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            lines = head.split("\r\n")
            authorization = [line for line in lines if line.startswith("Authorization:")]
            body = b""
            if " /sd " in lines[0]:
                body = msgspec.json.encode([{"targets": self.found}])
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n")
            else:
                self.shown += [line.partition(": ")[2] for line in authorization] or [""]
                writer.write(b"HTTP/1.1 401 Unauthorized\r\n")
            writer.write(b"Connection: close\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
            await writer.drain()
        writer.close()


@contextlib.asynccontextmanager
async def listener() -> AsyncIterator[Listener]:
    one = Listener()
    server = await asyncio.start_server(one.handle, "127.0.0.1", 0)
    one.address = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield one
    finally:
        server.close()
        await asyncio.sleep(0)


def token(folder: Path, word: str) -> Authorization:
    (folder / word).write_text(f"{word}\n")
    return Authorization(credentials_file=str(folder / word))


def test_what_a_discovery_finds_is_shown_its_own_credentials_only(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    own = Credentials(authorization=token(tmp_path, "of-the-second"))

    async def main() -> list[set[str]]:
        async with (
            listener() as static,
            listener() as filed,
            listener() as first,
            listener() as second,
        ):
            first.found, second.found = [first.address], [second.address]
            (tmp_path / "t.json").write_bytes(msgspec.json.encode([{"targets": [filed.address]}]))
            found = (
                HttpSd(url=f"http://{first.address}/sd"),
                HttpSd(url=f"http://{second.address}/sd", scrape=own),
            )
            targets = Targets(
                static=(static.address,), files=(str(tmp_path / "t.json"),), http=found
            )
            scrape = msgspec.structs.replace(FAST, authorization=token(tmp_path, "of-scrape"))
            settings = HubSettings(targets=targets, scrape=scrape)
            async with served_hub(settings, interval_s=0.05) as running:
                everybody = (static, filed, first, second)
                await running.until(lambda: all(one.shown for one in everybody))
                await running.until(
                    lambda: "none are configured" in running.failure_text(first.address)
                )
            return [set(one.shown) for one in everybody]

    with caplog.at_level(logging.WARNING):
        shown = asyncio.run(main())
    assert shown == [{"Bearer of-scrape"}, {"Bearer of-scrape"}, {""}, {"Bearer of-the-second"}]
    warned = [one.getMessage() for one in caplog.records if "no credentials" in one.getMessage()]
    assert [one.partition("key=")[2] for one in warned] == ["targets.http[0].scrape"]


def test_other_credentials_restart_a_target(tmp_path: Path) -> None:
    async def main() -> None:
        async with listener() as one:
            before = Targets(static=(one.address,))
            scrape = msgspec.structs.replace(FAST, authorization=token(tmp_path, "static"))
            settings = HubSettings(targets=before, scrape=scrape)
            async with served_hub(settings, interval_s=0.05) as running:
                await running.until(lambda: "Bearer static" in one.shown)
                one.found = [one.address]
                own = Credentials(authorization=token(tmp_path, "found"))
                after = Targets(http=(HttpSd(url=f"http://{one.address}/sd", scrape=own),))
                await running.hub.reload(msgspec.structs.replace(settings, targets=after))
                await running.until(lambda: "Bearer found" in one.shown)
                seen = len(one.shown)
                await running.until(lambda: len(one.shown) > seen + 3)
                assert set(one.shown[seen:]) == {"Bearer found"}

    asyncio.run(main())


BASIC = Credentials(basic_auth=BasicAuth(username="a", password_file="f"))


@pytest.mark.parametrize(
    ("address", "scheme", "credentials", "kept_back"),
    [
        ("n1:1", "http", BASIC, True),
        ("n1:1", "https", BASIC, False),
        ("127.0.0.1:1", "http", BASIC, False),
        ("n1:1", "http", msgspec.structs.replace(BASIC, credentials_over_http=True), False),
        ("n1:1", "http", Credentials(), False),
    ],
)
def test_credentials_are_not_sent_in_the_clear(
    address: str, scheme: str, credentials: Credentials, kept_back: bool
) -> None:
    target = Target(node="n", scheme=scheme, address=address, credentials=credentials)
    assert withheld(target) is kept_back


def test_a_target_read_over_http_is_shown_nothing_and_the_reason_is_reported(
    tmp_path: Path,
) -> None:
    given = Credentials(authorization=token(tmp_path, "secret"))
    access = BoundAccess(Scrape())
    (clear,) = targets_of(["n1:1"], credentials=given)
    (secured,) = targets_of(["https://n1:1"], credentials=given)
    assert asyncio.run(access.ticket(clear)).headers == {}
    assert "credentials_over_http" in access.hint(clear)
    assert asyncio.run(access.ticket(secured)).headers == {"Authorization": "Bearer secret"}
    assert access.hint(secured) == ""


def test_a_target_is_shown_nothing_unless_somebody_says_so() -> None:
    (one,) = targets_of(["n1"])
    assert not one.credentials


def test_a_target_found_twice_keeps_the_credentials_of_the_first_that_has_some() -> None:
    none, static = targets_of(["n1"]), targets_of(["n1"], credentials=BASIC)
    assert [one.credentials for one in merged([*static, *none]).values()] == [BASIC]
    assert [one.credentials for one in merged([*none, *static]).values()] == [BASIC]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "http: [{url: 'http://x', scrape: {authorization: {credentials: x}}}]",
            "credentials_file",
        ),
        ("dns: [{names: [a], scrape: {basic_auth: {password: x}}}]", "password_file"),
        ("slurm: {scrape: {basic_auth: {username: a}}}", "targets.slurm[0].scrape.basic_auth"),
        ("kubernetes: {scrape: {scheme: https}}", "unknown key"),
    ],
)
def test_mistakes_are_reported_with_their_key(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "hub.yaml"
    file.write_text(f"targets:\n  {text}\n")
    with pytest.raises(ConfigError) as raised:
        load_settings(file)
    assert message in str(raised.value)
