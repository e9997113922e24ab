"""Bytes damaged, lost or put in anywhere: what comes back is as it was written, or is not there."""

import gzip
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from accelwatch.errors import WireError
from accelwatch.recording import Recording
from accelwatch.schema.snapshot import Snapshot
from accelwatch.schema.wire import encode
from recording.shots import shot, write

COUNT = 150
LINES = [encode(shot(number)) for number in range(COUNT)]
WRITTEN = frozenset(LINES)
PATIENT = settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return write(tmp_path_factory.mktemp("whole") / "r.zst", COUNT).read_bytes()


def damage(content: bytes, data: st.DataObject) -> bytes:
    """Some bytes changed, a stretch lost, some bytes put in, the end cut off."""
    broken = bytearray(content)
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, max(len(broken) - 1, 0)))
        match data.draw(st.sampled_from(["change", "lose", "insert", "cut"])):
            case "change":
                broken[place : place + 1] = data.draw(st.binary(min_size=1, max_size=1))
            case "lose":
                del broken[place : place + data.draw(st.integers(1, 300))]
            case "insert":
                broken[place:place] = data.draw(st.binary(max_size=40))
            case "cut":
                del broken[max(place, len(broken) // 2) :]
    return bytes(broken)


def readable(path: Path) -> list[Snapshot]:
    """All documents that can be read, forwards and then backwards."""
    try:
        recording = Recording.open(path)
    except WireError:
        return []
    with recording:
        times = list(recording.times())
        assert times == sorted(times)
        found = [one for index in range(len(recording)) if (one := at(recording, index))]
        for index in reversed(range(len(recording))):
            assert at(recording, index) in (None, *found)
        return found


def at(recording: Recording, index: int) -> Snapshot | None:
    try:
        return recording.at(index)
    except WireError:
        return None


@PATIENT
@given(data=st.data())
def test_a_damaged_recording_gives_only_what_was_written(
    tmp_path: Path, packed: bytes, data: st.DataObject
) -> None:
    path = tmp_path / "r.zst"
    content = damage(packed, data)
    path.write_bytes(content)
    found = readable(path)
    wrong = [one for one in found if encode(one) not in WRITTEN]
    assert len(wrong) <= COUNT % 64, "only a last block that lost its index may be wrong"
    if content != packed and len(found) < COUNT:
        assert not found or Recording.open(path).notes


@pytest.mark.parametrize("name", ["r.gz", "r.ndjson"])
@PATIENT
@given(data=st.data())
def test_damage_to_the_other_kinds_is_survived(
    tmp_path: Path, name: str, data: st.DataObject
) -> None:
    whole = b"\n".join(LINES[:20]) + b"\n"
    content = gzip.compress(whole) + gzip.compress(whole) if name == "r.gz" else whole
    path = tmp_path / name
    path.write_bytes(damage(content, data))
    readable(path)


@PATIENT
@given(content=st.binary(max_size=400), head=st.sampled_from([0, 4, 40, 1000]))
def test_any_bytes(tmp_path: Path, packed: bytes, content: bytes, head: int) -> None:
    path = tmp_path / "r.zst"
    path.write_bytes(packed[:head] + content)
    readable(path)


def test_each_single_bit_of_a_block_index_and_its_surroundings(
    tmp_path: Path, packed: bytes
) -> None:
    path = tmp_path / "r.zst"
    begin = packed.index(b"accelwix") - 20
    for place in range(begin, begin + 80, 3):
        broken = bytearray(packed)
        broken[place] ^= 1 << place % 8
        path.write_bytes(broken)
        found = [encode(one) for one in readable(path)]
        assert WRITTEN.issuperset(found)
        assert len(found) >= COUNT - 64
