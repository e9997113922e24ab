"""Framing of /dev/kmsg: whole, in pieces, damaged."""

from hypothesis import given
from hypothesis import strategies as st

from accelwatch_kernel_log.record import Framer, Record


def records(*pieces: bytes) -> list[Record]:
    framer = Framer()
    return [record for piece in pieces for record in framer.feed(piece)]


def texts(*pieces: bytes) -> list[str]:
    return [record.text for record in records(*pieces)]


def test_prefix_is_facility_and_level() -> None:
    kernel, user = records(
        b"4,10,5000000,-;from the kernel\n", b"11,11,5000001,-;from user space\n"
    )
    assert (kernel.facility, kernel.level, kernel.sequence, kernel.seconds) == (0, 4, 10, 5.0)
    assert (user.facility, user.level) == (1, 3)


def test_continuation_lines_are_properties() -> None:
    (record,) = records(b"3,7,9,-;pci thing\n SUBSYSTEM=pci\n DEVICE=+pci:0000:65:00.0\n")
    assert record.text == "pci thing"
    assert record.properties == {"SUBSYSTEM": "pci", "DEVICE": "+pci:0000:65:00.0"}


def test_escaped_newlines_make_a_message_of_several_lines() -> None:
    assert texts(rb"3,7,9,-;first\x0asecond \x5c end" + b"\n") == ["first\nsecond \\ end"]


def test_escaped_utf8_and_bytes_that_are_none() -> None:
    assert texts(rb"3,7,9,-;caf\xc3\xa9 \xff" + b"\n") == ["café \ufffd"]
    assert texts(b"3,7,9,-;raw \xff\xfe\n") == ["raw \ufffd\ufffd"]


def test_later_fields_of_the_prefix_are_skipped() -> None:
    assert texts(b"6,1,2,-,caller=T1946;text; with a semicolon\n") == ["text; with a semicolon"]


def test_record_in_pieces() -> None:
    assert texts(b"6,1,2", b",-;half a ", b"line", b"\n6,2,3,-;next\n") == ["half a line", "next"]


def test_last_line_without_its_end_waits() -> None:
    framer = Framer()
    assert list(framer.feed(b"6,1,2,-;not yet")) == []
    assert [record.text for record in framer.feed(b" done\n")] == ["not yet done"]


def test_lines_that_are_no_records_are_left_out() -> None:
    assert texts(b"garbage\n6,1,2,-;good\n;;;\n6,x,2,-;bad\n\n 6,3\n6,2,2,-;good too\n") == [
        "good",
        "good too",
    ]


def test_ten_megabytes_of_garbage_do_not_pile_up() -> None:
    framer = Framer()
    for _ in range(160):
        assert list(framer.feed(b"\xfe" * 65536)) == []
    assert [record.text for record in framer.feed(b"rest\n6,1,2,-;after\n")] == ["after"]


def test_after_a_loss_the_unfinished_line_is_forgotten() -> None:
    framer = Framer()
    list(framer.feed(b"6,1,2,-;cut o"))
    framer.reset()
    assert [record.text for record in framer.feed(b"6,5,2,-;whole\n")] == ["whole"]


@given(st.lists(st.binary(max_size=200), max_size=20))
def test_any_bytes_are_survived(pieces: list[bytes]) -> None:
    records(*pieces)


@given(st.integers(0, 60), st.integers(0, 60))
def test_where_input_is_cut_does_not_matter(first: int, second: int) -> None:
    whole = b"4,1,2,-;one\n DEVICE=x\n4,2,3,-;two\n4,3,4,-;three\n"
    a, b = sorted((min(first, len(whole)), min(second, len(whole))))
    assert texts(whole[:a], whole[a:b], whole[b:]) == ["one", "two", "three"]
