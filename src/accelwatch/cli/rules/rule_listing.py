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
    """A line a rule. Raises ConfigError."""
    rows = [_row(rule) for rule in load_rules(files, packs).rules.values()]
    try:
        active = _active_rules(hub)
    except AccelwatchError as error:
        active = None
        complain(f"{error}; so whether a rule is switched off is not known")
    for row in rows:
        status = None if active is None else active.get(str(row["id"]))
        row["switched_off"] = None if active is None else status.switched_off if status else ""
        row["blind"] = None if active is None else status.blind if status else 0
        if row["switched_off"] and not as_json:
            row["mode"] = "switched off"
    for id_, status in (active or {}).items():
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


def _active_rules(hub: HubFlags) -> dict[str, RuleRow]:
    """The rules in force by id, as who judges by them says. Raises AccelwatchError."""
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
