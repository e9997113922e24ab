"""`accelwatch rules export` as somebody types it."""

import json
import stat
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from accelwatch.cli.startup.app import build

RULES = """\
version: 1
rules:
- id: site.hot
  title: Too hot
  when: avg(temperature_celsius, "5m") > 90 and node == "n1"
- id: site.age
  title: Old
  when: age(power_watts) > 60
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "rules.yaml"
    path.write_text(RULES, encoding="utf-8")
    return path


def run(*words: object) -> tuple[int, str, str]:
    result = CliRunner().invoke(build(), ["rules", "export", *map(str, words)])
    return result.exit_code, result.stdout, result.stderr or str(result.exception or "")


def test_the_rules_are_on_stdout_and_the_reasons_on_stderr(file: Path) -> None:
    code, text, errors = run(file)
    assert code == 0
    (group,) = yaml.safe_load(text)["groups"]
    assert group["name"] == "accelwatch rules"
    (rule,) = group["rules"]
    assert rule["alert"] == "site.hot"
    assert 'instance="n1"' in rule["expr"]
    assert rule["keep_firing_for"] == "2m"
    assert "# site.age is not here: PromQL cannot say" in text
    assert "site.age is not exported: PromQL cannot say" in errors
    assert "1 of 2 rules exported" in errors


def test_a_file_is_written_for_whom_it_is_meant(file: Path, tmp_path: Path) -> None:
    path = tmp_path / "out.yml"
    code, text, _ = run(file, "-o", path, "--mode", "0644")
    assert (code, text) == (0, "")
    assert "site.hot" in path.read_text()
    assert stat.S_IMODE(path.stat().st_mode) == 0o644


def test_options_of_an_export_change_its_rules(file: Path) -> None:
    often = ("--scrape-interval", "15s", "--node-label", "node", "--no-keep-firing-for")
    _, text, _ = run(file, *often)
    assert "count_over_time" in text
    assert ">= 10" in text
    assert 'node="n1"' in text
    assert "keep_firing_for" not in text


def test_json_has_a_row_for_each_rule(file: Path) -> None:
    code, text, _ = run(file, "--json")
    assert code == 0
    hot, age = json.loads(text)
    assert (hot["rule"], hot["reason"], hot["for_s"]) == ("site.hot", None, 0)
    assert hot["expr"].startswith("(")
    assert (age["rule"], "expr" in age) == ("site.age", False)
    assert "how long ago" in age["reason"]


def test_a_pack_is_exported_by_its_name() -> None:
    code, text, _ = run("-p", "host")
    assert code == 0
    assert [group["name"] for group in yaml.safe_load(text)["groups"]] == ["accelwatch host"]


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("--scrape-interval", "0s"), "--scrape-interval is above 0"),
        (("--scrape-interval", "2h"), "--scrape-interval is above 0 and at most an hour"),
        (("--node-label", "no-de"), "is not a valid Prometheus label"),
        (("--node-label", "nöde"), "is not a valid Prometheus label"),
        (("--mode", "0644"), "--mode goes with --output"),
        (("-o", "/nowhere/x"), "cannot write to /nowhere"),
    ],
)
def test_what_makes_no_sense_is_refused(file: Path, words: tuple[str, ...], reason: str) -> None:
    code, _, errors = run(file, *words)
    assert code != 0
    assert reason in errors
