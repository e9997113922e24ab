"""Damaged recordings and senseless scenarios: refused with a typed error or played, nothing else."""

import gzip
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from accelwatch.backend import Context, Request
from accelwatch.backend.errors import BackendUnavailable
from accelwatch.base.clock import ManualClock
from accelwatch.base.errors import ReadError
from accelwatch_lab.replay import ReplayBackend, demo_file
from support.machines.samples import FIXTURES

RECORDING = (FIXTURES / "replay/two-vendors.ndjson").read_bytes()
PACKED = gzip.compress(RECORDING)
DEMO = demo_file().read_text()
PATIENT = settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


def play(path: Path) -> None:
    """All devices at a few moments; only typed errors may come."""
    clock = ManualClock()
    backend = ReplayBackend(Context(clock=clock, options={"file": str(path)}))
    try:
        backend.open()
    except BackendUnavailable:
        return
    for _ in range(3):
        for device in backend.discover():
            try:
                whole = backend.identify(device)[0]
                assert backend.read(whole, Request())
            except ReadError:
                continue
        backend.wait_events(0)
        clock.advance(2)
    backend.close()


@pytest.mark.parametrize("content", [RECORDING, PACKED], ids=["plain", "gzip"])
@PATIENT
@given(data=st.data())
def test_cut_and_damaged_recordings(tmp_path: Path, content: bytes, data: st.DataObject) -> None:
    end = data.draw(st.integers(1, len(content)))
    broken = bytearray(content[:end])
    for position, value in data.draw(
        st.lists(st.tuples(st.integers(0, end - 1), st.integers(0, 255)), max_size=8)
    ):
        broken[position] = value
    path = tmp_path / "r"
    path.write_bytes(broken)
    play(path)


@PATIENT
@given(content=st.binary(max_size=300))
def test_any_bytes(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "r"
    path.write_bytes(content)
    play(path)


@PATIENT
@given(data=st.data())
def test_scenarios_with_words_exchanged(tmp_path: Path, data: st.DataObject) -> None:
    lines = [line for line in DEMO.splitlines() if "hang" not in line and "slow" not in line]
    words = sorted({word for line in lines for word in line.replace(",", " ").split()})
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(lines) - 1))
        old, new = data.draw(st.sampled_from(words)), data.draw(st.sampled_from(words))
        if old in lines[at]:
            lines[at] = lines[at].replace(old, new)
        else:
            del lines[at]
    path = tmp_path / "s.yaml"
    path.write_text("\n".join(lines))
    play(path)
