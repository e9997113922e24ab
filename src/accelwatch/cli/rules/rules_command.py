"""`accelwatch rules`: check rule files, play their tests, list and show what they say."""

from pathlib import Path
from typing import Annotated

import click

from accelwatch.base.exit_codes import OK
from accelwatch.cli.hub_requests import HubFlags
from accelwatch.cli.options import Group, subcommand
from accelwatch.cli.parameters import argument, option
from accelwatch.cli.rules.backtest_command import backtest_command
from accelwatch.cli.rules.explain_command import detector_explain, rules_explain
from accelwatch.cli.rules.rule_checks import rules_check, rules_test
from accelwatch.cli.rules.rule_listing import rules_list, rules_show
from accelwatch.cli.rules.rule_loading import load_rules, write_json

rules = Group("rules", help="Check, test and show rules; without files, the shipped packs.")

_Files = Annotated[
    list[Path] | None, argument(metavar="[FILE|FOLDER]...", help="Rule files and folders.")
]
_Packs = Annotated[list[str] | None, option("-p", "--pack", metavar="NAME", help="A shipped pack.")]
_Json = Annotated[bool, option("--json", help="As JSON.")]
# Replaces a rule's id.
_DETECTOR = "detector"


def rules_schema() -> int:
    """Print the JSON Schema of rule files."""
    from accelwatch.alerting.rules.loading.json_schema import rule_file_schema

    write_json(rule_file_schema())
    return OK


@subcommand(rules, "check")
def _check(
    files: _Files = None,
    pack: _Packs = None,
    devices: Annotated[
        int,
        option("--devices", metavar="N", min=1, help="Number of devices for the memory estimate."),
    ] = 8000,
    nodes: Annotated[
        int | None,
        option(
            "--nodes",
            metavar="N",
            min=1,
            help="Number of nodes; default: one for every eight devices.",
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
    """List the rules that a hub or agent has loaded, one per line; without one, those shipped.

    Of FILE and --pack: their rules, and which of them are not loaded or switched off.
    """
    raise click.exceptions.Exit(rules_list(files, pack, hub, as_json))


@subcommand(rules, "show")
def _show(
    rule: Annotated[str, argument(metavar="RULE", help="Id of the rule.")],
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
            metavar="RULE", help="Id of the rule; `detector` for the detector's state of a node."
        ),
    ],
    entity: Annotated[
        str,
        argument(metavar="ENTITY", help="n12/nvidia3 or n12; for a rule also job:4711 or rack:r7."),
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
        str | None,
        option("--mode", metavar="OCTAL", help="Permissions of that file; default: 0600."),
    ] = None,
    scrape_interval: Annotated[
        str,
        option(
            "--scrape-interval", metavar="DURATION", help="How often Prometheus scrapes the agents."
        ),
    ] = "1m",
    node_label: Annotated[
        str,
        option(
            "--node-label",
            metavar="NAME",
            help="The label of Prometheus' targets that names the node.",
        ),
    ] = "instance",
    keep: Annotated[
        bool,
        option(
            "--keep-firing-for/--no-keep-firing-for",
            help="Export keep_firing_for; servers before 2.42 do not know it.",
        ),
    ] = True,
    as_json: _Json = False,
) -> None:
    """Export rules as alerting rules of Prometheus; stderr names those that cannot be exported."""
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
