"""The one reader of YAML: lines, struct types, and every mistake of a file at once."""

import msgspec
import pytest

from accelwatch.base.errors import ConfigError
from accelwatch.system.located_yaml.document import LocatedDocument, parse


class Wheel(msgspec.Struct, frozen=True, kw_only=True):
    size: int
    colour: str = "red"


class Car(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    spare: Wheel | None = None
    wheels: tuple[Wheel, ...] = ()
    marks: dict[str, int] = {}


def refused(document: LocatedDocument) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        document.refuse()
    return str(caught.value).splitlines()


def test_a_document_becomes_structs_within_structs() -> None:
    document = parse(b"name: a\nspare: {size: 3}\nwheels: [{size: 1}, {size: 2}]", "f")
    car = document.struct(document.data, Car, ())
    assert car == Car(name="a", spare=Wheel(size=3), wheels=(Wheel(size=1), Wheel(size=2)))
    document.refuse()


def test_mistakes_at_every_depth_are_reported_from_the_top() -> None:
    text = b"spare: {size: x}\nwheels:\n- {size: 1}\n- {sise: 2}\n- 3\nmarks: {a: b}\nnmae: c\n"
    document = parse(text, "f")
    assert document.struct(document.data, Car, ()) is None
    assert refused(document) == [
        "f:1: spare.size: Expected `int`, got `str`",
        "f:1: name: is missing",
        "f:4: wheels[1].sise: unknown key; did you mean size?",
        "f:4: wheels[1].size: is missing",
        "f:5: wheels[2]: a mapping is expected",
        "f:6: marks: Expected `int`, got `str`",
        "f:7: nmae: unknown key; did you mean name?",
    ]


def test_an_optional_part_that_does_not_fit_leaves_the_rest() -> None:
    document = parse(b"name: a\nspare: {size: x}", "f")
    assert document.struct(document.data, Car, ()) == Car(name="a")
    assert document.is_wrong(("spare",))
    assert not document.is_wrong(("name",))


def test_of_several_mistakes_at_one_position_the_first_is_reported() -> None:
    document = parse(b"name: a", "f")
    document.complain(("name",), "is short")
    document.complain(("name",), "is common")
    document.complain(("names",), "is odd")
    assert refused(document) == ["f:1: name: is short", "f:1: names: is odd"]


def test_keys_given_twice_or_no_words_and_bad_dates_are_all_reported() -> None:
    document = parse(b"name: a\nname: b\n? [x]\n: 1\nmarks: {a: 2020-99-99}", "f")
    assert document.data["name"] == "a"
    assert refused(document) == [
        "f:2: name: given twice, first on line 1",
        "f:3: a key must be a word",
        "f:5: marks.a: '2020-99-99' cannot be read",
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"a: &x 1\nb: *x", "f:2: aliases are not accepted"),
        (b"[" * 17 + b"]" * 17, "f:1: nested deeper than 16 levels"),
        (
            b"a: 1\n---\nb: 2",
            "f:2: bad YAML: expected a single document in the stream, but found another document; "
            "a file has one: take out this '---', or make two files of it",
        ),
        (
            b"a: 1\n...\nb: 2",
            "f:3: bad YAML: expected '<document start>', but found '<block mapping start>'; "
            "take out a '...' above, and lines that begin with '%'",
        ),
        (
            b"a: 1\nb: 'c\nd: 1\n",
            "f:4: bad YAML: while scanning a quoted scalar that begins on line 2, "
            "found unexpected end of stream; a quote that was opened above is not closed",
        ),
        (
            b"a: [1, 2\nb: 3\n",
            "f:2: bad YAML: while parsing a flow sequence that begins on line 1, "
            "expected ',' or ']', but got ':'",
        ),
        (b"a: [1 2]]\n", "f:1: bad YAML: expected <block end>, but found ']'"),
        (
            b"a: 1\nb\nc: 2\n",
            "f:3: bad YAML: while scanning a simple key that begins on line 2, "
            "could not find expected ':'; a key is followed by ': ' and its value",
        ),
        (b"a: \x01", "f: bad YAML: special characters are not allowed; take out control char"),
        (b"a: [", "f:1: bad YAML"),
        (b"\xff\xfe\xff", "f: bad YAML"),
    ],
)
def test_what_is_no_plain_document_is_refused_at_once(text: bytes, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse(text, "f")
    assert str(caught.value).startswith(message)
