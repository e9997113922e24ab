"""Equal texts held once, and not for ever."""

from accelwatch.exposition.interning import Texts
from accelwatch.exposition.line import parse_line


def test_equal_texts_are_one_and_what_is_held_is_bounded() -> None:
    texts = Texts(most=3)
    first = "".join(["pid", "1"])
    assert texts.same(first) is texts.same("".join(["pid", "1"])) is first
    for number in range(100):
        texts.same(f"pid{number}")
        assert len(texts) <= 3


def test_labels_of_different_lines_share_their_texts() -> None:
    one, other = (parse_line(f'{name}{{uuid="GPU-0123456789"}} 1', 64).key for name in ("aa", "bb"))
    assert one.values[0] is other.values[0]
