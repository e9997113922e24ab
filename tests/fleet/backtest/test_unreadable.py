"""A read that failed is no loss: an archive has to say so, or it has to last."""

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from support.archives.synthetic_fleet import Fault

from .conftest import AT, Play


@pytest.mark.parametrize("seconds", [20.0, 70.0, 120.0])
@pytest.mark.parametrize("device", [1, None])
def test_reads_that_fail_briefly_notify_nobody(
    play: Play, seconds: float, device: int | None
) -> None:
    assert not play(Fault("unread", 5, AT, seconds, device)).lines


def test_a_device_that_cannot_be_read_for_minutes_is_lost(play: Play) -> None:
    played = play(Fault("unread", 5, AT, 1200.0, 1))
    [alert] = played.alerts
    assert alert.rule.startswith("nvidia.lost")
    assert 120.0 < played.after(alert) <= 210.0


def test_a_device_that_its_agent_called_lost_is_lost_at_once(play: Play, tmp_path: Path) -> None:
    played = play(Fault("lost_rows", 5, AT, 1200.0, 1))
    [lost] = [line for line in played.alerts if "nvidia.lost" in line.rule]
    assert 0.0 < played.after(lost) <= 60.0
    day = next((tmp_path / "archive/devices").glob("date=*.parquet"))
    assert "device_unreadable_info.lost.lost" in pq.read_schema(day).names
