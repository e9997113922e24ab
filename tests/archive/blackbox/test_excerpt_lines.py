"""The picture of a moment: one time axis for all devices, signs where something happened."""

import msgspec
import pytest

from accelwatch.archive.blackbox.excerpt import Excerpt, read_excerpt
from accelwatch.archive.recording import Recorder
from accelwatch.tui.drawing.glyphs import ASCII, UNICODE
from accelwatch.tui.drawing.lines import plain, width_of
from accelwatch.tui.views.blackbox.excerpt_lines import about, lines
from archive.blackbox.test_excerpt import machine
from support.machines import composed as machines


@pytest.fixture(scope="module")
def excerpt(tmp_path_factory: pytest.TempPathFactory) -> Excerpt:
    path = tmp_path_factory.mktemp("box") / "20270115T080100Z-nvidia1-lost.ndjson.zst"
    with Recorder(path) as recorder:
        for second in range(0, 120, 2):
            recorder.write(machine(second))
    return read_excerpt(path, before_s=120, after_s=60)


def test_the_lost_time_stands_below_its_position_on_the_axis(excerpt: Excerpt) -> None:
    shown = [plain(line) for line in lines(excerpt, 149, UNICODE)]
    assert shown[0].startswith(" nvidia1 lost, xid_79  at ")
    (load,) = [row for row in shown if row.startswith(" nvidia1     load")]
    assert load[21:141].find("✕") == shown[2][21:].find("▾") == shown[3][21:].find("✕")
    assert load[21:141].count("✕") == pytest.approx(30, abs=2)
    assert load[21:141].count("█") == pytest.approx(90, abs=2)
    assert load.rstrip().endswith("97%")


def test_each_mark_has_its_line_with_the_time_from_the_event(excerpt: Excerpt) -> None:
    shown = [plain(line).split(maxsplit=1)[1:] for line in lines(excerpt, 149, UNICODE)]
    texts = [" ".join(words[0].split()) for words in shown if words]
    assert "-40 s + nvidia0, nvidia1 began python3 (pid 7, anna)" in texts
    assert "0 s ✕ nvidia1 lost, was ok" in texts
    assert "+30 s ● nvidia1 ok again, lost for 30 s" in texts


@pytest.mark.parametrize("width", [40, 80, 200])
def test_no_line_is_wider_than_the_terminal(excerpt: Excerpt, width: int) -> None:
    for line in lines(excerpt, width, ASCII):
        assert width_of(line) <= width
        assert plain(line).isascii()


def test_the_title_says_of_a_device_only_what_is_reported_of_it(excerpt: Excerpt) -> None:
    other = msgspec.structs.replace(excerpt, device_id=machines.device(0).id)
    assert about(other) == "nvidia0"
    assert about(msgspec.structs.replace(excerpt, device_id="")) == "nvidia1 lost, xid_79"


def test_an_excerpt_without_a_known_device_is_the_machines(excerpt: Excerpt) -> None:
    empty = msgspec.structs.replace(excerpt, markers=(), device_id="")
    assert about(empty) == "this machine"
    assert " no events in this window" in map(plain, lines(empty, 80, UNICODE))
