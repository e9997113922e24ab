"""`accelwatch simulate`: what would be, by figures of a fleet or by published ones.

`accelwatch simulate recovery`: how long a job takes to run again, and what would make it shorter.
"""

from enum import StrEnum
from typing import Annotated

import click
import msgspec

from accelwatch.base.exit_codes import OK
from accelwatch.cli.options import Group, subcommand
from accelwatch.cli.output import write_stdout
from accelwatch.cli.parameters import option
from accelwatch.cli.simulate.recovery_counts import RateFlags
from accelwatch.cli.simulate.recovery_flags import (
    DetectorFlags,
    OutageFlags,
    SiteFlags,
    share_of,
)


class Form(StrEnum):
    """How the report is printed."""

    TABLE = "table"
    JSON = "json"


simulate = Group(
    "simulate", help="Simulate what faults cost a training job: times, spares, checkpoints."
)


@subcommand(simulate, "recovery")
def recovery_command(
    site: SiteFlags,
    failures: RateFlags,
    detector: DetectorFlags,
    outages: OutageFlags,
    code_share: Annotated[
        str,
        option(
            "--code-share",
            metavar="SHARE",
            help="Share of failures that only older code or data cures, not a restart.",
        ),
    ] = "0",
    faults: Annotated[
        int, option(metavar="N", min=100, max=1_000_000, help="How many faults are simulated.")
    ] = 20_000,
    seed: Annotated[int, option(metavar="N", help="Same seed, same numbers.")] = 0,
    form: Annotated[Form, option("--format", help="table or json.")] = Form.TABLE,
) -> None:
    """Simulate how long a training job takes to recover from faults, by three policies.

    It answers: how many spares should I keep, how often should I save, and what would ten minutes
    less load time be worth? Without options: the published fleet of 63 nodes, and the detector's goals.
    """
    from accelwatch_lab.recovery.report import report
    from accelwatch_lab.recovery.simulation import Plan

    code = share_of("--code-share", code_share)
    job, measures, trace = site.site(), detector.read(), outages.read()
    rates = failures.rates()
    plan = Plan(
        rates=rates.with_code(code) if code else rates,
        site=job,
        detector=measures,
        faults=faults,
        seed=seed,
    )
    made = report(plan, trace)
    if form is Form.JSON:
        write_stdout(msgspec.json.format(msgspec.json.encode(made), indent=1) + b"\n")
    else:
        from accelwatch.cli.simulate.recovery_table import table

        write_stdout(table(made).encode())
    raise click.exceptions.Exit(OK)
