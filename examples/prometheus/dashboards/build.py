"""Writes the Grafana dashboards beside this file from the tables in the board modules.

Run by hand after a change of a table: `python build.py`. With `--check` nothing is written; the
exit status is 1 when a JSON file differs from what the tables give.
"""

import json
import sys
from pathlib import Path
from typing import Any

import exporter
import fleet_totals
import job_pod
import node_device
from model import Board, Kind, Panel, Variable

import hub

Json = dict[str, Any]

BOARDS = (fleet_totals.BOARD, node_device.BOARD, job_pod.BOARD, exporter.BOARD, hub.BOARD)

HERE = Path(__file__).resolve().parent
# Of Grafana 11.0; newer Grafana versions migrate it when they load the board.
SCHEMA_VERSION = 39
DATASOURCE = {"type": "prometheus", "uid": "${datasource}"}
HEIGHTS = {Kind.STAT: 4, Kind.ROW: 1}
DEFAULT_HEIGHT = 8
GRID_WIDTH = 24
DASHED = {"lineStyle": {"fill": "dash", "dash": [10, 6]}, "lineWidth": 1, "fillOpacity": 0}


def selectors(expr: str, board: Board) -> str:
    """`expr` with the board's label matchers in the place of @device and @node."""
    node = 'job=~"$job", instance=~"$instance"'
    device = f'{node}, device=~"$device"' if board.per_device else node
    return expr.replace("@device", device).replace("@node", node)


def target(panel: Panel, index: int, board: Board) -> Json:
    """One query of a panel; tables and stats ask for a single point in time."""
    expr, legend = panel.queries[index]
    instant = panel.kind in (Kind.STAT, Kind.TABLE)
    return {
        "datasource": DATASOURCE,
        "editorMode": "code",
        "expr": selectors(expr, board),
        "format": "table" if panel.kind is Kind.TABLE else "time_series",
        "instant": instant,
        "legendFormat": legend or "__auto",
        "range": not instant,
        "refId": chr(ord("A") + index),
    }


def thresholds(panel: Panel) -> Json:
    """Green; red from the first one where a panel counts bad things."""
    steps: list[Json] = [{"color": "green", "value": None}]
    if panel.alarm:
        steps.append({"color": "red", "value": 1})
    return {"mode": "absolute", "steps": steps}


def field_config(panel: Panel) -> Json:
    """Unit, text for no data, scale and line style."""
    defaults: Json = {
        "unit": panel.unit,
        "noValue": panel.no_value,
        "color": {"mode": "thresholds" if panel.kind is Kind.STAT else "palette-classic"},
        "thresholds": thresholds(panel),
    }
    overrides: list[Json] = []
    if panel.kind is Kind.TIMESERIES:
        custom: Json = {"drawStyle": "line", "fillOpacity": 10, "showPoints": "never"}
        if panel.unit == "percentunit":
            defaults["min"] = 0
            custom["axisSoftMax"] = 1
        defaults["custom"] = custom
        matcher = {"id": "byRegexp", "options": "/(limit|max)$/"}
        properties = [{"id": f"custom.{key}", "value": value} for key, value in DASHED.items()]
        overrides.append({"matcher": matcher, "properties": properties})
    if panel.kind is Kind.TIMELINE:
        texts = {"0": {"text": "down", "color": "red"}, "1": {"text": "up", "color": "green"}}
        defaults["mappings"] = [{"type": "value", "options": texts}]
    return {"defaults": defaults, "overrides": overrides}


def options(panel: Panel) -> Json:
    """What each kind of panel needs beyond its fields."""
    legend = {"displayMode": "list", "placement": "bottom", "showLegend": True}
    tooltip = {"mode": "multi", "sort": "desc"}
    reduce = {"calcs": ["lastNotNull"], "fields": "", "values": False}
    by_kind: dict[Kind, Json] = {
        Kind.TIMESERIES: {"legend": legend, "tooltip": tooltip},
        Kind.STAT: {"reduceOptions": reduce, "colorMode": "value", "graphMode": "none"},
        Kind.TABLE: {"showHeader": True, "cellHeight": "sm"},
        Kind.HEATMAP: {
            "calculate": True,
            "calculation": {"yBuckets": {"mode": "count", "value": "10"}},
            "color": {"mode": "scheme", "scheme": "Spectral", "steps": 64, "reverse": True},
            "yAxis": {"unit": panel.unit, "min": "0", "max": "1"},
        },
        Kind.TIMELINE: {"mergeValues": True, "rowHeight": 0.9, "showValue": "never"},
    }
    return by_kind[panel.kind]


def panel_json(panel: Panel, board: Board) -> Json:
    """One panel without its place."""
    if panel.kind is Kind.ROW:
        return {"type": "row", "title": panel.title, "collapsed": False, "panels": []}
    body: Json = {
        "type": panel.kind.value,
        "title": panel.title,
        "description": panel.description,
        "datasource": DATASOURCE,
        "targets": [target(panel, index, board) for index in range(len(panel.queries))],
        "fieldConfig": field_config(panel),
        "options": options(panel),
    }
    if panel.kind is Kind.TABLE:
        hidden = {"excludeByName": {"Time": True}}
        body["transformations"] = [{"id": "organize", "options": hidden}]
    return body


def placed(board: Board) -> list[Json]:
    """The board's panels, laid out left to right in lines as high as their first panel."""
    result: list[Json] = []
    x = y = line = 0
    for number, panel in enumerate(board.panels, start=1):
        height = HEIGHTS.get(panel.kind, DEFAULT_HEIGHT)
        if x and (x + panel.width > GRID_WIDTH or height != line):
            x, y = 0, y + line
        grid = {"x": x, "y": y, "w": panel.width, "h": height}
        result.append({"id": number, "gridPos": grid} | panel_json(panel, board))
        x, line = x + panel.width, height
        if x >= GRID_WIDTH:
            x, y = 0, y + line
    return result


def variable_json(variable: Variable) -> Json:
    """A template variable filled by a label query; "All" is any value."""
    return {
        "name": variable.name,
        "label": variable.label,
        "type": "query",
        "datasource": DATASOURCE,
        "query": {"query": variable.query, "refId": variable.name},
        "definition": variable.query,
        "refresh": 2,
        "sort": 7,
        "multi": True,
        "includeAll": True,
        "allValue": ".+",
        "current": {"text": ["All"], "value": ["$__all"]},
    }


def board_json(board: Board) -> Json:
    """The whole dashboard, importable as it is."""
    source = {
        "name": "datasource",
        "label": "Data source",
        "type": "datasource",
        "query": "prometheus",
        "current": {},
    }
    return {
        "uid": f"accelwatch-{board.name}",
        "title": f"Accelerators / {board.title}",
        "description": board.description,
        "tags": ["accelwatch"],
        "schemaVersion": SCHEMA_VERSION,
        "version": 1,
        "editable": True,
        "graphTooltip": 1,
        "refresh": "30s",
        "timezone": "browser",
        "time": {"from": f"now-{board.span}", "to": "now"},
        "links": [
            {
                "title": "Accelerators",
                "type": "dashboards",
                "tags": ["accelwatch"],
                "asDropdown": True,
                "includeVars": True,
                "keepTime": True,
            }
        ],
        "annotations": {"list": []},
        "templating": {"list": [source, *map(variable_json, board.variables)]},
        "panels": placed(board),
    }


def rendered() -> dict[Path, str]:
    """Text of every dashboard by its file."""
    return {
        HERE / f"{board.name}.json": json.dumps(board_json(board), indent=2) + "\n"
        for board in BOARDS
    }


def main(arguments: list[str]) -> int:
    """Write the files, or with --check compare them; the exit status."""
    texts = rendered()
    if "--check" not in arguments:
        for path, text in texts.items():
            path.write_text(text, encoding="utf-8")
        return 0
    stale = [
        path.name
        for path, text in texts.items()
        if not path.exists() or path.read_text(encoding="utf-8") != text
    ]
    if stale:
        sys.stderr.write(f"out of date: {', '.join(stale)}; run python {Path(__file__).name}\n")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
