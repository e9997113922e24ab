"""The published schema of rule files: current, and of one mind with the loader."""

import json
from pathlib import Path

import jsonschema_rs
import pytest
import yaml

from accelwatch.alerting.rules.loading.json_schema import rule_file_schema
from accelwatch.alerting.rules.loading.rule_files import load
from accelwatch.base.errors import ConfigError

PUBLISHED = Path(__file__).parents[3] / "docs" / "rules.schema.json"
RULE = {"id": "test.hot", "title": "Too hot", "when": "temperature_celsius > 90"}


def test_the_published_schema_is_current() -> None:
    published = json.loads(PUBLISHED.read_text(encoding="utf-8"))
    assert published == rule_file_schema(), "run: python docs/build_rules_schema.py"


def loads(folder: Path, document: object) -> bool:
    file = folder / "rules.yaml"
    file.write_text(yaml.safe_dump(document), encoding="utf-8")
    try:
        load([file])
    except ConfigError:
        return False
    return True


@pytest.mark.parametrize(
    ("document", "valid"),
    [
        ({"version": 1}, True),
        ({"version": 1, "rules": [RULE]}, True),
        ({"version": 1, "rules": [{**RULE, "mode": False, "for": "5m", "keep": 3}]}, True),
        ({"version": 1, "rules": [{**RULE, "select": {"vendor": ["amd", "intel"]}}]}, True),
        ({"version": 1, "rules": [{**RULE, "select": 'vendor == "amd"'}]}, True),
        ({"version": 1, "rules": [{**RULE, "action": {"remedy": ["reboot"]}}]}, True),
        ({"version": 1, "rules": [{**RULE, "group": {"by": "rack"}, "canary": {}}]}, True),
        ({}, False),
        ({"version": 2}, False),
        ({"version": 1, "rule": []}, False),
        ({"version": 1, "rules": [{"id": "test.hot", "title": "Too hot"}]}, False),
        ({"version": 1, "rules": [{**RULE, "severty": "info"}]}, False),
        ({"version": 1, "rules": [{**RULE, "severity": "loud"}]}, False),
        ({"version": 1, "rules": [{**RULE, "for": "soon"}]}, False),
        ({"version": 1, "rules": [{**RULE, "for": -1}]}, False),
        ({"version": 1, "rules": [{**RULE, "group": {"at_least": 1}}]}, False),
        ({"version": 1, "rules": [{**RULE, "select": 7}]}, False),
    ],
)
def test_an_editor_and_the_loader_agree(tmp_path: Path, document: object, valid: bool) -> None:
    schema = jsonschema_rs.validator_for(rule_file_schema())
    assert schema.is_valid(document) is valid
    assert loads(tmp_path, document) is valid
