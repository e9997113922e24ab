"""The black box on its thread, and the agent's task that feeds it."""

import asyncio
import threading
from pathlib import Path

import msgspec
import pytest

from accelwatch.agent.black_box_feeder import BlackBoxFeeder
from accelwatch.archive.blackbox.black_box import BlackBox
from accelwatch.archive.blackbox.writer import Writer
from accelwatch.archive.recording import Recording
from accelwatch.schema.snapshot import Snapshot
from archive.blackbox.test_writer import shot
from support.processes.waiting import GUARD_S
from support.servers.fake_feed import FakeFeed


@pytest.fixture(autouse=True)
def patient_close(monkeypatch: pytest.MonkeyPatch) -> None:
    """The box waits until its snapshots are written, however slow the disk of the tests is."""
    monkeypatch.setattr("accelwatch.archive.blackbox.black_box._CLOSE_S", GUARD_S)


def test_what_is_offered_is_on_the_disk_at_the_end(tmp_path: Path) -> None:
    box = BlackBox(lambda: Writer(tmp_path))
    for second in range(5):
        box.offer(shot(second))
    box.close()
    with Recording.open(tmp_path) as recording:
        assert len(recording) == 5


def test_a_machine_without_devices_keeps_nothing(tmp_path: Path) -> None:
    box = BlackBox(lambda: Writer(tmp_path / "box"))
    box.offer(msgspec.structs.replace(shot(0), devices=()))
    box.close()
    assert not (tmp_path / "box").exists()


class HungDisk(Writer):
    """A disk that does not answer until it is let go."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.free = threading.Event()
        self.taken = 0

    def record(self, snapshot: Snapshot) -> None:
        self.free.wait()
        self.taken += 1


def test_a_disk_that_hangs_delays_nobody(tmp_path: Path) -> None:
    writer = HungDisk(tmp_path)
    box = BlackBox(lambda: writer)
    for second in range(100):
        box.offer(shot(second))
    writer.free.set()
    box.close()
    assert 8 <= writer.taken <= 10


def test_the_agent_offers_what_it_knows_until_it_ends(tmp_path: Path) -> None:
    feed = FakeFeed(shot(0))

    async def scenario() -> None:
        taking = BlackBoxFeeder(BlackBox(lambda: Writer(tmp_path)), feed)
        taking.step_s = 0.0
        taking.start()
        while feed.taken < 3:
            await asyncio.sleep(0)
        await taking.stop()

    asyncio.run(scenario())
    with Recording.open(tmp_path) as recording:
        assert len(recording) == 1


def test_without_a_black_box_nothing_is_taken() -> None:
    feed = FakeFeed(shot(0))

    async def scenario() -> None:
        taking = BlackBoxFeeder(None, feed)
        taking.start()
        await asyncio.sleep(0)
        await taking.stop()

    asyncio.run(scenario())
    assert feed.taken == 0
