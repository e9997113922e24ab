"""promtool accepts configuration and rules, and every alert is shown to fire and to stay silent."""

import re
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

Promtool = Callable[..., str]

ALERTS = ("alerts", "hub_alerts", "remedy_alerts")
RULES = (*ALERTS, "recording", "compat_accelerator", "compat_dcgm")
TESTS = (
    "agent_alerts",
    "annotations",
    "compat",
    "health_alerts",
    "hub_alerts",
    "performance_alerts",
    "presence_alerts",
    "recording",
    "remedy_alerts",
)


def alerts(examples: Path) -> list[dict[str, Any]]:
    texts = [(examples / f"prometheus/rules/{name}.yml").read_text("utf-8") for name in ALERTS]
    groups = [group for text in texts for group in yaml.safe_load(text)["groups"]]
    return [rule for group in groups for rule in group["rules"]]


def test_lists_above_are_complete(examples: Path) -> None:
    rules = examples / "prometheus" / "rules"
    assert {file.stem for file in rules.glob("*.yml")} == set(RULES)
    assert {file.stem for file in (rules / "tests").glob("*.yml")} == {
        f"{name}_test" for name in TESTS
    }


@pytest.mark.parametrize("name", RULES)
def test_check_rules(examples: Path, promtool: Promtool, name: str) -> None:
    assert "SUCCESS" in promtool("check", "rules", examples / f"prometheus/rules/{name}.yml")


@pytest.mark.parametrize("name", TESTS)
def test_unit_tests_of_rules(examples: Path, promtool: Promtool, name: str) -> None:
    file = examples / f"prometheus/rules/tests/{name}_test.yml"
    assert "SUCCESS" in promtool("test", "rules", file)


def test_check_config(examples: Path, promtool: Promtool) -> None:
    assert "SUCCESS" in promtool("check", "config", examples / "prometheus/prometheus.yml")


def test_check_config_with_every_variant(
    examples: Path, promtool: Promtool, tmp_path: Path
) -> None:
    """The jobs that are commented out are valid too; the files they name need not exist."""
    lines = []
    inside = False
    for line in (examples / "prometheus/prometheus.yml").read_text("utf-8").splitlines():
        inside = line.startswith("  #") and (inside or line.startswith("  # - job_name"))
        lines.append("  " + line[4:] if inside else line)
    config = tmp_path / "prometheus.yml"
    config.write_text("\n".join(lines), encoding="utf-8")
    jobs = yaml.safe_load("\n".join(lines))["scrape_configs"]
    assert len(jobs) == 5
    assert "SUCCESS" in promtool("check", "config", "--syntax-only", config)


def test_of_a_large_job_twenty_nodes_gone_are_many_and_three_are_not(
    examples: Path, promtool: Promtool, tmp_path: Path
) -> None:
    gone = {"accel-few": 3, "accel-many": 20}
    series = [
        {
            "series": f'up{{instance="n{number}", job="{job}"}}',
            "values": "1x5 0x10" if number < count else "1x15",
        }
        for job, count in gone.items()
        for number in range(250)
    ]
    fires = {
        "labels": 'ALERTS{alertname="AcceleratorManyExportersDown", alertstate="firing", '
        'job="accel-many", severity="critical"}',
        "value": 1,
    }
    case = {
        "expr": 'ALERTS{alertname="AcceleratorManyExportersDown", alertstate="firing"}',
        "eval_time": "10m",
        "exp_samples": [fires],
    }
    document = {
        "rule_files": [str(examples / "prometheus/rules/alerts.yml")],
        "evaluation_interval": "1m",
        "tests": [{"interval": "1m", "input_series": series, "promql_expr_test": [case]}],
    }
    file = tmp_path / "large_test.yml"
    file.write_text(yaml.safe_dump(document), encoding="utf-8")
    assert "SUCCESS" in promtool("test", "rules", file)


def test_scrape_jobs_match_the_alert_on_a_silent_agent(examples: Path) -> None:
    config = yaml.safe_load((examples / "prometheus/prometheus.yml").read_text("utf-8"))
    assert all("accel" in job["job_name"] for job in config["scrape_configs"])


def test_secrets_are_read_from_files(examples: Path) -> None:
    text = (examples / "prometheus/prometheus.yml").read_text("utf-8")
    assert re.findall(r"^[\s#]*(?:password|credentials|bearer_token):", text, re.MULTILINE) == []


def test_every_alert_says_what_and_what_to_do(examples: Path) -> None:
    for rule in alerts(examples):
        assert rule["labels"]["severity"] in {"critical", "warning", "info"}, rule["alert"]
        assert set(rule["annotations"]) == {"summary", "description", "action"}, rule["alert"]
        assert all(len(text) > 20 for text in rule["annotations"].values()), rule["alert"]
        assert len(rule["annotations"]["summary"]) < 120, rule["alert"]


def test_every_alert_has_a_firing_and_a_silent_case(examples: Path) -> None:
    cases: dict[str, set[bool]] = defaultdict(set)
    for file in (examples / "prometheus/rules/tests").glob("*_alerts_test.yml"):
        for group in yaml.safe_load(file.read_text("utf-8"))["tests"]:
            for case in group["promql_expr_test"]:
                name = re.fullmatch(r'ALERTS\{alertname="(\w+)".*\}', case["expr"])
                assert name is not None, case["expr"]
                cases[name[1]].add(bool(case["exp_samples"]))
    assert cases == {rule["alert"]: {True, False} for rule in alerts(examples)}
