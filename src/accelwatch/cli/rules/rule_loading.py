"""The rules that a command line names, and how they are printed as JSON."""

from pathlib import Path
from typing import Any

from accelwatch.cli.output import write_stdout


def load_rules(files: list[Path] | None, packs: list[str] | None) -> Any:
    """The rules of files and packs; without either all packs. Raises ConfigError."""
    from accelwatch.alerting.rules.loading.pack_files import (
        pack_file,
        pack_names,
        refuse_empty_folders,
    )
    from accelwatch.alerting.rules.loading.rule_files import load

    refuse_empty_folders(files or [])
    names = packs or ([] if files else pack_names())
    return load([*(pack_file(name) for name in names), *(files or [])])


def write_json(value: object) -> None:
    """To stdout, indented."""
    import json

    write_stdout((json.dumps(value, indent=1) + "\n").encode())
