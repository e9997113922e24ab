"""Names are looked up on threads of their own: once for all who ask, and none holds up others."""

import asyncio
import socket
import threading
from typing import Any

import pytest

from accelwatch.fleet.follow.http.lookup_threads import LookupThreads
from accelwatch.fleet.follow.http.resolver import Resolver, name_of
from support.processes.waiting import GUARD_S, wait_until

ADDRESS = (socket.AF_INET, socket.SOCK_STREAM, 6, "", ("192.0.2.1", 0))


class Names:
    """A resolver of the system that answers when it is let."""

    def __init__(self, *errors: OSError) -> None:
        self.queries: list[str] = []
        self.may = threading.Event()
        self._errors = list(errors)

    def __call__(self, host: str, *_: Any) -> list[tuple[Any, ...]]:
        self.queries.append(host)
        self.may.wait(30)
        if self._errors:
            raise self._errors.pop(0)
        return [ADDRESS]


async def _together(names: Names, *hosts: tuple[str, int]) -> list[Any]:
    resolver = Resolver(names)
    tasks = [asyncio.ensure_future(resolver.resolve(*host)) for host in hosts]
    await asyncio.sleep(0)
    names.may.set()
    return await asyncio.gather(*tasks, return_exceptions=True)


def test_requests_of_the_same_name_at_a_time_share_one_lookup() -> None:
    names = Names()
    one, two, other = asyncio.run(_together(names, ("n1", 80), ("n1", 9400), ("n2", 80)))
    assert sorted(names.queries) == ["n1", "n2"]
    assert [(entry["host"], entry["port"]) for entry in (*one, *two, *other)] == [
        ("192.0.2.1", 80),
        ("192.0.2.1", 9400),
        ("192.0.2.1", 80),
    ]


def test_a_failure_is_everybodys_and_is_not_kept() -> None:
    names = Names(socket.gaierror("no such name"))
    failed = asyncio.run(_together(names, ("n1", 80), ("n1", 81)))
    assert [type(one) for one in failed] == [socket.gaierror] * 2
    (found,) = asyncio.run(_together(names, ("n1", 80)))
    assert found[0]["host"] == "192.0.2.1"
    assert names.queries == ["n1", "n1"]


def test_one_who_gives_up_takes_nobody_with_him() -> None:
    async def lookup(names: Names) -> Any:
        resolver = Resolver(names)
        hasty = asyncio.ensure_future(resolver.resolve("n1", 80))
        patient = asyncio.ensure_future(resolver.resolve("n1", 81))
        await asyncio.sleep(0)
        hasty.cancel()
        with pytest.raises(asyncio.CancelledError):
            await hasty
        names.may.set()
        return await patient

    names = Names()
    assert asyncio.run(lookup(names))[0]["port"] == 81
    assert names.queries == ["n1"]


def test_a_call_that_hangs_holds_up_no_other_and_threads_are_used_again() -> None:
    # A free thread waits longer than the machine may stand between two calls.
    threads, hangs, done = LookupThreads(GUARD_S), threading.Event(), threading.Semaphore(0)
    used: set[int] = set()

    def call() -> None:
        used.add(threading.get_ident())
        done.release()

    threads.run(lambda: hangs.wait(60))
    for _ in range(20):
        threads.run(call)
        assert done.acquire(timeout=30)
        wait_until(lambda: threads._free == 1)
    assert len(used) == 1
    hangs.set()


def test_a_thread_that_nobody_wants_ends_and_the_next_call_has_a_new_one() -> None:
    threads, done = LookupThreads(idle_s=0.01), threading.Semaphore(0)
    before = threading.active_count()
    for _ in range(3):
        threads.run(done.release)
        assert done.acquire(timeout=30)
        wait_until(lambda: threading.active_count() <= before)


def test_a_call_on_its_way_to_a_thread_that_gives_up_is_done_all_the_same() -> None:
    threads, done = LookupThreads(idle_s=0.0005), threading.Semaphore(0)
    before = set(threading.enumerate())
    for _ in range(500):
        threads.run(done.release)
    for _ in range(500):
        assert done.acquire(timeout=30)
    wait_until(lambda: set(threading.enumerate()) <= before)


@pytest.mark.parametrize(("host", "given"), [("localhost", b"localhost"), ("bücher", "bücher")])
def test_a_name_of_plain_letters_is_looked_up_as_it_is(host: str, given: str | bytes) -> None:
    assert name_of(host) == given
