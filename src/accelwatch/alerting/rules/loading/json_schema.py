"""The JSON Schema of rule files, made from the shapes that they are read with, for editors."""

from typing import Any

import msgspec

from accelwatch.alerting.rules.document import FileDocument

IDENTIFIER = "urn:accelwatch:rules:1"


def rule_file_schema() -> dict[str, Any]:
    """The schema (draft 2020-12); what only loading can check, such as wrong names, is not in it."""
    schema = msgspec.json.schema(FileDocument)
    for definition in schema["$defs"].values():
        if definition.get("type") == "object":
            # A misspelt key is a mistake when the file is loaded; an editor shows it while it is typed.
            definition["additionalProperties"] = False
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": IDENTIFIER,
        "title": "accelwatch rule file",
        **schema,
    }
