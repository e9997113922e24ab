"""docs/recording.md: every option is on the page, and its format is the one that is written."""

import struct
import zlib
from pathlib import Path

import zstandard

from accelwatch.archive.recording.layout import BLOCK_BYTES, BLOCK_DOCUMENTS
from accelwatch.cli.history.record import record_command
from accelwatch.schema.json.wire import encode
from archive.recording.shots import shot, write
from support.processes.installed_command import accelwatch

PAGE = (Path(__file__).resolve().parents[3] / "docs/recording.md").read_text()


def test_every_option_is_on_the_page() -> None:
    for parameter in record_command.params:
        for flag in (*parameter.opts, *parameter.secondary_opts):
            assert any(f"{mark}{flag}" in PAGE for mark in ("`", "/")), flag


def test_the_example_is_python() -> None:
    compile(PAGE.split("```python\n")[1].split("```")[0], "example", "exec")


def test_a_reader_written_from_the_page_reads_a_recording(tmp_path: Path) -> None:
    content = write(tmp_path / "r.zst", BLOCK_DOCUMENTS + 3).read_bytes()
    assert f"{BLOCK_DOCUMENTS} documents or {BLOCK_BYTES >> 20} MiB" in PAGE
    found = []
    while content:
        at = content.index(b"\x5a\x2a\x4d\x18")
        block, size = content[:at], struct.unpack_from("<I", content, at + 4)[0]
        index, content = content[at + 8 : at + 8 + size], content[at + 8 + size :]
        mark, own, major, packed, crc, unpacked, count = struct.unpack_from("<8sIIQIQI", index)
        assert (mark, own, major) == (b"accelwix", zlib.crc32(index[12:]), 2)
        assert (packed, crc) == (len(block), zlib.crc32(block))
        lines = zstandard.ZstdDecompressor().decompressobj().decompress(block)
        assert unpacked == len(lines)
        times = struct.unpack_from(f"<{count}d", index, 40)
        checksums = struct.unpack_from(f"<{count}I", index, 40 + 8 * count)
        assert len(index) == 40 + 12 * count
        for time, checksum, line in zip(times, checksums, lines.splitlines(), strict=True):
            assert checksum == zlib.crc32(line)
            found.append((time, line))
    shots = [shot(number) for number in range(BLOCK_DOCUMENTS + 3)]
    assert found == [(one.time, encode(one)) for one in shots]


def test_the_command_plays_a_zstd_recording(tmp_path: Path) -> None:
    path = write(tmp_path / "r.ndjson.zst", 3)
    done = accelwatch(
        "--replay", str(path), "--fields", "name,utilization_ratio", "--format", "csv"
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[1].startswith("nvidia0,")
