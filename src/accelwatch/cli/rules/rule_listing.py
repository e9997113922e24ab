"""`accelwatch rules list` and `show`: what rules say, and which of them are in force."""

from pathlib import Path
from typing import Any

from accelwatch.alerting.evaluation.documents import RuleRow, RulesPage
from accelwatch.base.errors import AccelwatchError
from accelwatch.base.exit_codes import OK
from accelwatch.cli.hub_requests import HubFlags, fetch_page
from accelwatch.cli.output import complain, write_stdout
from accelwatch.cli.rules.rule_loading import load_rules, write_json


def _row(rule: Any) -> dict[str, object]:
    return {
        "id": rule.id,
        "scope": rule.scope.value,
        "severity": rule.severity.value,
        "mode": rule.mode.value,
        "for_s": rule.timing.for_s,
        "title": rule.title,
        "file": str(rule.origin.file),
        "line": rule.origin.line,
        "tests": len(rule.tests),
    }


def rules_list(
    files: list[Path] | None, packs: list[str] | None, hub: HubFlags, as_json: bool
) -> int:
    """A line a rule: those that a hub or agent has loaded, else those of files and packs.

    Raises ConfigError.
    """
    named = bool(files or packs)
    rows = _rows_of_files(files, packs) if named else []
    try:
        loaded = _loaded_rules(hub)
    except AccelwatchError as error:
        loaded = None
        shown = "" if named else "these are the rules that are shipped, and "
        complain(f"{error}; so {shown}which are loaded or switched off is not known")
    if not named:
        rows = (
            _rows_of_files(files, packs)
            if loaded is None
            else [_loaded_row(row) for row in loaded.values()]
        )
    for row in rows:
        status = None if loaded is None else loaded.get(str(row["id"]))
        row["loaded"] = None if loaded is None else status is not None
        row["switched_off"] = None if loaded is None else status.switched_off if status else ""
        row["blind"] = None if loaded is None else status.blind if status else 0
        if not as_json and (row["switched_off"] or row["loaded"] is False):
            row["mode"] = "switched off" if row["switched_off"] else "not loaded"
    for id_, status in (loaded or {}).items():
        if status.switched_off:
            complain(f"{id_} is switched off: {status.switched_off}")
        elif status.blind:
            complain(f"{id_} is pending or firing on {status.blind}, unknown for too long")
    if as_json:
        write_json(rows)
        return OK
    widths = {key: max([len(key), *(len(str(row[key])) for row in rows)]) for key in _COLUMNS}
    heading: dict[str, object] = {key: key.upper() for key in (*_COLUMNS, "title")}
    for row in (heading, *rows):
        cells = [str(row[key]).ljust(widths[key]) for key in _COLUMNS]
        write_stdout(("  ".join([*cells, str(row["title"])]).rstrip() + "\n").encode())
    return OK


def _rows_of_files(files: list[Path] | None, packs: list[str] | None) -> list[dict[str, object]]:
    return [_row(rule) for rule in load_rules(files, packs).rules.values()]


def _loaded_row(row: RuleRow) -> dict[str, object]:
    """Of a rule as the server that evaluates it has it; nothing there counts its tests."""
    return {
        "id": row.id,
        "scope": row.scope,
        "severity": row.severity,
        "mode": row.mode,
        "for_s": row.for_s,
        "title": row.title,
        "file": row.file,
        "line": row.line,
        "tests": None,
    }


def _loaded_rules(hub: HubFlags) -> dict[str, RuleRow]:
    """The rules that a hub or agent evaluates, by id. Raises AccelwatchError."""
    from accelwatch.fleet.hub_client.documents import decoded

    page = decoded(fetch_page(hub, "/v1/rules", {}), RulesPage)
    return {row.id: row for row in page.rules}


_COLUMNS = ("id", "scope", "severity", "mode")


def rules_show(id_: str, files: list[Path] | None, packs: list[str] | None, as_json: bool) -> int:
    """What one rule says. Raises ConfigError, UnmetError for one that is not there."""
    from accelwatch.base.errors import UnmetError
    from accelwatch.base.names.nearest import nearest

    loaded = load_rules(files, packs).rules
    rule = loaded.get(id_)
    if rule is None:
        close = nearest(id_, loaded)
        raise UnmetError(f"no rule {id_[:100]!r}" + (f"; did you mean {close}?" if close else ""))
    expressions = {
        "select": rule.select,
        "when": rule.when,
        "confirm": rule.confirm,
        "clear": rule.clear,
    }
    document: dict[str, object] = {
        **_row(rule),
        **{
            name: expression.text
            for name, expression in expressions.items()
            if expression is not None
        },
        "keep_s": rule.timing.keep_s,
        "unknown_after_s": rule.timing.unknown_after_s,
        "cooldown_s": rule.cooldown_s,
        "family": rule.family,
        "confidence": rule.confidence.value,
        "act_on": rule.act_on.value,
        "advice": rule.advice.value,
        "what_to_do": rule.what_to_do,
        "runbook": rule.runbook,
        "source": rule.source,
        "digest": rule.digest,
    }
    if as_json:
        write_json(document)
        return OK
    for name, value in document.items():
        if value != "":
            write_stdout(f"{name:16}{value}\n".encode())
    return OK
