"""Bytes damaged, lost or put in anywhere: what comes back is as it was written, or damage is told."""

import gzip
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from accelwatch.archive.recording import Recording
from accelwatch.archive.recording.repair import repair
from accelwatch.base.errors import WireError
from accelwatch.schema.json.wire import encode
from accelwatch.schema.snapshot import Snapshot
from archive.recording.shots import shot, write

COUNT = 150
LINES = [encode(shot(number)) for number in range(COUNT)]
WRITTEN = frozenset(LINES)
PATIENT = settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("whole") / "r.zst", COUNT)


Edit = tuple[str, int, bytes]
EDITS = st.lists(
    st.tuples(
        st.sampled_from(["change", "lose", "insert", "cut"]),
        st.integers(0, 1 << 20),
        st.binary(min_size=1, max_size=40),
    ),
    min_size=1,
    max_size=4,
)


def damage(content: bytes, edits: list[Edit]) -> bytes:
    """Some bytes changed, a stretch lost, some bytes put in, the end cut off."""
    broken = bytearray(content)
    for kind, number, some in edits:
        position = number % max(len(broken), 1)
        match kind:
            case "change":
                broken[position : position + 1] = some[:1]
            case "lose":
                del broken[position : position + 8 * len(some)]
            case "insert":
                broken[position:position] = some
            case "cut":
                del broken[max(position, len(broken) // 2) :]
    return bytes(broken)


def readable(path: Path) -> list[Snapshot]:
    """All documents that can be read, forwards, and then every seventh backwards."""
    try:
        recording = Recording.open(path)
    except WireError:
        return []
    with recording:
        times = list(recording.times())
        assert times == sorted(times)
        found = [one for index in range(len(recording)) if (one := at(recording, index))]
        for index in reversed(range(0, len(recording), 7)):
            assert at(recording, index) in (None, *found)
        return found


def at(recording: Recording, index: int) -> Snapshot | None:
    try:
        return recording.at(index)
    except WireError:
        return None


@PATIENT
@given(edits=EDITS)
def test_a_damaged_recording_gives_what_was_written_or_reports_the_damage(
    tmp_path: Path, whole: Path, edits: list[Edit]
) -> None:
    path = tmp_path / "r.zst"
    content = damage(whole.read_bytes(), edits)
    path.write_bytes(content)
    found = readable(path)
    as_written = all(encode(one) in WRITTEN for one in found)
    if found and not (as_written and len(found) == COUNT):
        with Recording.open(path) as recording:
            assert recording.notes


@pytest.mark.parametrize("name", ["r.gz", "r.ndjson"])
@PATIENT
@given(edits=EDITS)
def test_damage_to_the_other_kinds_is_survived(
    tmp_path: Path, name: str, edits: list[Edit]
) -> None:
    lines = b"\n".join(LINES[:20]) + b"\n"
    content = gzip.compress(lines) + gzip.compress(lines) if name == "r.gz" else lines
    path = tmp_path / name
    path.write_bytes(damage(content, edits))
    readable(path)


@PATIENT
@given(content=st.binary(max_size=400), head=st.sampled_from([0, 4, 40, 1000]))
def test_any_bytes(tmp_path: Path, whole: Path, content: bytes, head: int) -> None:
    path = tmp_path / "r.zst"
    path.write_bytes(whole.read_bytes()[:head] + content)
    readable(path)


@PATIENT
@given(edits=EDITS)
def test_what_is_repaired_is_as_it_was_written_and_never_less_than_is_read(
    tmp_path: Path, whole: Path, edits: list[Edit]
) -> None:
    path, copy = tmp_path / "r.zst", tmp_path / "copy.zst"
    path.write_bytes(damage(whole.read_bytes(), edits))
    copy.unlink(missing_ok=True)
    before = readable(path)
    try:
        done = repair(path, copy)
    except WireError:
        assert before == []
        return
    with Recording.open(copy) as recording:
        assert recording.notes == ()
        saved = [recording.line(index) for index in range(len(recording))]
    assert len(saved) == done.documents >= len(before)
    if not WRITTEN.issuperset(saved) or len(saved) < COUNT:
        assert (
            done.lost
            or done.lines
            or done.positions
            or path.stat().st_size < len(whole.read_bytes())
        )


def test_each_single_bit_of_a_block_index_and_its_surroundings(tmp_path: Path, whole: Path) -> None:
    path, copy = tmp_path / "r.zst", tmp_path / "copy.zst"
    packed = whole.read_bytes()
    start = packed.index(b"accelwix") - 20
    for position in range(start, start + 80, 3):
        broken = bytearray(packed)
        broken[position] ^= 1 << position % 8
        path.write_bytes(broken)
        assert WRITTEN.issuperset(encode(one) for one in readable(path))
        copy.unlink(missing_ok=True)
        done = repair(path, copy)
        assert WRITTEN.issuperset(encode(one) for one in readable(copy))
        assert done.documents >= COUNT - 64
