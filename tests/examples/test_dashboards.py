"""The dashboards are current, valid PromQL throughout, and follow the rules of dashboard linters."""

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

Promtool = Callable[..., str]
Dashboards = dict[str, dict[str, Any]]

# Panel types that current Grafana draws itself; the old graph and singlestat are not among them.
TYPES = {"timeseries", "stat", "table", "heatmap", "state-timeline", "row"}
TIMES = {"$__rate_interval": "5m", "$__range": "1h"}


def panels(dashboards: Dashboards) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every panel that shows data, with a name for messages."""
    for name, board in dashboards.items():
        for panel in board["panels"]:
            if panel["type"] != "row":
                yield f"{name}: {panel['title']}", panel


def expressions(dashboards: Dashboards) -> list[tuple[str, str]]:
    return [(name, t["expr"]) for name, panel in panels(dashboards) for t in panel["targets"]]


def without_variables(expr: str) -> str:
    for variable, value in TIMES.items():
        expr = expr.replace(variable, value)
    return re.sub(r"\$\w+|\$\{\w+\}", "x", expr)


def build(examples: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    script = examples / "prometheus/dashboards/build.py"
    command = [sys.executable, "-B", str(script), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_files_are_current(examples: Path) -> None:
    done = build(examples, "--check")
    assert done.returncode == 0, done.stderr


def test_a_stale_file_is_noticed(examples: Path, tmp_path: Path) -> None:
    source = examples / "prometheus" / "dashboards"
    for file in source.iterdir():
        if file.is_file():
            (tmp_path / file.name).write_bytes(file.read_bytes())
    (tmp_path / "fleet.json").write_text("{}", encoding="utf-8")
    command = [sys.executable, "-B", str(tmp_path / "build.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert "fleet.json" in done.stderr
    assert "exporter.json" not in done.stderr


def test_the_five_boards_are_there(dashboards: Dashboards) -> None:
    assert set(dashboards) == {"fleet", "node-device", "job-pod", "exporter", "hub"}
    assert len({board["uid"] for board in dashboards.values()}) == 5


def test_expressions_are_valid(dashboards: Dashboards, promtool: Promtool, tmp_path: Path) -> None:
    rules = [
        {"record": f"check:query:{number}", "expr": without_variables(expr)}
        for number, (_, expr) in enumerate(expressions(dashboards))
    ]
    assert len(rules) > 50
    file = tmp_path / "queries.yml"
    file.write_text(yaml.safe_dump({"groups": [{"name": "queries", "rules": rules}]}), "utf-8")
    assert f"{len(rules)} rules found" in promtool("check", "rules", file)


def test_every_selector_follows_job_and_node(dashboards: Dashboards) -> None:
    for name, expr in expressions(dashboards):
        families = re.findall(r"\b(?:accel_\w+|\w+:accel_\w+:\w+|up|scrape_\w+)\b\{?", expr)
        assert families, name
        assert expr.count('job=~"$job", instance=~"$instance"') == len(families), (name, expr)


def test_every_board_has_panels_that_ask(dashboards: Dashboards) -> None:
    """So that the tests of every panel and expression have something to look at."""
    for name, board in dashboards.items():
        assert expressions({name: board}), name


def test_device_board_follows_the_chosen_device(dashboards: Dashboards) -> None:
    for name, expr in expressions({"node-device": dashboards["node-device"]}):
        assert expr.count('instance=~"$instance"') == expr.count('device=~"$device"'), name


def test_rates_follow_the_scrape_interval(dashboards: Dashboards) -> None:
    for name, expr in expressions(dashboards):
        windows = re.findall(r"\brate\([^\[\]]*\[([^\]]+)\]", expr)
        assert set(windows) <= {"$__rate_interval"}, name


@pytest.mark.parametrize("variable", ["datasource", "job", "instance"])
def test_boards_choose_source_job_and_node(dashboards: Dashboards, variable: str) -> None:
    for name, board in dashboards.items():
        kinds = {v["name"]: v["type"] for v in board["templating"]["list"]}
        assert kinds[variable] == ("datasource" if variable == "datasource" else "query"), name


def test_every_variable_in_use_is_defined(dashboards: Dashboards) -> None:
    for name, board in dashboards.items():
        defined = {v["name"] for v in board["templating"]["list"]}
        used = set(re.findall(r"\$\{?(\w+)", json.dumps(board["panels"])))
        assert {v for v in used if not v.startswith("__")} <= defined, name


def test_panels_say_what_they_show(dashboards: Dashboards) -> None:
    for name, panel in panels(dashboards):
        defaults = panel["fieldConfig"]["defaults"]
        assert panel["type"] in TYPES, name
        assert panel["title"], name
        assert panel["description"].endswith("."), name
        assert defaults["unit"], name
        assert "no" in defaults["noValue"], name
        assert panel["datasource"]["uid"] == "${datasource}", name


def test_boards_are_of_the_current_schema(dashboards: Dashboards) -> None:
    assert {board["schemaVersion"] for board in dashboards.values()} == {39}


def test_panels_have_their_own_position_and_number(dashboards: Dashboards) -> None:
    for name, board in dashboards.items():
        ids = [panel["id"] for panel in board["panels"]]
        assert len(ids) == len(set(ids)), name
        cells: set[tuple[int, int]] = set()
        for panel in board["panels"]:
            grid = panel["gridPos"]
            covered = {
                (x, y)
                for x in range(grid["x"], grid["x"] + grid["w"])
                for y in range(grid["y"], grid["y"] + grid["h"])
            }
            assert grid["x"] + grid["w"] <= 24, name
            assert not covered & cells, (name, panel["title"])
            cells |= covered


def test_no_board_lists_models(dashboards: Dashboards) -> None:
    text = json.dumps(dashboards)
    assert re.findall(r"\b(H100|A100|MI300\w*|Gaudi\d?|B200)\b", text) == []
