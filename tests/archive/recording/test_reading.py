"""The reader: seeking, several files, versions, damage that can be named, and bombs."""

import gzip
import itertools
import random
import zlib
from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec
import pytest
import zstandard

from accelwatch.archive.recording import (
    Recorder,
    Recording,
    block_index,
    is_recording,
    names_recording,
)
from accelwatch.archive.recording.block_index import BlockIndex
from accelwatch.base.errors import AccelwatchError, UsageError, WireError
from accelwatch.cli.replay_file import replayed
from accelwatch.schema.json.wire import decode, encode
from accelwatch.schema.snapshot import Snapshot
from archive.recording.shots import notes, number_of, numbers, shot, write
from support.machines import composed as machines

NAMES = ["r.ndjson", "r.ndjson.gz", "r.ndjson.zst"]


def lines(count: int, first: int = 0) -> bytes:
    return b"".join(encode(shot(number)) + b"\n" for number in range(first, first + count))


@pytest.mark.parametrize("name", NAMES)
def test_seeking_gives_what_reading_in_order_gives(tmp_path: Path, name: str) -> None:
    path = write(tmp_path / name, 200)
    with Recording.open(path) as recording:
        in_order = [recording.at(index) for index in range(200)]
        indices = list(range(200)) * 2
        random.Random(3).shuffle(indices)
        for index in indices:
            assert recording.at(index) == in_order[index]
    assert [number_of(one) for one in in_order] == list(range(200))


@pytest.mark.parametrize("name", NAMES)
def test_a_snapshot_comes_back_whole(tmp_path: Path, name: str) -> None:
    whole = machines.snapshot(machines.view(0), machines.mig_view(1, 0), machines.lost_view(3))
    with Recorder(tmp_path / name) as recorder:
        recorder.write(whole)
    with Recording.open(tmp_path / name) as recording:
        assert recording.at(0) == decode(encode(whole))


def test_the_index_finds_what_a_search_finds(tmp_path: Path) -> None:
    path = write(tmp_path / "r.zst", 150)
    plain = tmp_path / "r.ndjson"
    plain.write_bytes(lines(150))
    bare = tmp_path / "bare.zst"
    bare.write_bytes(zstandard.compress(lines(150)))
    with Recording.open(path) as one, Recording.open(plain) as two, Recording.open(bare) as three:
        assert list(one.times()) == list(two.times()) == list(three.times())


def test_times_find_their_documents(tmp_path: Path) -> None:
    with Recording.open(write(tmp_path / "r.zst", 10)) as recording:
        first = recording.times()[0]
        assert first == machines.NOW
        assert recording.index_at(first - 100) == 0
        assert recording.index_at(first + 3.5) == 3
        assert recording.index_at(first + 100) == 9
        assert recording.step_s == 1.0
        with pytest.raises(IndexError):
            recording.at(10)
        with pytest.raises(IndexError):
            recording.at(-1)


def recorded_at(path: Path, *seconds: float) -> list[float]:
    with Recorder(path) as recorder:
        for at in seconds:
            recorder.write(msgspec.structs.replace(shot(0), time=machines.NOW + at))
    with Recording.open(path) as recording:
        return [one - machines.NOW for one in recording.times()]


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ((0, 1, 2, -3600, -3599), (0, 1, 2, 2, 2)),
        ((0, 1, -3600, 3), (0, 1, 1, 3)),
        ((0, 1, 9000, 3, 4), (0, 1, 1, 3, 4)),
        ((9000, 1, 2), (1, 1, 2)),
        ((5,), (5,)),
    ],
)
def test_times_never_go_back_and_a_single_wrong_one_does_no_harm(
    tmp_path: Path, written: tuple[float, ...], expected: tuple[float, ...]
) -> None:
    assert recorded_at(tmp_path / "r.zst", *written) == list(expected)


def test_a_pattern_a_folder_and_a_missing_name(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no recording"):
        Recording.open(tmp_path / "missing.zst")
    with pytest.raises(UsageError, match="no recording"):
        Recording.open(tmp_path)
    with pytest.raises(UsageError, match="no recording"):
        Recording.open(tmp_path / "*.zst")
    assert not names_recording(tmp_path / "*.zst")
    assert not names_recording(tmp_path / "**zst[")
    write(tmp_path / "b.ndjson", 3)
    assert names_recording(tmp_path / "*.ndjson")
    assert names_recording(tmp_path / "b.ndjson")
    write(tmp_path / "a.gz", 3, first=3)
    assert numbers(tmp_path / "*.*") == [0, 1, 2, 3, 4, 5]
    write(tmp_path / "c.zst", 3, first=1)
    assert "recording: the files overlap in time; they are read one after another" in notes(
        tmp_path
    )


def test_a_file_is_read_on_although_it_was_rotated_away(tmp_path: Path) -> None:
    path = write(tmp_path / "r.zst", 100)
    with Recording.open(path) as recording:
        write(path, 1, keep=1)
        assert not (tmp_path / "r.zst.1").exists()
        assert number_of(recording.at(99)) == 99


def test_what_holds_no_document_says_how_to_make_one(tmp_path: Path) -> None:
    for content in (b"", b"{}\n", b"\x1f\x8b\x08", b"\x28\xb5\x2f\xfd0000", b"\x00" * 100):
        path = tmp_path / "r.ndjson"
        path.write_bytes(content)
        with pytest.raises(WireError, match=r"no accelwatch/2 document; .*accelwatch record -o"):
            Recording.open(path)


def test_a_file_that_may_not_be_opened_and_one_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(AccelwatchError, match="not a regular file"):
        Recording.open(Path("/dev/null"))


def composed_older() -> bytes:
    """A document of an earlier minor version: keys were missing then, others existed."""
    document = msgspec.json.decode(encode(shot(7)))
    for key in ("boot_id", "interval_s", "errors", "events", "version", "node"):
        del document[key]
    document["recorder"] = {"nice": True}
    (device,) = document["devices"]
    for key in ("owners", "event_counts", "health_reasons", "throttle_seconds_total", "notes"):
        del device[key]
    device["aura_ratio"] = 0.5
    device["links"] = []
    for process in document["processes"]:
        process["mood"] = "fine"
    return msgspec.json.encode(document)


def test_a_recording_of_another_minor_version_opens(tmp_path: Path) -> None:
    path = tmp_path / "r.ndjson"
    path.write_bytes(composed_older() + b"\n" + encode(shot(8)) + b"\n")
    assert numbers(path) == [7, 8]
    assert notes(path) == ()
    with Recording.open(path) as recording:
        older = recording.at(0)
    assert older.devices[0].owners == ()
    assert ("throttle_seconds_total", "power") not in older.devices[0].reading.values


@pytest.mark.parametrize("name", NAMES)
def test_a_newer_major_version_is_refused_with_the_mend(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def newer(snapshot: Snapshot) -> bytes:
        return encode(snapshot).replace(b"accelwatch/2", b"accelwatch/3")

    def newer_index(index: BlockIndex) -> bytes:
        return pack(msgspec.structs.replace(index, major=3))

    pack = block_index.pack
    with monkeypatch.context() as patch:
        patch.setattr("accelwatch.archive.recording.recorder.encode", newer)
        patch.setattr(block_index, "pack", newer_index)
        path = write(tmp_path / name, 3)
    refusal = r"accelwatch/3, newer than .*; upgrade accelwatch"
    with pytest.raises(WireError, match=refusal):
        Recording.open(path)
    path.write_bytes(zstandard.compress(newer(shot(0)) + b"\n"))
    with pytest.raises(WireError, match=refusal):
        Recording.open(path)


@pytest.mark.parametrize("name", NAMES)
def test_a_cut_off_tail_costs_what_it_held(tmp_path: Path, name: str) -> None:
    content = write(tmp_path / name, 70).read_bytes()
    path = tmp_path / f"cut-{name}"
    counts = []
    for end in range(len(content), 0, -max(len(content) // 40, 1)):
        path.write_bytes(content[:end])
        try:
            found = numbers(path)
        except WireError:
            found = []
        assert found == list(range(len(found)))
        assert len(found) == 70 or end < len(content)
        counts.append(len(found))
    assert counts == sorted(counts, reverse=True)
    assert counts[1] >= 65


def without_end(path: Path) -> bytes:
    """A recording whose last frame has neither its end nor its index, as a full disk leaves it."""
    content = path.read_bytes()
    index = content.rindex(block_index.FRAME_MAGIC)
    assert content[index - 3 : index] == b"\x01\x00\x00"
    return content[: index - 3]


@pytest.mark.parametrize("count", [3, 70])
def test_a_frame_without_an_end_is_read_up_to_the_next_recording(
    tmp_path: Path, count: int
) -> None:
    first = without_end(write(tmp_path / "a.zst", count))
    second = without_end(write(tmp_path / "b.zst", 70, first=count))
    third = write(tmp_path / "c.zst", 70, first=count + 70).read_bytes()
    path = tmp_path / "joined.zst"
    path.write_bytes(first + second + third)
    assert numbers(path) == list(range(count + 140))
    assert notes(path) == ()
    with Recording.open(path) as recording:
        for index in reversed(range(len(recording))):
            assert number_of(recording.at(index)) == index


@pytest.mark.parametrize("magic", [b"\x28\xb5\x2f\xfd", b"\x50\x2a\x4d\x18"])
def test_what_looks_like_a_frame_in_an_unfinished_block_costs_nothing(
    tmp_path: Path, magic: bytes
) -> None:
    """Packed bytes may be anything; each document before them was flushed as a whole."""
    path = tmp_path / "r.zst"
    header = (1000 << 3).to_bytes(3, "little")
    path.write_bytes(without_end(write(path, 70)) + header + b"x" * 50 + magic + b"x" * 50)
    assert numbers(path) == list(range(70))
    assert notes(path) == ("recording: it was not finished: still being written, or cut off",)


@pytest.mark.parametrize("behind", [64, 80])
def test_a_block_that_seems_to_reach_over_the_end_is_damaged_where_an_index_is_behind(
    tmp_path: Path, behind: int
) -> None:
    path = write(tmp_path / "r.zst", 64 + behind)
    content = bytearray(path.read_bytes())
    assert len(content) < 128 << 10
    second = content.index(b"\x28\xb5\x2f\xfd", 4)
    content[second + 6 : second + 9] = ((128 << 10) << 3).to_bytes(3, "little")
    path.write_bytes(content)
    assert numbers(path) == list(range(64))
    assert f"damaged at byte {second}: only the 64 documents" in notes(path)[0]


def test_a_missing_end_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "r.ndjson"
    path.write_bytes(lines(3)[:-100])
    assert numbers(path) == [0, 1]
    assert notes(path) == ("recording: the end is missing",)
    path.write_bytes(lines(3)[:-1])
    assert numbers(path) == [0, 1, 2]
    assert notes(path) == ()


@pytest.mark.parametrize("packed", [bytes, gzip.compress, zstandard.compress])
def test_reading_ends_at_a_line_that_is_no_document_and_says_how_to_go_on(
    tmp_path: Path, packed: Callable[[bytes], bytes]
) -> None:
    path = tmp_path / "r x"
    path.write_bytes(packed(lines(2) + b'{"schema": "accelwatch/1"}\n\n' + lines(1, first=2)))
    assert numbers(path) == [0, 1]
    (note,) = notes(path)
    assert note.endswith(
        ": only the 2 documents before it are read, up to 2027-01-15T08:00:01.000Z; "
        f"save what else can be read with: accelwatch record --repair '{path}'"
    )
    assert packed is not bytes or f"damaged at byte {len(lines(2))}:" in note


def test_reading_ends_at_a_line_of_a_newer_version(tmp_path: Path) -> None:
    path = tmp_path / "r"
    path.write_bytes(lines(2) + lines(1).replace(b"accelwatch/2", b"accelwatch/3") + lines(1))
    assert numbers(path) == [0, 1]
    (note,) = notes(path)
    assert f"at byte {len(lines(2))} it is accelwatch/3: only the 2 documents before it" in note
    assert note.endswith("; upgrade accelwatch")


def test_reading_ends_at_an_overlong_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("accelwatch.archive.recording.lines.MAX_LINE", 100_000)
    path = tmp_path / "r"
    path.write_bytes(lines(3) + b"{" + b"x" * 350_000 + b"\n" + lines(1))
    assert numbers(path) == [0, 1, 2]
    assert f"damaged at byte {len(lines(3))}: only the 3 documents" in notes(path)[0]


def _flipped(content: bytes, offset: int) -> bytes:
    return content[:offset] + bytes([content[offset] ^ 0xFF]) + content[offset + 1 :]


@pytest.mark.parametrize("name", ["r.zst", "r.gz"])
@pytest.mark.parametrize("inside", [0, 2, 2000, -30])
def test_a_damaged_block_ends_the_reading_before_it(tmp_path: Path, name: str, inside: int) -> None:
    """Nobody knows which of its documents are as they were written."""
    path = write(tmp_path / name, 200)
    content = path.read_bytes()
    magic = b"\x28\xb5\x2f\xfd" if name == "r.zst" else b"\x1f\x8b\x08"
    second = content.index(magic, 4)
    third = content.index(magic, second + 4)
    path.write_bytes(_flipped(content, second + inside if inside >= 0 else third + inside))
    assert numbers(path) == list(range(64))
    (note,) = notes(path)
    assert ": only the 64 documents before it are read" in note
    damaged_at = int(note.removeprefix("recording: damaged at byte ").partition(":")[0])
    # A line that is no document any more is met before the member's checksum.
    assert damaged_at == second or (name == "r.gz" and second < damaged_at < third)


def test_one_that_is_damaged_from_the_beginning_has_no_document_and_says_the_mend(
    tmp_path: Path,
) -> None:
    path = write(tmp_path / "r.zst", 200)
    path.write_bytes(_flipped(path.read_bytes(), 2000))
    mend = rf"damaged at byte 0: no document.*accelwatch record --repair {path}"
    with pytest.raises(WireError, match=mend):
        Recording.open(path)
    write(tmp_path / "later.zst", 3, first=300)
    assert numbers(tmp_path / "*.zst") == [300, 301, 302]
    assert any("r.zst: damaged at byte 0" in note for note in notes(tmp_path / "*.zst"))


def test_a_document_that_is_no_snapshot_is_an_error_of_its_own(tmp_path: Path) -> None:
    purple = msgspec.json.decode(encode(shot(1)))
    purple["devices"] = [{"state": "purple"}]
    path = tmp_path / "r"
    path.write_bytes(lines(1) + msgspec.json.encode(purple) + b"\n" + lines(1, first=2))
    with Recording.open(path) as recording:
        assert len(recording) == 3
        with pytest.raises(WireError, match="not a snapshot"):
            recording.at(1)
        assert [number_of(recording.at(index)) for index in (0, 2)] == [0, 2]


def test_foreign_zstd_and_gzip_are_read_however_they_are_cut(tmp_path: Path) -> None:
    content = lines(40)
    path = tmp_path / "r"
    for size in (len(content), 10_000, 777):
        parts = [content[at : at + size] for at in range(0, len(content), size)]
        for pack in (zstandard.compress, gzip.compress):
            path.write_bytes(b"".join(pack(part) for part in parts))
            assert numbers(path) == list(range(40))
            assert notes(path) == ()
    checked = zstandard.ZstdCompressor(write_checksum=True).compress(content)
    path.write_bytes(checked)
    assert numbers(path) == list(range(40))


@pytest.mark.parametrize("packed", [bytes, gzip.compress, zstandard.compress])
def test_one_document_over_several_lines_is_read(tmp_path: Path, packed: object) -> None:
    assert callable(packed)
    path = tmp_path / "pretty"
    path.write_bytes(packed(msgspec.json.format(encode(shot(5)))))
    assert numbers(path) == [5]
    assert notes(path) == ()


@pytest.mark.parametrize(
    ("head", "answer"),
    [
        (b'{"schema"', True),
        (b"\n  {", True),
        (b"\x1f\x8b\x08", True),
        (b"\x28\xb5\x2f\xfd", True),
        (b"\x52\x2a\x4d\x18", True),
        (b"scenario: 1\n", False),
        (b"", False),
    ],
)
def test_a_recording_is_known_by_its_beginning(head: bytes, answer: bool) -> None:
    assert is_recording(head) is answer


def _bombs() -> dict[str, bytes]:
    """Small files that unpack to very much: nothing, one line, a hundred million short documents."""
    zeros = b"\x28\xb5\x2f\xfd\x00\x58" + b"\x02\x00\x10\x00" * 300_000 + b"\x01\x00\x00"
    short = b'{"schema":"accelwatch/1","time":"2026-01-01T00:00:00Z"}\n' * 100_000
    return {
        "zeros": zeros,
        "gzip": gzip.compress(b"\x00" * (64 << 20)) * 40,
        "short": zstandard.compress(short) * 300,
        "window": b"\x28\xb5\x2f\xfd\x00\xf8" + b"\x02\x00\x10\x00" * 10,
    }


@pytest.mark.parametrize("kind", ["zeros", "gzip", "short", "window"])
def test_a_bomb_neither_fills_the_memory_nor_takes_for_ever(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("accelwatch.archive.recording.scan.MAX_DOCUMENTS", 200_000)
    monkeypatch.setattr("accelwatch.archive.recording.scan._FREE_BYTES", 64 << 20)
    monkeypatch.setattr("accelwatch.archive.recording.scan._MAX_RATIO", 10)
    path = tmp_path / "bomb.zst"
    path.write_bytes(_bombs()[kind])
    try:
        with Recording.open(path) as recording:
            assert len(recording) < 400_000
            assert any(note.startswith("recording: only the first") for note in recording.notes)
    except WireError:
        assert kind != "short"


def test_an_index_that_lies_makes_an_error_not_a_flood(tmp_path: Path) -> None:
    frame = zstandard.compress(b"x" * (1 << 20))
    lie = BlockIndex(
        packed=len(frame),
        checksum=zlib.crc32(frame),
        unpacked=100,
        times=(1.0, 2.0),
        checksums=(1, 2),
    )
    path = tmp_path / "r.zst"
    path.write_bytes(frame + block_index.pack(lie))
    with Recording.open(path) as recording, pytest.raises(WireError, match="more than its index"):
        recording.at(1)
    path.write_bytes(frame + block_index.pack(msgspec.structs.replace(lie, unpacked=1 << 20)))
    with Recording.open(path) as recording, pytest.raises(WireError, match="damaged"):
        recording.at(1)


def test_an_index_is_believed_only_as_a_whole() -> None:
    index = BlockIndex(packed=5, checksum=6, unpacked=7, times=(1.0, 2.5), checksums=(8, 9))
    content = block_index.pack(index)[8:]
    assert block_index.unpack(content) == index
    for at in range(len(content)):
        broken = bytearray(content)
        broken[at] ^= 4
        assert block_index.unpack(bytes(broken)) is None
        assert block_index.unpack(content[:at]) is None
    wild = msgspec.structs.replace(index, times=(float("inf"), 1.0))
    assert block_index.unpack(block_index.pack(wild)[8:]) is None


def _clock(monkeypatch: pytest.MonkeyPatch, times: Iterable[float]) -> list[float]:
    """Has a search see these moments, one a look; those that it has seen."""
    coming, seen = iter(times), list[float]()

    def look() -> float:
        seen.append(next(coming))
        return seen[-1]

    monkeypatch.setattr("accelwatch.archive.recording.recording.monotonic", lambda: 0.0)
    monkeypatch.setattr("accelwatch.archive.recording.scan.monotonic", look)
    return seen


@pytest.mark.parametrize("name", NAMES)
def test_a_search_ends_at_its_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """A packed file of a megabyte may unpack to gigabytes."""
    empty = b"\n" * (4 << 20)
    packed = {"gz": gzip.compress(empty), "zst": zstandard.compress(empty)}
    (tmp_path / name).write_bytes(packed.get(name.rpartition(".")[2], empty) * 8)
    seen = _clock(monkeypatch, itertools.count())
    with pytest.raises(
        WireError, match=r"no document was found within 3 s; allow more by --timeout"
    ):
        Recording.open(tmp_path / name, within_s=3.0)
    assert len(seen) < 16, "a look a chunk, of hundreds"


@pytest.mark.parametrize("name", NAMES)
def test_what_was_found_in_time_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    content = lines(1) + b"\n" * (4 << 20)
    packed = {"gz": gzip.compress(content), "zst": zstandard.compress(content)}
    (tmp_path / name).write_bytes(packed.get(name.rpartition(".")[2], content))
    _clock(monkeypatch, itertools.chain([0.0] * 4, itertools.repeat(9.0)))
    with Recording.open(tmp_path / name, within_s=3.0) as recording:
        assert [number_of(recording.at(at)) for at in range(len(recording))] == [0]
        assert "recording: only the first 1 documents are read" in recording.notes


def test_a_look_at_a_recording_has_its_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path / "r.ndjson", 3)
    _clock(monkeypatch, itertools.repeat(9.0))
    with pytest.raises(WireError, match="within 2 s"):
        replayed(str(path), 2.0)
