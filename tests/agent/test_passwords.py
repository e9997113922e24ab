"""The password checker by itself: what it remembers, what it costs a stranger, how it ends."""

import asyncio
import threading
from collections.abc import Awaitable, Callable

import bcrypt
import pytest

from accelwatch.web.protection import passwords
from accelwatch.web.protection.passwords import Busy, PasswordChecker
from support.processes.waiting import GUARD_S

PASSWORD = "correct horse"
HASH = bcrypt.hashpw(PASSWORD.encode(), bcrypt.gensalt(4)).decode()


def with_checker(scenario: Callable[[PasswordChecker], Awaitable[None]]) -> None:
    async def run() -> None:
        checker = PasswordChecker()
        try:
            await scenario(checker)
        finally:
            checker.close()

    asyncio.run(run())


@pytest.fixture
def checked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The hashes that were checked; every password that equals its hash's name is right."""
    hashes: list[str] = []

    def checkpw(password: bytes, hashed: bytes) -> bool:
        hashes.append(hashed.decode())
        return hashed == password

    monkeypatch.setattr(bcrypt, "checkpw", checkpw)
    return hashes


def test_an_unknown_user_costs_as_much_as_a_known_one(checked: list[str]) -> None:
    async def scenario(checker: PasswordChecker) -> None:
        costly = {"a": HASH.replace("$04$", "$12$")}
        assert not await checker.check(costly, "nobody", PASSWORD)
        assert not await checker.check({}, "nobody", PASSWORD)

    with_checker(scenario)
    assert [hashed[:7] for hashed in checked] == ["$2b$12$", "$2b$10$"]
    assert {len(hashed) for hashed in checked} == {60}


def test_an_unknown_user_never_becomes_known() -> None:
    async def scenario(checker: PasswordChecker) -> None:
        for _ in range(2):
            assert not await checker.check({"a": HASH}, "b", PASSWORD)
        assert await checker.check({"a": HASH}, "a", PASSWORD)
        assert not await checker.check({"a": HASH}, "b", PASSWORD)

    with_checker(scenario)


def test_users_and_passwords_that_are_no_utf_8_are_nobodys() -> None:
    async def scenario(checker: PasswordChecker) -> None:
        for user, password in (("\udcff", PASSWORD), ("a", "\udcff"), ("\udcff", "\udcff")):
            assert not await checker.check({"a": HASH}, user, password)

    with_checker(scenario)


def test_the_last_sixty_four_verified_are_remembered(checked: list[str]) -> None:
    users = {str(number): str(number) for number in range(65)}

    async def scenario(checker: PasswordChecker) -> None:
        async def checks(*names: int) -> list[str]:
            before = len(checked)
            for name in names:
                assert await checker.check(users, str(name), str(name))
            return checked[before:]

        await checks(*range(64))
        assert await checks(*range(64)) == []
        assert await checks(64) == ["64"]
        assert await checks(*range(1, 65)) == []
        assert await checks(0) == ["0"]

    with_checker(scenario)


def workers() -> set[threading.Thread]:
    """The threads of all checkers of this process, also of those that other tests have not closed."""
    return {thread for thread in threading.enumerate() if thread.name.startswith("password-")}


def test_checks_run_on_two_threads_that_hold_no_exit(checked: list[str]) -> None:
    others = workers()
    started: set[threading.Thread] = set()

    async def scenario(checker: PasswordChecker) -> None:
        for _ in range(3):
            await checker.check({"a": HASH}, "a", "wrong")
        started.update(workers() - others)
        assert sorted(thread.name for thread in started) == ["password-0", "password-1"]
        assert all(thread.daemon for thread in started)

    with_checker(scenario)
    for thread in started:
        thread.join(GUARD_S)
    assert not any(thread.is_alive() for thread in started)


def test_what_waits_when_it_closes_is_not_checked_any_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(passwords, "_THREADS", 1)
    started, go_on = threading.Event(), threading.Event()
    others, checked = workers(), list[bytes]()

    def checkpw(password: bytes, hashed: bytes) -> bool:
        checked.append(password)
        started.set()
        go_on.wait(GUARD_S)
        return False

    monkeypatch.setattr(bcrypt, "checkpw", checkpw)

    async def scenario(checker: PasswordChecker) -> None:
        loop = asyncio.get_running_loop()
        waiting = [
            asyncio.ensure_future(checker.check({"a": HASH}, "a", str(number)))
            for number in range(passwords._WAITING)
        ]
        await loop.run_in_executor(None, started.wait, GUARD_S)
        (worker,) = workers() - others
        checker.close()
        go_on.set()
        await loop.run_in_executor(None, worker.join, GUARD_S)
        assert not worker.is_alive()
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)

    with_checker(scenario)
    assert checked == [b"0"]


def test_it_can_be_used_again_after_it_was_closed() -> None:
    async def scenario(checker: PasswordChecker) -> None:
        for _ in range(2):
            assert not await checker.check({"a": HASH}, "a", "wrong")
            checker.close()
        assert await checker.check({"a": HASH}, "a", PASSWORD)

    with_checker(scenario)


def test_too_many_that_wait_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passwords, "_THREADS", 0)
    monkeypatch.setattr(passwords, "_WAITING", 1)

    async def scenario(checker: PasswordChecker) -> None:
        first = asyncio.ensure_future(checker.check({"a": HASH}, "a", "1"))
        await asyncio.sleep(0)
        with pytest.raises(Busy, match="^too many passwords wait to be checked$"):
            await checker.check({"a": HASH}, "a", "2")
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)

    with_checker(scenario)
