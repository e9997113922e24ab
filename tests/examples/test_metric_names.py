"""Rules and dashboards ask only for families that exist, by labels that these carry."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from accelwatch.schema.catalogue.lookup import by_key
from accelwatch.schema.metrics import PREFIX, Kind, Metric, Scope

STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
LABEL_LIST = re.compile(r"\b(?:by|without|on|ignoring|group_left|group_right)\s*\([^)]*\)")
RANGE = re.compile(r"\[[^\]]*\]")
SELECTOR = re.compile(r"(?<![\w:.])([A-Za-z_:][\w:]*+)(?!\s*\()\s*(\{[^}]*\})?")
WORDS = {"and", "or", "unless", "bool", "offset"}
# What Prometheus itself records of each scrape.
SCRAPE_FAMILIES = {"up", "scrape_duration_seconds", "scrape_samples_scraped"}
TARGET_LABELS = {"job", "instance"}
SCOPE_LABELS = {
    Scope.DEVICE: {"vendor", "device", "uuid"},
    Scope.VENDOR: {"vendor"},
    Scope.NODE: set[str](),
}


def selectors(expr: str) -> Iterator[tuple[str, set[str]]]:
    """Each metric that `expr` selects, with the label names it is matched on."""
    bare = LABEL_LIST.sub(" ", RANGE.sub(" ", STRING.sub('""', expr)))
    for name, matchers in SELECTOR.findall(bare):
        if name not in WORDS:
            yield name, set(re.findall(r"(\w+)\s*(?:=|!)", matchers))


@pytest.mark.parametrize(
    ("expr", "expected"),
    [
        ("up", [("up", set())]),
        ('rate(a_total{x="not{b}", y!~"z"}[5m]) > 0.1', [("a_total", {"x", "y"})]),
        ("sum by (q) (a) / on (i, u) group_left () b:c:d", [("a", set()), ("b:c:d", set())]),
        ("time() - a < bool 120 unless on (u) b == 1e9", [("a", set()), ("b", set())]),
    ],
)
def test_reader_of_expressions(expr: str, expected: list[tuple[str, set[str]]]) -> None:
    assert list(selectors(expr)) == expected


def rules(examples: Path) -> list[dict[str, Any]]:
    files = sorted((examples / "prometheus" / "rules").glob("*.yml"))
    return [
        rule
        for file in files
        for group in yaml.safe_load(file.read_text(encoding="utf-8"))["groups"]
        for rule in group["rules"]
    ]


def row_of(family: str) -> Metric | None:
    """The catalogue's row of a family, the parts of a histogram included."""
    rows = by_key()
    key = family.removeprefix(PREFIX)
    if key in rows and family != key:
        return rows[key]
    whole = rows.get(re.sub(r"_(bucket|sum|count)$", "", key))
    return whole if whole is not None and whole.kind is Kind.HISTOGRAM else None


def labels_of(row: Metric) -> set[str]:
    le = {"le"} if row.kind is Kind.HISTOGRAM else set[str]()
    return {*row.labels, *SCOPE_LABELS[row.scope], *TARGET_LABELS, *le}


def faults(expr: str, recorded: set[str]) -> list[str]:
    found = []
    for name, labels in selectors(expr):
        row = row_of(name)
        if row is not None:
            found += [f"{name} has no label {label}" for label in sorted(labels - labels_of(row))]
        elif name not in recorded | SCRAPE_FAMILIES:
            found.append(f"{name} is neither in the catalogue nor recorded")
    return found


def test_rules_use_existing_families(examples: Path) -> None:
    all_rules = rules(examples)
    recorded = {rule["record"] for rule in all_rules if "record" in rule}
    assert [fault for rule in all_rules for fault in faults(rule["expr"], recorded)] == []


def test_dashboards_use_existing_families(
    examples: Path, dashboards: dict[str, dict[str, Any]]
) -> None:
    recording = yaml.safe_load((examples / "prometheus/rules/recording.yml").read_text("utf-8"))
    recorded = {rule["record"] for group in recording["groups"] for rule in group["rules"]}
    found = [
        f"{name}: {fault}"
        for name, board in dashboards.items()
        for panel in board["panels"]
        for target in panel.get("targets", [])
        for fault in faults(target["expr"], recorded)
    ]
    assert found == []


def test_dashboard_variables_use_existing_families(dashboards: dict[str, dict[str, Any]]) -> None:
    for board in dashboards.values():
        for variable in board["templating"]["list"]:
            if variable["type"] == "query":
                query = re.fullmatch(r"label_values\((.+), (\w+)\)", variable["definition"])
                assert query is not None
                ((name, _),) = selectors(query[1])
                row = row_of(name)
                assert row is not None
                assert query[2] in labels_of(row)
                assert faults(query[1], set()) == []


def test_an_unknown_family_or_label_is_found() -> None:
    assert faults("accel_bogus_ratio", set()) == [
        "accel_bogus_ratio is neither in the catalogue nor recorded"
    ]
    assert faults('accel_power_watts{limit="max"}', set()) == [
        "accel_power_watts has no label limit"
    ]
