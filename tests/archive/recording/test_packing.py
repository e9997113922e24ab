"""How much is remembered of what was packed: a few lines, however long they are."""

import random

import pytest
import zstandard

from accelwatch.archive.recording.layout import Compression
from accelwatch.archive.recording.packing import new_packer


@pytest.mark.parametrize("size", [100, 10_000, 100_000, 900_000])
def test_a_line_that_was_there_before_takes_next_to_nothing(size: int) -> None:
    line = random.Random(1).randbytes(size)
    packer = new_packer(Compression.ZSTD)
    first, second = packer.add(line), packer.add(line)
    assert len(first) >= size
    assert len(second) < 200
    content = zstandard.ZstdDecompressor().decompressobj().decompress(first + second)
    assert content == line + line


def test_short_lines_take_no_large_window() -> None:
    frames = {
        size: new_packer(Compression.ZSTD).add(bytes(size)) for size in (100, 100_000, 8 << 20)
    }
    windows = {
        size: zstandard.get_frame_parameters(frame).window_size for size, frame in frames.items()
    }
    assert windows == {100: 1 << 17, 100_000: 1 << 18, 8 << 20: 1 << 21}
