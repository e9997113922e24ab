"""Writes docs/rules.schema.json: `python docs/build_rules_schema.py`; a test keeps it current."""

import json
from pathlib import Path

from accelwatch.alerting.rules.loading.json_schema import rule_file_schema

TARGET = Path(__file__).with_name("rules.schema.json")


def build() -> str:
    """The file's text."""
    return json.dumps(rule_file_schema(), indent=1) + "\n"


if __name__ == "__main__":
    TARGET.write_text(build())
