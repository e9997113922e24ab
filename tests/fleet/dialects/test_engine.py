"""The engine of the dialects' tables: one value from several samples, in base units, or why not."""

import math
from collections import Counter

import pytest

from accelwatch.base.absence import Absence
from accelwatch.exposition import Key
from accelwatch.fleet.dialects import ForeignReader
from accelwatch.fleet.dialects.base.table import (
    GIB,
    INT64_BLANK,
    KIB,
    MEGA,
    MIB,
    MICRO,
    MILLI,
    NANO,
    PERCENT,
    UNSCALED,
    Combine,
    FamilyMapping,
    Processes,
    ProcessRow,
    Scale,
)
from accelwatch.fleet.dialects.exporters.all_smi import ALL_SMI
from accelwatch.fleet.dialects.plans import family_names
from accelwatch.fleet.dialects.plans.family_names import cached_names
from accelwatch.fleet.dialects.plans.formulas import Formula, Term, evaluate, scaled
from accelwatch.fleet.dialects.plans.identity import first_value
from accelwatch.fleet.dialects.plans.plan import fits, left_out
from accelwatch.schema.reading import Number

BLANKS = {7.0: Absence.PERMISSION}


def term(slot: int, scale: Scale = UNSCALED, *, optional: bool = False) -> Term:
    """A sample that may be between 0 and 100 in the exporter's unit."""
    return Term(slot, *scale, 0.0, 100.0, optional)


def formula(
    *terms: Term,
    combine: Combine = Combine.FIRST,
    states: dict[float, str | None] | None = None,
    strict: bool = False,
    flag: bool = False,
    equals: float | None = None,
) -> Formula:
    return Formula(terms, combine, states or {}, strict, flag, equals)


def value(source: Formula, *numbers: Number) -> object:
    return evaluate(source, numbers, BLANKS, Counter())


@pytest.mark.parametrize(
    ("scale", "raw", "base"),
    [
        (UNSCALED, 8, 8),
        (PERCENT, 29, 0.29),
        (MILLI, 5, 0.005),
        (MICRO, 250_000, 0.25),
        (NANO, 2_000_000_000, 2.0),
        (MEGA, 1980, 1_980_000_000),
        (KIB, 3, 3072),
        (MIB, 3, 3_145_728),
        (GIB, 3, 3_221_225_472),
    ],
)
def test_numbers_come_into_base_units_and_whole_ones_stay_whole(
    scale: Scale, raw: Number, base: Number
) -> None:
    found = scaled(raw, *scale)
    assert found == base
    assert type(found) is type(base)
    assert value(formula(term(0, scale)), min(raw, 100)) == scaled(min(raw, 100), *scale)


def test_no_factor_makes_no_copy_of_a_number() -> None:
    """A product with 1 would turn a flag into a number and is paid for at every sample."""
    assert scaled(True, 1, 1) is True


@pytest.mark.parametrize(
    ("combine", "expected"),
    [
        (Combine.FIRST, 10),
        (Combine.SUM, 60),
        (Combine.MEAN, 20.0),
        (Combine.MAX, 30),
        (Combine.COUNT, 3),
    ],
)
def test_several_samples_are_combined(combine: Combine, expected: Number) -> None:
    terms = (term(1), term(0), term(2))
    assert value(formula(*terms, combine=combine), 20, 10, 30) == expected


@pytest.mark.parametrize(
    ("raw", "absence", "reason"),
    [
        (-0.1, Absence.ERROR, "implausible"),
        (100.1, Absence.ERROR, "implausible"),
        (7.0, Absence.PERMISSION, "blank"),
        (math.nan, Absence.ERROR, "not_finite"),
        (math.inf, Absence.ERROR, "not_finite"),
        (INT64_BLANK, Absence.UNSUPPORTED, "blank"),
        (INT64_BLANK * 2, Absence.UNSUPPORTED, "blank"),
        (INT64_BLANK / 2, Absence.ERROR, "implausible"),
    ],
)
def test_a_number_that_cannot_be_is_absent_and_counted(
    raw: float, absence: Absence, reason: str
) -> None:
    rejected: Counter[str] = Counter()
    source = formula(term(0))
    for times in (1, 2):
        assert evaluate(source, (raw,), BLANKS, rejected) is absence
        assert rejected == {reason: times}
    for bound in (0.0, 100.0):
        assert evaluate(source, (bound,), BLANKS, Counter()) == bound


def test_samples_without_a_value_are_left_out_where_nothing_needs_them() -> None:
    source = formula(term(0), term(1), combine=Combine.SUM)
    assert value(source, 7.0, 20.0) == 20.0
    assert value(source, 20.0, 7.0) == 20.0
    assert value(source, -1.0, 7.0) is Absence.PERMISSION


def test_a_sum_of_a_group_needs_all_but_its_optional_parts() -> None:
    source = formula(
        term(0, MIB), term(1, KIB), term(2, optional=True), combine=Combine.SUM, strict=True
    )
    assert value(source, 1, 2, 3) == (1 << 20) + (2 << 10) + 3
    assert value(source, 1, 2, -1) == (1 << 20) + (2 << 10)
    assert value(source, 7.0, -1, 3) is Absence.PERMISSION
    assert value(source, 1, 7.0, 3) is Absence.PERMISSION
    nothing = formula(term(0, optional=True), combine=Combine.SUM, strict=True)
    assert value(nothing, -1) is Absence.ERROR


@pytest.mark.parametrize(("size", "used", "free"), [(50, 20, 30), (20, 20, 0)])
def test_a_part_of_a_group_with_a_negative_scale_is_taken_away(
    size: int, used: int, free: int
) -> None:
    source = formula(term(0), term(1, (-1, 1)), combine=Combine.SUM, strict=True)
    assert value(source, size, used) == free
    assert value(source, used - 1, size) is Absence.ERROR


def test_a_state_is_a_word() -> None:
    source = formula(term(0), states={0.0: "ok", 1.0: None})
    assert value(source, 0) == "ok"
    assert value(source, 1) is Absence.UNSUPPORTED
    assert value(source, 3) == "3"
    assert value(source, 2.5) == "2.5"


@pytest.mark.parametrize(("raw", "expected"), [(0, 0), (1, 1), (2, 1), (0.5, 1)])
def test_a_flag_is_any_number_but_nothing(raw: Number, expected: int) -> None:
    assert value(formula(term(0, MIB), flag=True), raw) == expected


@pytest.mark.parametrize(("raw", "expected"), [(0, 0), (1, 0), (2, 1), (3, 0)])
def test_one_number_can_be_the_one_that_counts(raw: Number, expected: int) -> None:
    assert value(formula(term(0, MIB), equals=2.0), raw) == expected


@pytest.mark.parametrize(
    ("must", "may", "expected"),
    [
        ((1, 0), (0, 0), 1),
        ((0, 1), (0, 0), 1),
        ((0, 0), (0, 0), 0),
        ((1, 1), (1, 0), 0),
        ((1, 1), (0, 1), 0),
        ((1, 0), (5, 0), 1),
        ((1, 2), (0, 0), Absence.ERROR),
        ((-1, 1), (0, 0), Absence.ERROR),
        ((1, 2), (1, 0), Absence.ERROR),
    ],
)
def test_what_stands_alone_is_not_explained_by_anything_else(
    must: tuple[int, int], may: tuple[int, int], expected: object
) -> None:
    terms = (term(0), term(1), term(2, optional=True), term(3, optional=True))
    assert value(formula(*terms, combine=Combine.ALONE), *must, *may) == expected


KEY = Key("family", ("gpu", "unit", "pod"), ("0", "SM", " n/a "))


def test_a_sample_fits_when_each_label_has_a_requested_value() -> None:
    assert fits({}, KEY)
    assert fits({"gpu": ("1", "0")}, KEY)
    assert not fits({"gpu": ("1",)}, KEY)
    assert not fits({"gpu": ("0",), "unit": ("sm",)}, KEY)
    assert not fits({"unit": ("sm",), "gpu": ("0",)}, KEY)
    assert fits({"missing": ("", "x")}, KEY)
    assert not fits({"missing": ("x",)}, KEY)


def test_a_sample_is_left_out_by_the_whole_value_of_any_label() -> None:
    def left(**without: str) -> bool:
        return left_out(FamilyMapping(name="family", target="x", without=without), KEY)

    assert not left()
    assert left(unit="S.")
    assert not left(unit="S")
    assert left(gpu="1", unit="SM")
    assert left(unit="SM", gpu="1")


@pytest.mark.parametrize(
    "text",
    ["", " ", "N/A", "[n/a]", "Unknown", "none", "NULL", "[Not Supported]", "[unknown error]"],
)
def test_a_label_that_says_nothing_is_passed_over(text: str) -> None:
    key = Key("family", ("first", "second"), (text, " x "))
    assert first_value(key, ("first", "second")) == "x"
    assert first_value(key, ("second", "first")) == "x"
    assert first_value(key, ("first", "third")) == ""
    assert first_value(key, ()) == ""


def test_the_families_about_processes_are_named_once() -> None:
    rows = tuple(ProcessRow(name=name, field="pid") for name in ("memory", "time", "memory"))
    assert Processes(rows=rows, info="info").families() == ("memory", "time", "info")
    assert Processes(rows=rows).families() == ("memory", "time")


def test_what_names_mean_is_worked_out_once_for_a_dialect_and_each_time_for_a_targets_prefix() -> (
    None
):
    assert cached_names(ALL_SMI, "") is cached_names(ALL_SMI, "")
    assert cached_names(ALL_SMI, "a_") is not cached_names(ALL_SMI, "a_")
    named = cached_names(ALL_SMI, "a_")
    assert "a_all_smi_gpu_utilization" in named.rows
    assert "a_all_smi_gpu_info" in named.identity
    assert "a_all_smi_npu_status" in named.remarks
    assert "a_all_smi_gpu_mig_mode" in named.facts
    assert "a_all_smi_process_cpu_percent" in named.processes
    assert named.of_devices >= {*named.rows, *named.identity, *named.remarks, *named.facts}


def test_nothing_is_kept_of_the_pages_that_are_read() -> None:
    page = 'all_smi_gpu_utilization{gpu="A",gpu_index="0"} 1\nall_smi_cpu_utilization 5\n'
    before = None
    for _ in range(3):
        assert len(ForeignReader().read(page, 1.0).devices) == 1
        assert before in (None, len(family_names._kept))
        before = len(family_names._kept)
