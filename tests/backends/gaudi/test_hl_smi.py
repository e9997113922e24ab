"""What hl-smi prints, as published and damaged."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accelwatch.base.absence import Absence
from accelwatch.base.errors import ReadError
from accelwatch.schema.reading import Collected, Reading
from accelwatch_gaudi.document import Card, ToolOutput, together
from accelwatch_gaudi.mapping import collect_card
from accelwatch_gaudi.processes import processes_in, processes_of
from accelwatch_gaudi.query import QUERIES, parse_query
from accelwatch_gaudi.table import parse_table
from backends.gaudi.machines import FOLDER
from support.machines.samples import sample

MIB = 1 << 20
QUERY = (FOLDER / "gaudi2-x2" / "query.csv").read_bytes()
TABLE = (FOLDER / "gaudi2-x2" / "table.txt").read_bytes()
ROW = b"|   0       4711   C      python3                                  94195MiB   |\n"
OPEN_ROW = b"|   0       4711     C   python3                                 94195MiB    \n"
SPLIT_ROW = b"|   0       4711     C   python3\n                                 94195Mib\n"


def values(card: Card) -> dict[tuple[str, ...], float]:
    out = Collected("d")
    collect_card(out, card)
    return dict(out.values)


@pytest.mark.oracle
def test_recorded_query() -> None:
    document = parse_query(sample("gaudi/cli/hl_smi_query_csv_hl205_1.18.csv").read_bytes())
    assert [card.number for card in document.cards] == list(range(8))
    assert [card.text("uuid") for card in document.cards][::7] == [
        "00P1-HL2000A1-14-P64W99-13-05-03",
        "00P1-HL2000A1-14-P64X00-08-05-09",
    ]
    watts, celsius, ratios = (
        [values(card)[series] for card in document.cards]
        for series in (("power_watts",), ("temperature_celsius", "gpu"), ("utilization_ratio",))
    )
    assert watts == [103, 105, 96, 100, 103, 102, 103, 103]
    assert celsius == [36, 34, 33, 32, 34, 30, 31, 38]
    assert ratios == pytest.approx([0.15, 0.15, 0.12, 0.13, 0.15, 0.14, 0.14, 0.14])
    assert {values(card)["memory_used_bytes",] for card in document.cards} == {512 * MIB}
    assert {values(card)["memory_size_bytes",] for card in document.cards} == {32768 * MIB}


@pytest.mark.oracle
def test_recorded_table_of_eight_cards() -> None:
    document = parse_table(sample("gaudi/cli/hl_smi_table_hl205_1.18_8card.txt").read_bytes())
    assert document.driver_version == "1.18.0-ee698fb"
    assert [card.number for card in document.cards] == list(range(8))
    assert [card.pci_bus_id for card in document.cards] == [
        f"0000:{bus}:00.0" for bus in ("b3", "b4", "cd", "cc", "19", "1a", "34", "33")
    ]
    watts, celsius, ratios = (
        [values(card)[series] for card in document.cards]
        for series in (("power_watts",), ("temperature_celsius", "gpu"), ("utilization_ratio",))
    )
    assert watts == [104, 102, 104, 103, 96, 105, 103, 100]
    assert celsius == [33, 30, 37, 30, 33, 33, 36, 32]
    assert ratios == pytest.approx([0.15, 0.14, 0.15, 0.15, 0.12, 0.15, 0.15, 0.13])
    for card in document.cards:
        assert card.text("name") == "HL-205"
        assert values(card)["power_limit_watts", "enforced"] == 350
        assert values(card)["memory_used_bytes",] == 512 * MIB
        assert values(card)["memory_size_bytes",] == 32768 * MIB
        assert values(card)["ecc_errors_total", "uncorrected"] == 0
    assert document.entries is not None
    assert [(e.number, e.pid, e.command) for e in document.entries] == [
        (0, 10, "python name"),
        (6, 20, "custom process"),
    ]
    listed = processes_of("d", document.entries)
    assert [p.gpu_memory_bytes for p in listed] == [1024 * MIB, 2040 * MIB]


@pytest.mark.oracle
@pytest.mark.parametrize(
    ("file", "driver", "bus", "model", "numbers"),
    [
        (
            "gaudi1_hl205_mib_case",
            "1.4.0-d8f95f4",
            "20:1d",
            "HL-205",
            (35, 102, 350, 512, 32768, 2),
        ),
        ("gaudi2_hl225", "1.15.0-c43dc7b", "09:00", "HL-225", (26, 87, 600, 768, 98304, 0)),
        ("gaudi2_v1_12", "1.12.1-cb7a7bc", "43:00", "HL-225", (30, 84, 600, 768, 98304, 0)),
        ("gaudi2_v1_16", "1.16.0-94aac46", "b3:00", "HL-225", (26, 82, 600, 768, 98304, 0)),
    ],
)
def test_recorded_tables_that_end_after_one_card(
    file: str, driver: str, bus: str, model: str, numbers: tuple[int, ...]
) -> None:
    document = parse_table(sample(f"gaudi/cli/hl_smi_{file}.txt").read_bytes())
    (card,) = document.cards
    assert (document.driver_version, document.entries) == (driver, None)
    assert (card.pci_bus_id, card.text("name")) == (f"0000:{bus}.0", model)
    celsius, watts, cap, used, size, percent = numbers
    assert values(card) == {
        ("temperature_celsius", "gpu"): celsius,
        ("power_watts",): watts,
        ("power_limit_watts", "enforced"): cap,
        ("memory_used_bytes",): used * MIB,
        ("memory_size_bytes",): size * MIB,
        ("utilization_ratio",): percent / 100,
        ("ecc_errors_total", "uncorrected"): 0,
    }


@pytest.mark.oracle
def test_the_recorded_header_with_a_second_driver() -> None:
    document = parse_table(sample("gaudi/cli/hl_smi_header_nic_driver_1_20.txt").read_bytes())
    assert (document.driver_version, document.cards) == ("1.20.0-bd87f71", ())


def test_units_behind_numbers_and_columns_in_another_order() -> None:
    text = b"memory.used [MiB], index, name, new.thing\n672 MiB, 4, HL-325L, 9\n"
    (card,) = parse_query(text).cards
    assert card.number == 4
    assert values(card) == {("memory_used_bytes",): 672 * MIB}


def test_lines_before_the_header_are_no_cards() -> None:
    assert parse_query(b"warning: no log, falling back\n" + QUERY) == parse_query(QUERY)


def test_without_a_header_the_columns_are_those_requested() -> None:
    lines = QUERY.splitlines(keepends=True)
    assert parse_query(b"".join(lines[1:]), QUERIES[0]) == parse_query(QUERY)


def test_a_header_alone_is_no_answer() -> None:
    with pytest.raises(ReadError, match="listed no accelerator"):
        parse_query(QUERY.splitlines(keepends=True)[0])


def test_a_line_with_other_columns_is_left_out() -> None:
    lines = QUERY.splitlines(keepends=True)
    odd = lines[1].replace(b", HL-225", b"")
    assert [card.number for card in parse_query(lines[0] + odd + lines[2]).cards] == [1]


def test_of_cards_with_one_index_the_first_counts() -> None:
    lines = QUERY.splitlines(keepends=True)
    twice = parse_query(lines[0] + lines[1] + lines[2].replace(b"1, 0000", b"0, 0000"))
    assert [card.text("serial") for card in twice.cards] == ["AN00000001"]


def test_a_memory_column_that_runs_over() -> None:
    wide = TABLE.replace(b"|   768MiB /  98304MiB |", b"|   768MiB / 1310720MiB|")
    assert values(parse_table(wide).cards[1])["memory_size_bytes",] == 1310720 * MIB


@pytest.mark.parametrize("word", [b"N/A", b"ERR", b"ERR!", b"-"])
def test_a_word_for_one_number_costs_that_number_only(word: bytes) -> None:
    lines = TABLE.splitlines(keepends=True)
    at = next(at for at, line in enumerate(lines) if b"MiB" in line)
    cells = lines[at].split()
    before = values(parse_table(TABLE).cards[0])
    temperature = next(cell for cell in cells if cell.endswith(b"C") and cell[:1].isdigit())
    for cell, lost in (
        (temperature, ("temperature_celsius", "gpu")),
        (next(cell for cell in cells if cell.endswith(b"W")), ("power_watts",)),
        (next(cell for cell in cells if cell.endswith(b"MiB")), ("memory_used_bytes",)),
        (next(cell for cell in cells if cell.endswith(b"%")), ("utilization_ratio",)),
    ):
        odd = lines[at].replace(cell, word.rjust(len(cell)), 1)
        after = values(parse_table(b"".join([*lines[:at], odd, *lines[at + 1 :]])).cards[0])
        assert after == {series: value for series, value in before.items() if series != lost}


def test_events_are_no_ecc_errors() -> None:
    series = ("ecc_errors_total", "uncorrected")
    assert series not in values(parse_table(TABLE).cards[0])
    old = TABLE.replace(b"Uncor-Events", b"Uncorr. ECC ")
    assert values(parse_table(old).cards[0])[series] == 21


@pytest.mark.parametrize("output", [b"", b"\n", b"hl-smi: command failed\n", b"\xff\xfe", b"{}"])
def test_what_is_no_answer_is_an_error(output: bytes) -> None:
    with pytest.raises(ReadError, match="hl-smi"):
        parse_query(output)
    with pytest.raises(ReadError, match="hl-smi"):
        parse_table(output)


def _values_of(document: ToolOutput) -> set[tuple[int, tuple[str, ...], float]]:
    return {(c.number, key, value) for c in document.cards for key, value in values(c).items()}


@given(st.integers(0, len(QUERY)))
def test_a_query_that_was_cut_says_nothing_new(length: int) -> None:
    with contextlib.suppress(ReadError):
        assert _values_of(parse_query(QUERY[:length])) <= _values_of(parse_query(QUERY))


@pytest.mark.parametrize("row", [OPEN_ROW, SPLIT_ROW, SPLIT_ROW.replace(b"b\n", b"b   |\n")])
def test_a_running_process_whose_row_is_not_closed(row: bytes) -> None:
    """Tables of 1.20 and 1.6 have been published with such rows."""
    (entry,) = parse_table(TABLE.replace(ROW, row)).entries or ()
    (process,) = processes_of("d", [entry])
    assert (entry.number, process.pid, process.command) == (0, 4711, "python3")
    assert process.gpu_memory_bytes == 94195 * MIB


def test_memory_on_a_line_of_its_own_is_of_the_row_before_it_only() -> None:
    """A row that was closed, or another that stands between, has nothing to do with it."""
    stray = b"                                 12Mib\n"
    assert parse_table(TABLE.replace(ROW, ROW + stray)) == parse_table(TABLE)
    start, memory = SPLIT_ROW.splitlines(keepends=True)
    vacant = b"|   1        N/A   N/A    N/A                                      N/A        |\n"
    assert parse_table(TABLE.replace(ROW, start + vacant + memory)).entries == ()


def card_with(*, memory: float | None = None, load: float | None = None) -> Reading:
    out = Collected("d")
    out.put_or_miss("memory_used_bytes", Absence.ERROR if memory is None else memory)
    out.put_or_miss("utilization_ratio", Absence.ERROR if load is None else load)
    return out.reading()


def test_a_card_at_rest_has_no_process() -> None:
    """Published tables: up to 768 MiB in use and 17 % of load without a process."""
    document = parse_table(TABLE)
    assert document.vacant == {1}
    assert processes_in(document, 1, card_with(memory=768 * MIB, load=0.17)) == []
    assert processes_in(document, 1, card_with(memory=768 * MIB, load=0.4)) is Absence.PERMISSION
    assert processes_in(document, 1, card_with(memory=16384 * MIB, load=0.0)) is Absence.PERMISSION


def test_a_card_of_which_not_both_numbers_are_known_is_not_called_free() -> None:
    document = parse_table(TABLE)
    assert processes_in(document, 1, card_with()) is Absence.ERROR
    assert processes_in(document, 1, card_with(memory=768 * MIB)) is Absence.ERROR
    assert processes_in(document, 1, card_with(load=0.17)) is Absence.ERROR
    assert processes_in(document, 1, card_with(memory=16384 * MIB)) is Absence.PERMISSION
    assert processes_in(document, 1, card_with(load=0.4)) is Absence.PERMISSION
    assert processes_in(document, 1, Collected("d").reading()) is Absence.UNSUPPORTED


def test_the_processes_of_a_card_without_a_row_are_not_known() -> None:
    """As of a table that ends before it, or with a row of another shape."""
    start = TABLE[: TABLE.index(b"|   1        N/A")]
    busy = card_with(memory=16384 * MIB, load=0.4)
    for text in (start, TABLE.replace(ROW, ROW.replace(b"4711", b"????"))):
        document = parse_table(text)
        number = 1 if text is start else 0
        assert processes_in(document, number, busy) is Absence.ERROR
    assert processes_in(ToolOutput(), 0, busy) is Absence.UNSUPPORTED


def test_a_row_without_bar_or_unit_is_not_whole() -> None:
    for row in (OPEN_ROW.replace(b"MiB", b""), OPEN_ROW.replace(b"94195MiB", b"94195Mi")):
        assert parse_table(TABLE.replace(ROW, row)).entries == ()


@given(st.sampled_from([ROW, OPEN_ROW, SPLIT_ROW]), st.data())
def test_a_table_that_was_cut_says_nothing_new(row: bytes, data: st.DataObject) -> None:
    text = TABLE.replace(ROW, row)
    length = data.draw(st.integers(0, len(text)))
    with contextlib.suppress(ReadError):
        cut, whole = parse_table(text[:length]), parse_table(text)
        assert _values_of(cut) <= _values_of(whole)
        assert set(cut.entries or ()) <= set(whole.entries or ())
        assert cut.vacant <= whole.vacant


@given(st.lists(st.sampled_from(TABLE.splitlines(keepends=True)), max_size=20))
def test_lines_of_a_table_in_any_order_raise_nothing_untyped(lines: list[bytes]) -> None:
    with contextlib.suppress(ReadError):
        _values_of(parse_table(b"".join(lines)))


_CELL = st.sampled_from(["N/A", "", "-1", "1e999", "99999999999999999999", "x16", "Gen", "on"])


@given(st.lists(_CELL | st.text(max_size=6), min_size=26, max_size=26))
def test_odd_cells_raise_nothing_and_nothing_is_below_zero(cells: list[str]) -> None:
    text = QUERY.splitlines(keepends=True)[0] + ", ".join(cells).encode() + b"\n"
    with contextlib.suppress(ReadError):
        assert all(value >= 0 for _, _, value in _values_of(parse_query(text)))


def test_a_query_without_bus_is_joined_by_its_index() -> None:
    lines = [line.split(b", ") for line in QUERY.splitlines()]
    without = b"\n".join(b", ".join((*cells[:1], *cells[2:])) for cells in lines) + b"\n"
    both = together(parse_query(without), parse_table(TABLE))
    assert [card.pci_bus_id for card in both.cards] == ["0000:33:00.0", "0000:9a:00.0"]
    assert both.cards[0].text("uuid") == "01P0-HL2080A0-15-TNBS01-03-07-04"


def test_a_query_that_names_no_card_gives_way_to_the_table() -> None:
    lines = [line.split(b", ") for line in QUERY.splitlines()]
    nameless = parse_query(b"\n".join(b", ".join(cells[2:]) for cells in lines) + b"\n")
    table = parse_table(TABLE)
    assert together(nameless, table) == table
    assert together(nameless, ToolOutput()).cards == nameless.cards
