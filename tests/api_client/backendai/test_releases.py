"""Releases of the manager: their order, what each can, and when it is read again."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest

from accelwatch.api_client.backendai.client import BackendAiClient
from accelwatch.api_client.backendai.errors import BackendAiUnavailableError
from accelwatch.api_client.backendai.releases import Ability, ManagerRelease, Release
from accelwatch.api_client.backendai.server import ServerOptions, server_of
from support.backendai.signed_api import ACCESS_KEY, signed
from support.servers.scripted_api import Answering, answered


@pytest.mark.parametrize(
    ("text", "release"),
    [
        ("26.9.6", Release(26, 9, 6)),
        ("26.1.0", Release(26, 1, 0)),
        ("24.09.0rc1", Release(24, 9, 0)),
        ("23.03", Release(23, 3, 0)),
        ("main", None),
        ("", None),
    ],
)
def test_a_release_is_read_from_the_managers_words(text: str, release: Release | None) -> None:
    assert Release.parsed(text) == release


def test_releases_are_ordered_by_their_numbers() -> None:
    assert Release(26, 1, 0) < Release(26, 9, 6) < Release(26, 10, 0)
    assert str(Release(26, 9, 6)) == "26.9.6"


ALL = set(Ability)
OF_24_09 = {Ability.REQUESTED_SLOTS, Ability.AGENT_IDS, Ability.DEPENDENTS}


@pytest.mark.parametrize(
    ("release", "able"),
    [
        (Release(23, 9, 10), set()),
        (Release(24, 3, 9), {Ability.REQUESTED_SLOTS}),
        (Release(24, 9, 0), OF_24_09),
        (Release(26, 1, 0), OF_24_09),
        (Release(26, 3, 9), OF_24_09),
        (Release(26, 4, 0), ALL),
        (Release(26, 9, 6), ALL),
    ],
)
def test_what_a_release_can(release: Release, able: set[Ability]) -> None:
    assert {ability for ability in Ability if release.can(ability)} == able


class _Clock:
    def __init__(self) -> None:
        self.now = 1.0e9

    def wall(self) -> float:
        return self.now

    def monotonic(self) -> float:
        return self.now


def _manager(text: str) -> Answering:
    return answered(200, {"version": "v9.20250722", "manager": text})


@asynccontextmanager
async def _release_of(
    secret_key_file: Path, clock: _Clock, *answers: Answering
) -> AsyncIterator[ManagerRelease]:
    async with signed(*answers) as api:
        options = {
            "url": api.base,
            "access_key": ACCESS_KEY,
            "secret_key_file": str(secret_key_file),
        }
        server = server_of(msgspec.convert(options, ServerOptions))
        client = BackendAiClient(server)
        yield ManagerRelease(client, clock)
        await client.close()


def test_a_release_is_kept_for_minutes_and_read_after_an_upgrade(secret_key_file: Path) -> None:
    async def main() -> None:
        clock = _Clock()
        answers = map(_manager, ("26.1.0", "26.9.6"))
        async with _release_of(secret_key_file, clock, *answers) as release:
            assert await release.current() == Release(26, 1, 0)
            clock.now += 299
            assert await release.current() == Release(26, 1, 0)
            clock.now += 1
            assert await release.current() == Release(26, 9, 6)

    asyncio.run(main())


@pytest.mark.parametrize("text", ["22.09.1", "unknown\x1b"])
def test_a_release_that_is_not_known_is_refused_in_words(text: str, secret_key_file: Path) -> None:
    async def main() -> None:
        async with _release_of(secret_key_file, _Clock(), _manager(text)) as release:
            with pytest.raises(BackendAiUnavailableError, match=r"23\.03 or newer") as error:
                await release.current()
            assert "\x1b" not in str(error.value)

    asyncio.run(main())


def test_a_page_instead_of_a_release_is_no_answer(secret_key_file: Path) -> None:
    async def main() -> None:
        answer = answered(200, {"version": "v9"})
        async with _release_of(secret_key_file, _Clock(), answer) as release:
            with pytest.raises(BackendAiUnavailableError):
                await release.current()

    asyncio.run(main())
