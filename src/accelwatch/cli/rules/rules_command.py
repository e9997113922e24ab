"""`accelwatch rules`: check rule files, play their tests, list and show what they say."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import click

from accelwatch.alerting.evaluation.documents import RuleRow, RulesPage
from accelwatch.base.exit_codes import FAILED, OK
from accelwatch.cli.hub_requests import HubFlags, fetch_page
from accelwatch.cli.options import Group, subcommand
from accelwatch.cli.output import complain, write_stdout
from accelwatch.cli.parameters import argument, option
from accelwatch.cli.rules.backtest_command import backtest_command

rules = Group("rules", help="Check, test and show rules; without files, the shipped packs.")

_Files = Annotated[
    list[Path] | None, argument(metavar="[FILE|FOLDER]...", help="Rule files and folders.")
]
_Packs = Annotated[
    list[str] | None, option("-p", "--pack", metavar="NAME", help="A pack that is shipped.")
]
_Json = Annotated[bool, option("--json", help="As JSON.")]
_DEVICES_A_NODE = 8
# In place of a rule's id.
_DETECTOR = "detector"


def load_rules(files: list[Path] | None, packs: list[str] | None) -> Any:
    """The rules of files and packs; without either all packs. Raises ConfigError."""
    from accelwatch.alerting.rules.loading.rule_files import (
        load,
        pack_file,
        pack_names,
        refuse_empty_folders,
    )

    refuse_empty_folders(files or [])
    names = packs or ([] if files else pack_names())
    return load([*(pack_file(name) for name in names), *(files or [])])


def rules_check(
    files: list[Path] | None,
    packs: list[str] | None,
    devices: int,
    nodes: int | None,
    as_json: bool = False,
) -> int:
    """Report every mistake; without `nodes` each has eight devices.

    Raises ConfigError, ExpressionError for windows that cost too much.
    """
    from accelwatch.alerting.rules.loading.lint import doubts
    from accelwatch.exposition.display import counted
    from accelwatch.expr.needs import Needs, refuse_costly, window_bytes

    loaded = load_rules(files, packs)
    needs: dict[str, Needs] = {}
    for rule in loaded.rules.values():
        named = f"{rule.id} ({rule.origin})"
        needs[named] = Needs()
        for expression in rule.expressions:
            needs[named] |= expression.needs
    nodes = nodes or -(-devices // _DEVICES_A_NODE)
    refuse_costly(needs, devices, nodes)
    windows = {window for need in needs.values() for window in need.windows}
    size = window_bytes(windows, devices, nodes)
    count, several = len(loaded.rules), len(loaded.files)
    doubtful = [doubt for rule in loaded.rules.values() for doubt in doubts(rule)]
    for doubt in doubtful:
        complain(f"is this meant? {doubt}")
    if as_json:
        counts = {"rules": count, "files": several, "windows": len(windows)}
        for_whom = {"devices": devices, "nodes": nodes}
        _write_json({**counts, **for_whom, "window_bytes": size, "doubts": doubtful})
        return OK
    verb = "takes" if len(windows) == 1 else "take"
    complain(
        f"ok; rules: {count}, files: {several}; {counted(len(windows), 'window')} {verb} "
        f"{size / (1 << 20):.0f} MiB for {counted(devices, 'device')} on {counted(nodes, 'node')}"
    )
    return OK


def rules_test(files: list[Path] | None, packs: list[str] | None, as_json: bool = False) -> int:
    """Run all tests; exit code 1 when one fails. Raises ConfigError."""
    from accelwatch.alerting.rules.loading.case_events import incomplete_events
    from accelwatch.alerting.rules.testing.rule_tests import run
    from accelwatch.cli.progress import counting, progress
    from accelwatch.exposition.display import counted, stdout_is_terminal

    loaded = load_rules(files, packs)
    passed = 0
    failures: list[dict[str, object]] = []
    untested = [rule.id for rule in loaded.rules.values() if not rule.tests]
    total = sum(len(rule.tests) for rule in loaded.rules.values())
    with progress("rules test", total, counting("tests")) as bar:
        for rule in loaded.rules.values():
            for result in run(rule):
                passed += not result.failures
                origin = {"file": str(rule.origin.file), "line": rule.origin.line, "rule": rule.id}
                if result.failures:
                    failed = {"test": result.test, "failures": list(result.failures)}
                    failures.append({**origin, **failed})
                for failure in result.failures:
                    complain(f"{rule.origin}: {rule.id}: {result.test}: {failure}")
                bar.at(passed + len(failures))
            for doubt in incomplete_events(rule):
                complain(f"is this meant? {rule.origin}: {rule.id}: {doubt}")
    if not as_json and stdout_is_terminal():
        write_stdout(_tested(loaded.rules.values(), failures).encode())
    if as_json:
        _write_json({"passed": passed, "failed": failures, "untested": untested})
        return FAILED if failures else OK
    if untested:
        complain(f"without a test: {', '.join(untested)}")
    complain(f"{counted(passed, 'test')} passed, {len(failures)} failed")
    return FAILED if failures else OK


def _tested(rules: Iterable[Any], failures: Sequence[Mapping[str, object]]) -> str:
    """A row a file: rules, tests, and how many of them failed."""
    from accelwatch.cli.progress import table

    counts: dict[str, list[int]] = {}
    for rule in rules:
        row = counts.setdefault(str(rule.origin.file), [0, 0, 0])
        row[0] += 1
        row[1] += len(rule.tests)
    for failure in failures:
        counts[str(failure["file"])][2] += 1
    rows = [(file, *map(str, row)) for file, row in counts.items()]
    return table(("FILE", "RULES", "TESTS", "FAILED"), rows)


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
    active = _active_rules(hub)
    for row in rows:
        status = None if active is None else active.get(str(row["id"]))
        row["switched_off"] = None if active is None else status.switched_off if status else ""
        row["blind"] = None if active is None else status.blind if status else 0
        if row["switched_off"] and not as_json:
            row["mode"] = "switched off"
    if active is None:
        complain("no hub or agent answers, so whether one has switched a rule off is not known")
    for id_, status in (active or {}).items():
        if status.switched_off:
            complain(f"{id_} is switched off: {status.switched_off}")
        elif status.blind:
            complain(f"{id_} is pending or firing on {status.blind}, unknown for too long")
    if as_json:
        _write_json(rows)
        return OK
    widths = {key: max([len(key), *(len(str(row[key])) for row in rows)]) for key in _COLUMNS}
    heading: dict[str, object] = {key: key.upper() for key in (*_COLUMNS, "title")}
    for row in (heading, *rows):
        cells = [str(row[key]).ljust(widths[key]) for key in _COLUMNS]
        write_stdout(("  ".join([*cells, str(row["title"])]).rstrip() + "\n").encode())
    return OK


def _active_rules(hub: HubFlags) -> dict[str, RuleRow] | None:
    """The rules in force by id, as who judges by them says; None where nobody answers."""
    from accelwatch.base.errors import AccelwatchError
    from accelwatch.fleet.hub_client.documents import decoded

    try:
        page = decoded(fetch_page(hub, "/v1/rules", {}), RulesPage)
    except AccelwatchError:
        return None
    return {row.id: row for row in page.rules}


_COLUMNS = ("id", "scope", "severity", "mode")


def rules_show(id_: str, files: list[Path] | None, packs: list[str] | None, as_json: bool) -> int:
    """What one rule says. Raises ConfigError, UnmetError for one that is not there."""
    from accelwatch.base.errors import UnmetError
    from accelwatch.schema.metrics import nearest

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
        _write_json(document)
        return OK
    for name, value in document.items():
        if value != "":
            write_stdout(f"{name:16}{value}\n".encode())
    return OK


def rules_explain(rule: str, entity: str, hub: HubFlags, as_json: bool) -> int:
    """Ask a hub why a rule fires or does not. Raises AccelwatchError."""
    from accelwatch.alerting.evaluation.explanation import Explanation
    from accelwatch.alerting.rules.document import how_sure
    from accelwatch.base.untrusted_text import printable
    from accelwatch.fleet.hub_client.documents import decoded

    document = fetch_page(hub, "/v1/explain", {"rule": rule, "entity": entity})
    if as_json:
        write_stdout(document)
        return OK
    explanation = decoded(document, Explanation)
    age_text = "" if explanation.phase_s is None else f", for {explanation.phase_s:.0f} s"
    age_text = ", just started" if age_text == ", for 0 s" else age_text
    lines = [f"{explanation.rule} on {entity}: {explanation.phase}{age_text}"]
    if explanation.confidence:
        sure = how_sure(explanation.confidence, explanation.act_on)
        lines.append(f"mode {explanation.mode}, {sure}")
    for row in explanation.components:
        value = "" if row.value is None else row.value
        value = f"{value:.6g}" if isinstance(value, float) else str(value)
        truth = row.truth.upper() if row.reason else row.truth
        shown = truth or row.shown or value or "missing"
        reason = f"  ({row.reason})" if row.reason else ""
        lines.append(f"{row.key:8} {'  ' * row.depth}{row.text}  = {shown}{reason}")
    write_stdout("".join(f"{printable(line)}\n" for line in lines).encode())
    return OK


def detector_explain(entity: str, hub: HubFlags, as_json: bool) -> int:
    """Ask a hub for all that its detector holds of a node or device. Raises AccelwatchError."""
    from accelwatch.base.errors import UnmetError
    from accelwatch.base.untrusted_text import printable
    from accelwatch.cli.rules.detector_lines import lines_of
    from accelwatch.fleet.documents.detector import DETECTOR, DetectorPage
    from accelwatch.fleet.hub_client.documents import decoded

    try:
        document = fetch_page(hub, DETECTOR, {"entity": entity})
    except UnmetError as error:
        if "no such page" not in str(error):
            raise
        text = f"{error}: detectors run in hubs; name one with --hub, or update it"
        raise UnmetError(text) from error
    if as_json:
        write_stdout(document)
        return OK
    lines = lines_of(decoded(document, DetectorPage))
    write_stdout("".join(f"{printable(line)}\n" for line in lines).encode())
    return OK


def rules_schema() -> int:
    """Print the JSON Schema of rule files."""
    from accelwatch.alerting.rules.loading.json_schema import rule_file_schema

    _write_json(rule_file_schema())
    return OK


def _write_json(value: object) -> None:
    import json

    write_stdout((json.dumps(value, indent=1) + "\n").encode())


@subcommand(rules, "check")
def _check(
    files: _Files = None,
    pack: _Packs = None,
    devices: Annotated[
        int, option("--devices", min=1, help="Devices that memory is calculated for.")
    ] = 8000,
    nodes: Annotated[
        int | None,
        option(
            "--nodes", min=1, help="Nodes that have them; one for each eight devices by default."
        ),
    ] = None,
    as_json: _Json = False,
) -> None:
    """Report every mistake in the files and the memory their windows need; exit code 2 if any."""
    raise click.exceptions.Exit(rules_check(files, pack, devices, nodes, as_json))


@subcommand(rules, "test")
def _test(files: _Files = None, pack: _Packs = None, as_json: _Json = False) -> None:
    """Run the tests inside the files; exit code 1 if one fails."""
    raise click.exceptions.Exit(rules_test(files, pack, as_json))


@subcommand(rules, "list")
def _list(hub: HubFlags, files: _Files = None, pack: _Packs = None, as_json: _Json = False) -> None:
    """List rules, one per line; a running hub or agent says which it has switched off."""
    raise click.exceptions.Exit(rules_list(files, pack, hub, as_json))


@subcommand(rules, "show")
def _show(
    rule: Annotated[str, argument(metavar="RULE", help="Its id.")],
    files: _Files = None,
    pack: _Packs = None,
    as_json: _Json = False,
) -> None:
    """Show one rule in full."""
    raise click.exceptions.Exit(rules_show(rule, files, pack, as_json))


@subcommand(rules, "explain")
def _explain(
    hub: HubFlags,
    rule: Annotated[
        str,
        argument(
            metavar="RULE", help="Its id; `detector` for all that the detector holds of a node."
        ),
    ],
    entity: Annotated[
        str,
        argument(metavar="ENTITY", help="n12/nvidia3 or n12; of a rule job:4711 or rack:r7 too."),
    ],
    as_json: _Json = False,
) -> None:
    """Show each part of a rule for an entity with its current value at the hub."""
    if rule == _DETECTOR:
        raise click.exceptions.Exit(detector_explain(entity, hub, as_json))
    raise click.exceptions.Exit(rules_explain(rule, entity, hub, as_json))


@subcommand(rules, "export")
def _export(
    files: _Files = None,
    pack: _Packs = None,
    output: Annotated[
        str, option("-o", "--output", metavar="FILE", help="Write to a file, in one step.")
    ] = "-",
    mode: Annotated[
        str | None, option("--mode", help="Permissions of that file; without: 0600.")
    ] = None,
    scrape_interval: Annotated[
        str, option("--scrape-interval", help="How often Prometheus scrapes the agents.")
    ] = "1m",
    node_label: Annotated[
        str, option("--node-label", help="The label of its targets that names the node.")
    ] = "instance",
    keep: Annotated[
        bool,
        option(
            "--keep-firing-for/--no-keep-firing-for", help="Without it for servers before 2.42."
        ),
    ] = True,
    as_json: _Json = False,
) -> None:
    """Rules as alerting rules of Prometheus; on stderr those that cannot be, and why."""
    from accelwatch.cli.rules.rules_export import ExportPlan, rules_export

    plan = ExportPlan(
        output=output,
        mode=mode,
        scrape_interval=scrape_interval,
        node_label=node_label,
        keep=keep,
        as_json=as_json,
    )
    raise click.exceptions.Exit(rules_export(load_rules(files, pack).rules, plan))


@subcommand(rules, "schema")
def _schema() -> None:
    """Print the JSON Schema of rule files, for editors."""
    raise click.exceptions.Exit(rules_schema())


rules.add_command(backtest_command, "backtest")
