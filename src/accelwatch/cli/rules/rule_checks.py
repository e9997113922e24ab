"""`accelwatch rules check` and `test`: every mistake of rule files, and their own tests."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from accelwatch.base.exit_codes import FAILED, OK
from accelwatch.cli.output import complain, write_stdout
from accelwatch.cli.rules.rule_loading import load_rules, write_json

_DEVICES_A_NODE = 8


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
    from accelwatch.expr.needs import Needs, refuse_costly, window_bytes
    from accelwatch.schema.display import counted

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
        write_json({**counts, **for_whom, "window_bytes": size, "doubts": doubtful})
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
    from accelwatch.schema.display import counted, stdout_is_terminal

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
        write_json({"passed": passed, "failed": failures, "untested": untested})
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
