"""The exposition reader: what it reads, what it leaves out and says so, what it remembers."""

import math
import random
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from accelwatch.exposition import ExpositionReader, Key, Limits, Scrape
from accelwatch.exposition.interning import Texts
from accelwatch_prometheus import PrometheusExporter
from support.machines import composed as machines
from support.machines.samples import sample

Series = tuple[str, frozenset[tuple[str, str]]]


def table(scrape: Scrape) -> dict[Series, float]:
    return {
        (key.name, frozenset(zip(key.labels, key.values, strict=True))): value
        for key, value in zip(scrape.keys, scrape.values, strict=True)
    }


def oracle(text: str) -> dict[Series, float]:
    return {
        (one.name, frozenset(one.labels.items())): one.value
        for family in text_string_to_metric_families(text)
        for one in family.samples
    }


def read(text: str | bytes, limits: Limits | None = None) -> Scrape:
    return ExpositionReader(limits).read(text)


def value(text: str) -> float:
    scrape = read(text)
    assert scrape.values, dict(scrape.rejected)
    return scrape.values[0]


def reason(line: str) -> str:
    """Why a line is left out; the good lines beside it stay."""
    scrape = read(f"before 1\n{line}\nafter 2\n")
    assert scrape.values == [1, 2]
    assert scrape.rejected.total() == 1
    return next(iter(scrape.rejected))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a 5", 5),
        ("a -5", -5),
        ("a +1.5e-3", 0.0015),
        ("a 8.5520809984e+10", 85520809984),
        ("a 9223372036854775794", 9223372036854775794.0),
        ("a +Inf", math.inf),
        ("a -Inf", -math.inf),
        ('a{b="c"} 7 1700000000123', 7),
        ('a { b = "c" , } \t 7', 7),
        ('a_bucket{le="1"} 3 # {trace_id="x y"} 0.5 1700000000', 3),
        ("a 5\r", 5),
        (" a 5 ", 5),
    ],
)
def test_numbers_and_spacing(text: str, expected: float) -> None:
    assert value(text) == expected


def test_nan_is_kept_for_the_reader_of_meaning() -> None:
    assert math.isnan(value("a NaN"))


def test_whole_numbers_stay_whole() -> None:
    values = read("a 123456789012\nb 1.0\n").values
    assert [type(one) for one in values] == [int, float]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("garbage", "value"),
        ("9lives 1", "syntax"),
        ('a{b="c} 1', "syntax"),
        ("a{b=c} 1", "syntax"),
        ('a{b="1",b="2"} 1', "syntax"),
        ("a 1_000", "value"),
        ("a 0x10", "value"),
        ("a \u0661", "value"),
        ("a one", "value"),
        ("a 1 yesterday", "syntax"),
        ("before 3", "duplicate"),
        ("a" * 70_000 + " 1", "line_length"),
        ("a{" + ",".join(f'l{n}="x"' for n in range(65)) + "} 1", "labels"),
    ],
)
def test_a_bad_line_costs_one_line(line: str, expected: str) -> None:
    assert reason(line) == expected


def test_duplicates_are_noticed_whatever_the_order_of_labels() -> None:
    scrape = read('a{b="1",c="2"} 5\na{c="2",b="1"} 6\n')
    assert (scrape.values, scrape.rejected["duplicate"]) == ([5], 1)


def test_labels_are_unescaped() -> None:
    scrape = read(r'a{b="x\\y\"z\nw",c="} 1 # "} 2')
    assert scrape.keys == (Key("a", ("b", "c"), ('x\\y"z\nw', "} 1 # ")),)


def test_a_quote_that_was_not_escaped_costs_nothing() -> None:
    scrape = read('DCGM_FI_DEV_GPU_TEMP{gpu="0",pod="the "best" one",UUID="GPU-1"} 41\n')
    assert scrape.keys[0].get("pod") == 'the "best" one'
    assert scrape.keys[0].get("UUID") == "GPU-1"
    assert scrape.values == [41]


def test_bytes_that_are_no_utf8_are_read_around() -> None:
    assert read(b'a{b="\xff"} 1\nc 2\n').values == [1, 2]


def test_the_body_is_bounded_to_whole_lines() -> None:
    scrape = read("\n".join(f"a{n} {n}" for n in range(1000)), Limits(body_bytes=100))
    assert scrape.values == list(range(len(scrape.values)))
    assert 10 < len(scrape.values) < 20
    assert scrape.rejected["bytes"] >= 980


def test_samples_are_bounded() -> None:
    scrape = read("\n".join(f"a{n} {n}" for n in range(50)), Limits(samples=20))
    assert (len(scrape.values), scrape.rejected["samples"]) == (20, 30)


def test_a_line_of_a_million_labels_is_one_rejection() -> None:
    line = "a{" + ",".join(f'l{n}="x"' for n in range(1_000_000)) + "} 1"
    scrape = read(f"{line}\nb 2\n", Limits(body_bytes=20 << 20))
    assert (scrape.values, dict(scrape.rejected)) == ([2], {"line_length": 1})


def test_a_target_that_invents_labels_leaves_nothing_behind() -> None:
    reader = ExpositionReader()
    for turn in range(20):
        scrape = reader.read("".join(f'a{{b="{turn}-{n}"}} 1\n' for n in range(100)))
        assert len(scrape.keys) == 100


def ours() -> str:
    return PrometheusExporter().render(machines.snapshot(), {}).decode()


def test_our_text_reads_as_the_reference_parser_reads_it() -> None:
    assert table(read(ours())) == oracle(ours())


def test_keys_are_the_same_object_while_the_series_are_the_same() -> None:
    reader = ExpositionReader()
    first = reader.read("# HELP a x\na 1\nb 2\n")
    again = reader.read("# HELP a x\na 3\nb 4.5\n")
    turned = reader.read("b 6\n# HELP a x\na 5\n")
    assert first.keys is again.keys
    assert again.keys is turned.keys
    assert [first.values, again.values, turned.values] == [[1, 2], [3, 4.5], [5, 6]]


@pytest.mark.parametrize(
    ("then", "expected"),
    [
        ("a 1\nb 2\nc 3\n", {"a": 1, "b": 2, "c": 3}),
        ("b 2\n", {"b": 2}),
        ("a x\nb 2\n", {"b": 2}),
        ("a 1 1700000000000\nb 2\n", {"a": 1, "b": 2}),
        ("a NaNa\nb -2\n", {"b": -2}),
        ("a  1\nb 2\n", {"a": 1, "b": 2}),
        ("", {}),
    ],
)
def test_a_change_of_the_text_is_never_missed(then: str, expected: dict[str, float]) -> None:
    reader = ExpositionReader()
    reader.read("a 10\nb 20\n")
    for _ in range(2):
        scrape = reader.read(then)
        found = dict(zip([key.name for key in scrape.keys], scrape.values, strict=True))
        assert found == expected
    back = reader.read("a 11\nb 21\n")
    assert dict(zip([key.name for key in back.keys], back.values, strict=True)) == {
        "a": 11,
        "b": 21,
    }


@pytest.mark.parametrize(
    "words",
    [
        ("5", "-5", "0.25", "1e+06"),
        ("9223372036854775794", "-9223372036854775808", "1000000000000000000"),
        ("NaN", "+Inf", "7"),
        ("1" + "0" * 400, "-1" + "0" * 30, "2"),
        ("1" * 5000, "2"),
        ("+5", "007", ".5", "1e400"),
        ("1,2", "3"),
        ("[1]", "null", "true", '"1"'),
        ("", "1"),
        ("1_000", "٣"),
        ("  5", "NaN"),
        ("5 ", "+Inf"),
    ],
)
def test_a_number_is_the_same_the_second_time(words: tuple[str, ...]) -> None:
    reader = ExpositionReader()
    reader.read("".join(f"m{at} 1\n" for at in range(len(words))))
    text = "".join(f"m{at} {word}\n" for at, word in enumerate(words))
    cold, warm = read(text), reader.read(text)
    assert repr(warm.values) == repr(cold.values)
    assert [key.name for key in warm.keys] == [key.name for key in cold.keys]
    assert warm.rejected == cold.rejected


_FORM = '# HELP a {x} y\na 1\n# TYPE b gauge\nb 2\nc{d="e"} 3\n\nf{g="} h"} 4\ni{j="k"}  5\nl 6'


@pytest.mark.parametrize("end", ["", "\n", "\n# EOF\n"])
def test_numbers_with_and_without_labels_stand_in_their_order(end: str) -> None:
    reader = ExpositionReader()
    text = _FORM + end
    keys = reader.read(text).keys
    for before in (1, 200):
        moved = re.sub(r" (\d)$", rf" {before}\g<1>", text, flags=re.M)
        scrape = reader.read(moved)
        assert scrape.keys is keys
        assert [key.name for key in keys] == ["a", "b", "c", "f", "i", "l"]
        assert scrape.values == [before * 10 + digit for digit in range(1, 7)]


@pytest.mark.parametrize("at", [at for at in range(len(_FORM)) if not _FORM[at].isdigit()])
@pytest.mark.parametrize("to", ["", "z", "\n", " ", "} 7\n"])
def test_another_form_is_read_as_if_it_were_the_first(at: int, to: str) -> None:
    text = _FORM[:at] + to + _FORM[at + 1 :]
    reader = ExpositionReader()
    reader.read(_FORM)
    warm, cold = reader.read(text), ExpositionReader().read(text)
    assert table(warm) == table(cold)
    assert warm.rejected == cold.rejected


@pytest.mark.parametrize("label", ["} ", "a} b", "} 5", "}"])
def test_a_label_may_hold_what_a_page_is_cut_at(label: str) -> None:
    reader = ExpositionReader()
    for turn, other in enumerate((label, label, f"{label}x", label)):
        text = f'a{{b="{other}"}} {turn}\nc{{d="e"}} 7\n'
        warm = reader.read(text)
        assert table(warm) == {
            ("a", frozenset({("b", other)})): turn,
            ("c", frozenset({("d", "e")})): 7,
        }
        assert not warm.rejected


def test_what_was_left_out_is_counted_every_time() -> None:
    reader = ExpositionReader()
    text = "a 1\nbad{ 2\nc 3\n"
    assert [reader.read(text).rejected["syntax"] for _ in range(3)] == [1, 1, 1]


def test_a_bad_number_may_become_good() -> None:
    reader = ExpositionReader()
    assert reader.read("a 1\nb ?\n").rejected["value"] == 1
    assert reader.read("a 1\nb 2\n").values == [1, 2]


def test_families_in_a_new_order_each_time() -> None:
    reader, lines, rng = ExpositionReader(), ours().splitlines(), random.Random(7)
    expected = table(reader.read(ours()))
    for _ in range(5):
        rng.shuffle(lines)
        assert table(reader.read("\n".join(lines))) == expected


NAMES = [
    "demo__seeded",
    "linux-x86_64__nvidia-geforce-rtx-2080-super__595.71.05__load",
    "linux-x86_64__nvidia-h100-80gb-hbm3__590.48.01__load",
    "linux-x86_64__nvidia-l40s__595.80__idle",
]


@pytest.mark.oracle
@pytest.mark.parametrize("name", NAMES)
def test_recorded_scrapes_read_as_the_reference_parser_reads_them(name: str) -> None:
    text = sample(f"exporters/nvidia_gpu_exporter/{name}.metrics").read_text()
    scrape = read(text)
    assert table(scrape) == oracle(text)
    assert not scrape.rejected


@pytest.mark.oracle
def test_macmon_reads_as_the_reference_parser_reads_it() -> None:
    path: Path = sample("apple/macmon_metrics.prom")
    assert table(read(path.read_text())) == oracle(path.read_text())


@settings(max_examples=150, deadline=None)
@given(st.lists(st.binary(max_size=200), max_size=3))
def test_any_bytes_are_survived(bodies: list[bytes]) -> None:
    reader = ExpositionReader()
    for body in bodies:
        scrape = reader.read(body)
        assert len(scrape.keys) == len(scrape.values)


_LABEL_VALUE = st.text(max_size=12).map(
    lambda text: text.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')
)
_LINE = st.builds(
    lambda name, labels, number: (
        name + "{" + ",".join(f'{key}="{one}"' for key, one in labels.items()) + f"}} {number!r}"
    ),
    st.sampled_from(["up", "DCGM_FI_DEV_GPU_TEMP", "a:b"]),
    st.dictionaries(st.sampled_from(["gpu", "uuid", "x"]), _LABEL_VALUE, max_size=3),
    st.floats(allow_nan=False) | st.integers(-(10**25), 10**25),
)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.lists(_LINE, max_size=6), min_size=1, max_size=3))
def test_well_formed_text_reads_the_same_warm_and_cold(scrapes: list[list[str]]) -> None:
    reader = ExpositionReader()
    for lines in scrapes:
        text = "\n".join(lines) + "\n"
        cold = read(text)
        assert table(reader.read(text)) == table(cold)
        assert table(reader.read(text)) == table(cold)
        assert set(cold.rejected) <= {"duplicate"}


@pytest.mark.parametrize("end", ["", "\n"])
@pytest.mark.parametrize("label", ["x", "\N{GREEK SMALL LETTER ALPHA}" * 3])
def test_lines_beyond_the_bound_are_counted_one_by_one(label: str, end: str) -> None:
    text = "\n".join(f'a{{b="{label}",n="{n}"}} {n}' for n in range(10, 20)) + end
    data = text.encode()
    line = len(data.rstrip()) // 10
    for bound in range(line, len(data) - 1):
        scrape = read(data, Limits(body_bytes=bound))
        whole = data.rfind(b"\n", 0, bound)
        kept = data[: max(whole, 0)].count(b"\n") + (whole > 0)
        assert (len(scrape.values), scrape.rejected["bytes"]) == (kept, 10 - kept)
    assert read(data, Limits(body_bytes=len(data))).rejected == {}
    assert read(text, Limits(body_bytes=1)).rejected == {"bytes": 10}


def test_a_text_is_held_once_until_there_are_too_many() -> None:
    texts = Texts(2)
    first = "".join(["a", "b"])
    assert texts.same(first) is first
    assert texts.same("".join(["a", "b"])) is first
    texts.same("c")
    assert len(texts) == 2
    texts.same("d")
    assert len(texts) == 1
    again = "".join(["a", "b"])
    assert texts.same(again) is again


@pytest.mark.parametrize(
    ("line", "labels"),
    [
        ('a{b="x",c="y"} 1', {"b": "x", "c": "y"}),
        ('a{b="x" , c = "y" ,} 1', {"b": "x", "c": "y"}),
        ('a{b="say "hi" now",c="y"} 1', {"b": 'say "hi" now', "c": "y"}),
        ('a{b="one",two",c="y"} 1', {"b": 'one",two', "c": "y"}),
        ('a{b="one",two",three",c="y"} 1', {"b": 'one",two",three', "c": "y"}),
        ('a{b="""} 1', {"b": '"'}),
        ('a{b="q"q", } 1', {"b": 'q"q'}),
        ("a{} 1", {}),
    ],
)
def test_which_labels_a_line_has(line: str, labels: dict[str, str]) -> None:
    (key,) = read(line).keys
    assert dict(zip(key.labels, key.values, strict=True)) == labels
    assert key.get("nowhere") == ""


def test_a_label_more_than_allowed_costs_the_line() -> None:
    limits = Limits(labels=2)
    assert read('a{b="1",c="2"} 1', limits).values == [1]
    refused = read('a{b="1",c="2",d="3"} 1', limits)
    assert (refused.values, refused.rejected) == ([], {"labels": 1})


def test_every_duplicate_and_every_sample_too_many_is_counted() -> None:
    assert read("a 1\na 2\na 3\n").rejected == {"duplicate": 2}
    scrape = read("a 1\nb 2\nc 3\nd 4\n", Limits(samples=2))
    assert (scrape.values, scrape.rejected) == ([1, 2], {"samples": 2})


def test_a_line_of_the_longest_allowed_length_is_read() -> None:
    line = f'a{{b="{"x" * 50}"}} 1'
    assert read(line, Limits(line_bytes=len(line))).values == [1]
    assert read(line, Limits(line_bytes=len(line) - 1)).rejected == {"line_length": 1}


@pytest.mark.parametrize(
    "text", ["a 1_000", "a \N{ARABIC-INDIC DIGIT ONE}", "a 0x10", "a 1e", "a --1"]
)
def test_a_number_that_only_python_reads_is_none_the_second_time_either(text: str) -> None:
    reader = ExpositionReader()
    assert reader.read("a 5\n").values == [5]
    again = reader.read(f"{text}\n")
    assert (again.values, again.rejected) == ([], {"value": 1})


@pytest.mark.parametrize("tail", [' # {trace_id="x"}', "", " # {}"])
def test_what_stands_behind_the_number_is_never_read_as_the_number(tail: str) -> None:
    reader = ExpositionReader()
    for last in (5, 7, 9):
        scrape = reader.read(f'a{{le="1"}} 5{tail} {last}\n')
        assert table(scrape) == {("a", frozenset({("le", "1")})): 5}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('a{x="1"} 1\nb{x="1"} 2\n', {"a x=1": 1, "b x=1": 2}),
        ('a{x="1",} 1\nb{x="1",} 2\nb{x="1"} 3\n', {"a x=1": 1, "b x=1": 2}),
        ('a{x="}"} 1\nb{x="}"} 2\n', {"a x=}": 1, "b x=}": 2}),
        ('a{x="1"} 1\n1b{x="1"} 2\n', {"a x=1": 1}),
        ('a{x="1"} 1\nb {x="1"} 2\n', {"a x=1": 1, "b x=1": 2}),
        ('a{x="1"} 1\nb{x="1"} bad\n', {"a x=1": 1}),
        ('a{x="1"} 1\nb{x="1"} 1_0\n', {"a x=1": 1}),
        ('a{x="1"} 1\nb{x="1"}  2\nc{x="1"} 3 4\n', {"a x=1": 1, "b x=1": 2, "c x=1": 3}),
        ('a{x="1"} 1 # {x="1"} 1\nb{x="1"} 2 # {x="1"} 9\n', {"a x=1": 1, "b x=1": 2}),
        ('a{x="q"r"} 1\nb{x="q"r"} 2\n', {'a x=q"r': 1, 'b x=q"r': 2}),
        ('a{x="1",x="2"} 1\nb{x="1",x="2"} 2\n', {}),
    ],
)
def test_labels_that_were_read_on_another_line_are_the_same(
    text: str, expected: dict[str, float]
) -> None:
    shown = {
        f"{name} {','.join(f'{label}={value}' for label, value in sorted(labels))}": number
        for (name, labels), number in table(read(text)).items()
    }
    assert shown == expected


def test_a_line_that_is_too_long_or_has_too_many_labels_is_so_on_every_line() -> None:
    scrape = read('a{x="1",y="2"} 1\nb{x="1",y="2"} 2\n', Limits(labels=1))
    assert (table(scrape), scrape.rejected) == ({}, {"labels": 2})
    scrape = read('a{x="1"} 1\nlonger{x="1"} 2\n', Limits(line_bytes=11))
    assert (len(scrape.keys), scrape.rejected) == (1, {"line_length": 1})
