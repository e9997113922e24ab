"""A configuration that is read again: off the loop, and its file is named when it is not there."""

import asyncio
import threading
from pathlib import Path

import pytest

from accelwatch.base.errors import ConfigError
from accelwatch.config.layers import Effective
from accelwatch.config.model import Log, Settings
from accelwatch.web.protection.reloading import read_again
from accelwatch.web.protection.web_config import Protection
from support.processes.waiting import GUARD_S

FILE = Path("/etc/accelwatch/agent.yaml")
SETTINGS = Settings(log=Log(level="debug"))


class Server:
    """Keeps what it is given."""

    def __init__(self) -> None:
        self.config_file: Path | None = FILE
        self.settings = SETTINGS
        self.protection = Protection()
        self.errors: list[str] = []

    async def change(self, settings: Settings, protection: Protection) -> None:
        self.settings, self.protection = settings, protection

    def report_reload(self, error: str) -> None:
        self.errors.append(error)


def loaded(file: Path | None, settings: Settings) -> Effective[Settings]:
    return Effective(settings=settings, file=file, sources={}, filled=settings != Settings())


def test_a_file_that_is_not_there_any_more_is_named_and_changes_nothing() -> None:
    server = Server()
    asyncio.run(read_again(server, lambda: loaded(None, Settings()), lambda _: Protection()))
    text = "the file is not there any more; write it again, or restart to run without it"
    assert server.errors == [f"{FILE}: {text}"]
    assert (server.settings, server.config_file) == (SETTINGS, FILE)


def test_a_file_that_moved_is_the_file_that_counts_from_then_on() -> None:
    server, other = Server(), Path("/etc/accelwatch/other.yaml")
    again = loaded(other, Settings(log=Log(level="error")))
    asyncio.run(read_again(server, lambda: again, lambda _: Protection()))
    assert (server.errors, server.config_file, server.settings) == ([""], other, again.settings)


@pytest.mark.parametrize("hung", ["read", "check"])
def test_a_disk_that_hangs_stops_nothing_else(hung: str) -> None:
    disk = threading.Event()

    def wait_for_disk(what: str) -> None:
        if what == hung:
            disk.wait(GUARD_S)

    def read() -> Effective[Settings]:
        wait_for_disk("read")
        return loaded(FILE, SETTINGS)

    def check(_: Effective[Settings]) -> Protection:
        wait_for_disk("check")
        raise ConfigError("web.yml:1: unknown key")

    async def main() -> None:
        server = Server()
        reading = asyncio.create_task(read_again(server, read, check))
        for _ in range(10):
            await asyncio.sleep(0)
        assert not reading.done()
        disk.set()
        await reading
        assert server.errors == ["web.yml:1: unknown key"]

    asyncio.run(main())
