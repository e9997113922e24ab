"""The loop of these tests leaves nothing behind for the tests after it."""

import asyncio

import pytest

from remediation.virtual_time import VirtualLoop


async def fails_at_the_end() -> None:
    try:
        await asyncio.sleep(3600.0)
    finally:
        raise ValueError


async def clings() -> None:
    while True:
        try:
            await asyncio.sleep(3600.0)
        except asyncio.CancelledError:
            continue


def test_what_still_runs_ends_with_the_loop(caplog: pytest.LogCaptureFixture) -> None:
    loop = VirtualLoop()
    waits, fails = loop.create_task(asyncio.sleep(3600.0)), loop.create_task(fails_at_the_end())
    loop.run_until_complete(asyncio.sleep(1.0))
    loop.close()
    loop.close()
    assert waits.cancelled()
    assert fails.done()
    del waits, fails
    assert [record for record in caplog.records if record.name == "asyncio"] == []


def test_what_heeds_no_cancellation_holds_no_loop() -> None:
    loop = VirtualLoop()
    task = loop.create_task(clings())
    task._log_destroy_pending = False  # type: ignore[attr-defined]  # asyncio.gather does so too
    loop.run_until_complete(asyncio.sleep(1.0))
    loop.close()
    assert loop.is_closed()
    assert not task.done()
