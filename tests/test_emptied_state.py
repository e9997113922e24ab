"""An emptied state file is a lost one, which is said; journal and inventory have tests of their own."""

from pathlib import Path

import pytest

from accelwatch.fleet.state.evidence_file import EvidenceFile
from accelwatch.store.counts import CountFile
from accelwatch.store.known_file import KnownFile
from accelwatch.usage.keeping import FILE as USAGE
from accelwatch.usage.keeping import LedgerFile
from accelwatch.usage.ledger import Ledger


def test_counters_and_known_devices(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    for name, load in (
        ("event_counts.json", CountFile(tmp_path).load),
        ("known_devices.json", KnownFile(tmp_path).load),
    ):
        (tmp_path / name).touch()
        assert not load()
        assert f"are damaged path={tmp_path / name}" in caplog.messages[-1]
        assert (tmp_path / f"{name}.damaged").exists()


def test_evidence_is_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "evidence.json").touch()
    file = EvidenceFile(tmp_path)
    assert file.read() == ()
    assert "evidence that stood is not known" in file.problem
    assert file.write(()) == file.problem
    assert (tmp_path / "evidence.json").read_bytes() == b""


def test_sums_of_usage(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / USAGE).touch()
    LedgerFile(tmp_path / USAGE).load(Ledger(gap_limit_s=5.0), 0.0)
    assert "usage is counted anew" in caplog.text
    assert (tmp_path / f"{USAGE}.damaged").exists()
