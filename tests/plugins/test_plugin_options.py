"""Options of plug-ins: what is expected is told in words, every mistake at once, and no value."""

from typing import Annotated, Any, Literal

import msgspec
import pytest
from msgspec import Meta

from accelwatch.base.errors import ConfigError, OptionsError
from accelwatch.plugins.options import checked


class Inner(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    pattern: str = ""


class Sample(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    plain: str = ""
    short: Annotated[str, Meta(min_length=2)] = "ab"
    word: Literal["b", "a"] = "a"
    flag: bool = False
    count: int = 1
    positive: Annotated[float, Meta(ge=0)] = 1.0
    few: Annotated[int, Meta(le=3)] = 1
    names: tuple[str, ...] = ()
    labels: dict[str, str] = {}
    either: str | tuple[str, ...] = ""
    numbers: tuple[int, ...] = ()
    inner: Inner = Inner()
    api_key: str = ""

    def __post_init__(self) -> None:
        if self.plain == "odd":
            raise ValueError("plain is odd")


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("plain", [], "expected text"),
        ("plain", 7, "expected text; put it in quotes"),
        ("plain", 7.5, "expected text; put it in quotes"),
        ("plain", True, "expected text; put it in quotes"),
        ("short", "a", "expected text of at least 2 characters"),
        ("word", "hush", "expected one of a, b"),
        ("flag", 1, "expected true or false"),
        ("count", "hush", "expected a number"),
        ("positive", -1, "expected a number from 0"),
        ("few", 4, "expected a number of at most 3"),
        ("names", "hush", "expected a list of texts"),
        ("labels", {"a": 1}, "expected a mapping with a text for each key"),
        ("either", 7, "expected text or a list of texts; put it in quotes"),
        ("numbers", ["hush"], "Expected `int`, got `str` - at `numbers[0]`"),
        ("inner", {"patern": "hush"}, "Object contains unknown field `patern`"),
        ("inner", {"pattern": 7}, "Expected `str`, got `int` - at `inner.pattern`"),
        ("apikey", "hush", "unknown key; did you mean api_key_file?"),
    ],
)
def test_what_is_expected_is_reported(key: str, value: Any, message: str) -> None:
    with pytest.raises(OptionsError) as refused:
        checked({key: value}, Sample)
    assert refused.value.mistakes == {key: message}
    assert str(refused.value) == f"{key}: {message}"


def test_what_the_struct_itself_refuses_is_a_mistake_of_the_configuration() -> None:
    with pytest.raises(ConfigError, match="^plain is odd$"):
        checked({"plain": "odd"}, Sample)


def test_options_that_fit_are_the_struct() -> None:
    assert checked({"names": ["a"], "few": 3}, Sample) == Sample(names=("a",), few=3)
