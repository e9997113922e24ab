"""`accelwatch rules export`: rules as alerting rules of Prometheus, and why some cannot be."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from accelwatch.base.errors import UsageError
from accelwatch.base.exit_codes import OK
from accelwatch.cli.output import complain, emit, output_mode

if TYPE_CHECKING:
    from accelwatch.alerting.rules.prometheus.alerting_rules import AlertingRule, Untranslated
    from accelwatch.alerting.rules.rule import Rule


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportPlan:
    """The options of `rules export`."""

    output: str
    mode: str | None
    scrape_interval: str
    node_label: str
    # Whether the server knows `keep_firing_for`.
    keep: bool
    as_json: bool


def rules_export(rules: "Mapping[str, Rule]", plan: ExportPlan) -> int:
    """Write the file, and print on stderr what is not in it. Raises AccelwatchError."""
    from accelwatch.alerting.rules.prometheus.alerting_rules import Untranslated, exported
    from accelwatch.alerting.rules.prometheus.rule_file import rule_file
    from accelwatch.base.durations import seconds
    from accelwatch.expr.promql import Assumed

    scrape_s = seconds(plan.scrape_interval)
    if not 0 < scrape_s <= 3600:
        raise UsageError("--scrape-interval is above 0 and at most an hour")
    if not plan.node_label.isidentifier() or not plan.node_label.isascii():
        raise UsageError(f"--node-label {plan.node_label[:60]!r} is not a valid Prometheus label")
    mode = output_mode(plan.output, plan.mode)
    made = list(exported(rules, Assumed(scrape_s=scrape_s, node_label=plan.node_label)))
    text = _json(made) if plan.as_json else rule_file(made, keep=plan.keep)
    emit(plan.output, text.encode(), mode)
    untranslated = [translation for translation in made if isinstance(translation, Untranslated)]
    for translation in untranslated:
        complain(f"{translation.rule} is not exported: {translation.reason}")
    complain(f"{len(made) - len(untranslated)} of {len(made)} rules exported")
    return OK


def _json(made: "list[AlertingRule | Untranslated]") -> str:
    import json
    from dataclasses import asdict

    from accelwatch.alerting.rules.prometheus.alerting_rules import AlertingRule

    rows: list[dict[str, object]] = []
    for translation in made:
        row = {**asdict(translation), "file": str(translation.file)}
        if isinstance(translation, AlertingRule):
            row = {"rule": row.pop("alert"), "reason": None, **row}
        rows.append(row)
    return json.dumps(rows, indent=1) + "\n"
