"""The tests inside rule files: what passes, what fails, and what is no test."""

import re
from pathlib import Path

import pytest

from accelwatch.alerting.rules.loading.rule_files import load
from accelwatch.alerting.rules.testing.rule_tests import run
from accelwatch.alerting.rules.testing.series_script import values_of
from accelwatch.base.errors import ConfigError

DOCS = Path(__file__).parents[3] / "docs" / "rules.md"
HOT = """\
version: 1
rules:
- id: test.hot
  title: Too hot
  when: temperature_celsius > 90
  for: 20s
  keep: 30s
  tests:
  - name: case
"""


def failures(folder: Path, case: str, rule: str = HOT) -> tuple[str, ...]:
    file = folder / "rules.yaml"
    file.write_text(rule + "".join(f"    {line}\n" for line in case.splitlines()), encoding="utf-8")
    (result,) = run(next(iter(load([file]).rules.values())))
    assert (result.rule, result.test) == ("test.hot", "case")
    return result.failures


WARM = 'given: [{device: nvidia0, values: {temperature_celsius: "60 x3, 95 x9, 60 x9"}}]\n'


@pytest.mark.parametrize(
    ("expect", "message"),
    [
        ("{fires: {nvidia0: 50s}}", ()),
        ("{fires: {nvidia0: 50s}, clears: {nvidia0: 150s}}", ()),
        ("{fires: {nvidia0: 40s}}", ("nvidia0 fires at 50 s; expected at 40 s",)),
        ("{fires: {nvidia0: 60s}}", ("nvidia0 fires at 50 s; expected at 60 s",)),
        ("{fires: {nvidia0: 45s}}", ()),
        ("{fires: {}}", ("nvidia0 fires at 50 s; expected never",)),
        (
            "{fires: {nvidia1: 50s}}",
            (
                "nvidia1 never fires; expected at 50 s",
                "nvidia0 fires at 50 s; expected never",
            ),
        ),
        (
            "{fires: {nvidia0: 50s}, clears: {}}",
            ("nvidia0 clears at 150 s; expected never",),
        ),
    ],
)
def test_what_fires_is_compared_with_what_is_expected(
    tmp_path: Path, expect: str, message: tuple[str, ...]
) -> None:
    assert failures(tmp_path, WARM + f"expect: {expect}") == message


def test_missing_values_fire_nothing(tmp_path: Path) -> None:
    given = 'given: [{device: nvidia0, values: {temperature_celsius: "95 x2, _ x9"}}]\n'
    assert failures(tmp_path, given + "expect: {fires: {}}") == ()


def test_entities_of_other_nodes_have_their_nodes_name(tmp_path: Path) -> None:
    case = (
        'given: [{node: "n[2-3]", device: nvidia0, values: {temperature_celsius: 95 x9}}]\n'
        'expect: {fires: {"n[2-3]/nvidia0": 20s}}'
    )
    assert failures(tmp_path, case) == ()


def test_events_are_part_of_a_world(tmp_path: Path) -> None:
    rule = HOT.replace("temperature_celsius > 90", '\'event("xid", code == 79, within="1m")\'')
    given = "given: [{device: nvidia0, events: [{at: 25s, code: xid_79}]}]\n"
    assert failures(tmp_path, given + "expect: {fires: {nvidia0: 50s}}", rule) == ()
    other = given.replace("xid_79", "xid_13")
    assert failures(tmp_path, other + "expect: {fires: {}}", rule) == ()
    forged = given.replace("xid_79", "xid_79, trusted: false")
    assert failures(tmp_path, forged + "expect: {fires: {}}", rule) == ()
    old = given.replace("xid_79", "xid_79, age: 2m")
    assert failures(tmp_path, old + "expect: {fires: {}}", rule) == ()
    recent = given.replace("xid_79", "xid_79, age: 10s")
    assert failures(tmp_path, recent + "expect: {fires: {nvidia0: 50s}}", rule) == ()


@pytest.mark.parametrize(
    ("case", "message"),
    [
        ("expect: {fires: {}}", "given: there is no device or node"),
        (WARM, "expect: {fires: {name: time}}, and clears likewise"),
        (WARM + "expect: {clears: {}}", "expect: {fires: {name: time}}"),
        (WARM + "expect: {fire: {}}", "expect: {fires: {name: time}}"),
        (WARM + "expect: {fires: 3}", "expect.fires: a mapping of names to times"),
        (WARM + "expect: {fires: {nvidia0: soon}}", "'soon' is not a valid duration"),
        (WARM + "every: 0s\nexpect: {fires: {}}", "every: a time above 0, at most an hour"),
        (WARM + "every: 2h\nexpect: {fires: {}}", "every: a time above 0, at most an hour"),
        (
            "given: [{device: a, values: {temprature_celsius: 1}}]\nexpect: {fires: {}}",
            "given[0]: unknown name temprature_celsius",
        ),
        (
            "given: [{device: a, values: {vendor: 1}}]\nexpect: {fires: {}}",
            "given[0]: values: vendor is not a series",
        ),
        (
            "given: [{device: a, values: {power_watts: 3 y}}]\nexpect: {fires: {}}",
            "given[0]: '3 y' is not understood",
        ),
        ("given: [{device: a}, {device: a}]\nexpect: {fires: {}}", "given[1]: n1/a is given twice"),
        ("given: [{device: a, job: true}]\nexpect: {fires: {}}", "given[0]: job: text or a number"),
    ],
)
def test_what_is_no_test_fails_and_says_why(tmp_path: Path, case: str, message: str) -> None:
    (failure,) = failures(tmp_path, case)
    assert message in failure


@pytest.mark.parametrize(
    ("written", "values"),
    [
        (5, [5.0]),
        (0.5, [0.5]),
        ("600 x3", [600.0] * 3),
        ("1 x2, _ x2,3", [1.0, 1.0, None, None, 3.0]),
        ("0+5 x4", [0.0, 5.0, 10.0, 15.0]),
        ("-1-1x2", [-1.0, -2.0]),
        ("1e3+.5 x2", [1000.0, 1000.5]),
        ("7 x0", []),
    ],
)
def test_series_are_written_shortly(written: object, values: list[float | None]) -> None:
    assert values_of(written) == values


@pytest.mark.parametrize("written", [True, None, [], "", "a", "1 x", "_+1 x3", "1,,2", "1 x99999"])
def test_what_is_no_series_is_refused(written: object) -> None:
    with pytest.raises(ConfigError):
        values_of(written)


def test_the_example_of_the_documentation_passes(tmp_path: Path) -> None:
    example = re.findall(r"```yaml\n(version: 1.*?)```", DOCS.read_text(encoding="utf-8"), re.S)[0]
    file = tmp_path / "rules.yaml"
    file.write_text(example, encoding="utf-8")
    (rule,) = load([file]).rules.values()
    results = list(run(rule))
    assert [one.failures for one in results] == [(), (), ()]


@pytest.mark.parametrize("vendor", ["huawei", "ascend"])
def test_a_rule_with_the_old_name_of_a_vendor_fires_and_its_test_passes(
    tmp_path: Path, vendor: str
) -> None:
    rule = HOT.replace("  for: 20s\n", "  for: 20s\n  select: {vendor: huawei}\n")
    given = f"given: [{{device: npu0, vendor: {vendor}, values: {{temperature_celsius: 95 x9}}}}]\n"
    assert failures(tmp_path, given + "expect: {fires: {npu0: 20s}}", rule) == ()
