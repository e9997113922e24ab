"""Pages like that of another target are read without parsing their lines, and as if they had been."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from accelwatch.exposition import ExpositionReader, Limits, Scrape, alike, reader
from support.machines.samples import FIXTURES

PAGES = sorted((FIXTURES / "fleet" / "dialects").glob("*.prom"))
_OTHER = str.maketrans("0123456789abcdef", "1234567890bcdefa")


@pytest.fixture(autouse=True)
def _nothing_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "SHAPES", alike.Shapes())


def of_another_target(page: str) -> str:
    """The page with other texts where a text has four dashes or more, and with other numbers."""
    words = page.split('"')
    for at in range(1, len(words), 2):
        if words[at].count("-") >= 4:
            words[at] = words[at].translate(_OTHER)
    return re.sub(r" (\d)$", r" 1\g<1>", '"'.join(words), flags=re.M)


def alone(page: str) -> Scrape:
    """What is read where no other page is known."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reader, "SHAPES", alike.Shapes())
        return ExpositionReader().read(page)


def by_shape(page: str) -> bool:
    """Whether a first page is read without looking at its lines."""
    return ExpositionReader().read(page).series.shape is not None


def same(one: Scrape, other: Scrape) -> bool:
    """Whether two scrapes say the same; NaN is as good as NaN."""
    numbers = repr(one.values) == repr(other.values)
    return numbers and one.keys == other.keys and one.rejected == other.rejected


def knows(page: str) -> None:
    """Have a page read line by line."""
    assert not by_shape(page)


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_a_page_is_read_as_without_the_pages_before_it(page: Path) -> None:
    text = page.read_text()
    expected = alone(text)
    ExpositionReader().read(of_another_target(text))
    first = ExpositionReader()
    for _ in range(3):
        assert same(first.read(text), expected)


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_the_pages_of_a_fleet_are_read_by_shape(page: Path) -> None:
    text = page.read_text()
    knows(text)
    # Timestamps behind the numbers; a label with an escaped quote.
    assert by_shape(of_another_target(text)) == (page.stem not in ("ascend", "dcgm_legacy"))


PAGE = '# HELP a "x"\na{b="c",d="e"} 1\na{b="f",d="e"} 2\n\n# TYPE g gauge\ng 3\nh{i="j k"} 4\n'


@pytest.mark.parametrize("at", [at for at in range(len(PAGE)) if not PAGE[at].isdigit()])
@pytest.mark.parametrize("to", ["", "z", "\n", " ", '"', "\\", "#", "} 7\n", "\\n", "\r\n", "\xff"])
def test_another_page_is_read_as_if_it_were_the_first(at: int, to: str) -> None:
    text = PAGE[:at] + to + PAGE[at + 1 :]
    expected = alone(text)
    knows(PAGE)
    assert same(ExpositionReader().read(text), expected)


@pytest.mark.parametrize(
    ("known", "page"),
    [
        pytest.param('a{b="c"} 1\n', 'a{b="d"} x\n', id="no number"),
        pytest.param('a{b="c"} 1\n', 'a{b="d"} 1_000\n', id="a number of Python's"),
        pytest.param('a{b="c"} 1\n', 'a{b="d"}\n', id="no word"),
        pytest.param('a{b="c"} 1\n', 'a{b="\\"d"} 1\n', id="an escaped quote"),
        pytest.param('a{b="c"} 1\n', 'a{b="\\\\"} 1\n', id="an escape"),
        pytest.param('a{b="c"} 1\n', 'a{b="d\n"} 1\n', id="a line that ends in a value"),
        pytest.param('a{b="c"} 1\n', 'a{b="d", e="f"} 1\n', id="another label"),
        pytest.param('a{b="c"} 1\n', 'a{b="d"e"} 1\n', id="a quote that nobody escaped"),
        pytest.param('a{b="c"} 1\n', 'a{b="d"} 1 1700000000000\n', id="a timestamp"),
        pytest.param('a{b="c"} 1\na{b="d"} 2\n', 'a{b="c"} 1\na{b="c"} 2\n', id="a duplicate"),
        pytest.param(
            'a{b="c",d="e"} 1\na{d="f",b="g"} 2\n',
            'a{b="c",d="e"} 1\na{d="e",b="c"} 2\n',
            id="a duplicate in another order",
        ),
        pytest.param("x 5\n", "x\n", id="a bare name"),
        pytest.param("# x\na 1\n", "# x 5\na 1\n", id="a longer comment"),
        pytest.param(
            '# HELP a "x"\na{b="1",c="2"} 5\n# HELP d y\n',
            '# HELP a x\na{b="1",c="2"} 5\n# HELP d "y"\n',
            id="quotes that move from a comment to another",
        ),
        pytest.param('# HELP a x\na{b="1"} 5\n', '# HELP a "x"\na{b="2"} 5\n', id="more quotes"),
        pytest.param("  #x\na 1\n", "  foo\na 1\n", id="a word instead of a comment"),
        pytest.param("a 1\n", " a 1\n", id="a blank before"),
        pytest.param("a 1\n\nb 2\n", "a 1\njunk\nb 2\n", id="a line that says nothing"),
        pytest.param("a 1", "a 1\n", id="an end of line more"),
    ],
)
def test_what_only_looks_alike_is_read_by_itself(known: str, page: str) -> None:
    expected = alone(page)
    knows(known)
    assert same(ExpositionReader().read(page), expected)


def test_a_page_in_which_a_line_was_refused_is_no_example() -> None:
    knows('a{b="c"} 1\n{} 2\n')
    assert not by_shape('a{b="d"} 1\n{} 2\n')


def test_a_quote_in_a_comment_is_one_of_no_label() -> None:
    knows('# HELP a it"s\na{b="c"} 1\n')
    assert not by_shape('# HELP a it"s\na{b="d"} 1\n')


def test_a_line_beyond_the_limit_is_refused_in_any_page() -> None:
    knows('a{b="c"} 1\nd 2\n')
    scrape = ExpositionReader().read(f'a{{b="{"x" * (64 << 10)}"}} 1\nd 2\n')
    assert (scrape.values, dict(scrape.rejected)) == ([2], {"line_length": 1})
    assert by_shape(f'a{{b="{"x" * 1000}"}} 1\nd 2\n')


def test_a_page_of_many_short_lines_is_read_by_shape() -> None:
    def page(node: str) -> str:
        return "".join(f'a{{b="{node}{at}"}} 1\n' for at in range(8000))

    assert len(page("n")) > 64 << 10
    knows(page("n"))
    assert by_shape(page("m"))
    knows("".join(f'a{{b="{at}"}} 1\n' for at in range(9000)))
    assert not by_shape("".join(f'a{{b="n{at}"}} 1\n' for at in range(9000)))


def test_a_reader_with_limits_of_its_own_looks_at_each_line() -> None:
    knows('a{b="c",d="e"} 1\nf 2\n')
    scrape = ExpositionReader(Limits(labels=1)).read('a{b="g",d="h"} 1\nf 2\n')
    assert (scrape.values, dict(scrape.rejected)) == ([2], {"labels": 1})
    assert scrape.series.shape is None


def test_the_series_are_the_same_object_while_they_are_the_same() -> None:
    knows('a{b="c"} 1\na{b="d"} 2\n')
    target = ExpositionReader()
    first = target.read('a{b="e"} 1\na{b="f"} 2\n')
    again = target.read('a{b="e"} 3\na{b="f"} 4\n')
    known = target.read('a{b="e"} 5\na{b="f"} 6\n')
    turned = target.read('a{b="f"} 8\na{b="e"} 7\n')
    assert first.series is again.series is known.series is turned.series
    assert first.series.shape is not None
    assert [scrape.values for scrape in (again, known, turned)] == [[3, 4], [5, 6], [7, 8]]


def test_other_series_are_another_object() -> None:
    knows('a{b="c"} 1\na{b="d"} 2\n')
    target = ExpositionReader()
    first = target.read('a{b="e"} 1\na{b="f"} 2\n')
    moved = target.read('a{b="e"} 1\na{b="g"} 2\n')
    assert first.series is not moved.series
    assert [key.values for key in moved.keys] == [("e",), ("g",)]
    fewer = target.read('a{b="e"} 1\n')
    assert [key.values for key in fewer.keys] == [("e",)]


def test_the_same_texts_in_other_series_are_another_object() -> None:
    knows('a{b="c"} 1\n')
    knows('d{b="c"} 1\n')
    target = ExpositionReader()
    first, other = target.read('a{b="e"} 1\n'), target.read('d{b="e"} 2\n')
    assert first.series.shape is not other.series.shape is not None
    assert [key.name for key in other.keys] == ["d"]


def test_only_the_first_page_of_a_target_is_an_example() -> None:
    target = ExpositionReader()
    target.read('a{b="c"} 1\n')
    target.read('a{b="c"} 1\nd{b="c"} 2\n')
    assert by_shape('a{b="e"} 1\n')
    assert not by_shape('a{b="e"} 1\nd{b="e"} 2\n')


def test_a_target_whose_lines_were_parsed_goes_on_so() -> None:
    target = ExpositionReader()
    first = target.read('a{b="c"} 1\n')
    knows('d{b="c"} 1\n')
    assert target.read('d{b="e"} 1\n').series.shape is None
    assert target.read('a{b="c"} 1\n').keys == first.keys


def test_a_target_that_sent_nothing_yet_is_read_by_shape() -> None:
    knows('a{b="c"} 1\n')
    target = ExpositionReader()
    target.read("# nothing yet\n")
    assert target.read('a{b="d"} 1\n').series.shape is not None


def test_a_target_whose_lines_had_timestamps_goes_on_so() -> None:
    target = ExpositionReader()
    first = target.read('a{b="c"} 1 1700000000000\n')
    knows('a{b="d"} 1\n')
    again = target.read('a{b="c"} 2\n')
    assert again.series is first.series
    assert again.values == [2]


def _frames(count: int) -> None:
    for number in range(count):
        knows(f'm{number}{{b="c"}} 1\n')


def test_many_series_are_not_kept_in_many_shapes(monkeypatch: pytest.MonkeyPatch) -> None:
    shapes = alike.Shapes()
    monkeypatch.setattr(reader, "SHAPES", shapes)
    bare = "".join(f"m{at} 1\n" for at in range(20_000))

    def page(equal: int) -> str:
        texts = [str(bit) if equal >> bit & 1 else "x" for bit in range(10)]
        return bare + "".join(f'l{at}{{b="{text}"}} 1\n' for at, text in enumerate(texts))

    knows(page(0))
    target = ExpositionReader()
    for equal in range(40):
        assert len(target.read(page(equal)).keys) == 20_010
        assert len(shapes) <= 3


def test_so_many_frames_are_kept_and_no_more() -> None:
    _frames(64)
    assert by_shape('m0{b="d"} 1\n')
    knows('another{b="c"} 1\n')
    assert not by_shape('m0{b="d"} 1\n')
    assert by_shape('another{b="d"} 1\n')


@pytest.mark.parametrize("make", [lambda at: f'"n{at}"', lambda at: '"n"'])
def test_pages_are_alike_whichever_texts_are_equal(make: Callable[[int], str]) -> None:
    knows('a{b="c"} 1\nd{b="c"} 2\n')
    page = f"a{{b={make(1)}}} 3\nd{{b={make(2)}}} 4\n"
    scrape = ExpositionReader().read(page)
    assert scrape.series.shape is not None
    assert same(scrape, alone(page))


def test_shapes_beyond_so_many_are_forgotten_and_learnt_again() -> None:
    names = "".join(f'm{at}{{b="{at}"}} {at}\n' for at in range(10))
    knows(names)
    for equal in range(300):
        texts = [str(bit) if equal >> bit & 1 else "x" for bit in range(10)]
        page = "".join(f'm{at}{{b="{text}"}} {at}\n' for at, text in enumerate(texts))
        scrape = ExpositionReader().read(page)
        assert [key.values for key in scrape.keys] == [(text,) for text in texts]
        assert scrape.series.shape is not None
