"""`accelwatch remedy`: all that a hub does about incidents, and what people tell it to do or leave."""

import typer

from accelwatch.cli.remedy import remedy_commands as commands
from accelwatch.cli.remedy.actions_command import actions
from accelwatch.cli.remedy.spares_command import spares_command

remedy = typer.Typer(
    name="remedy",
    help="Show and steer what the hub does about incidents: drain, reset, reboot, return a node.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
remedy.command("list")(commands.remedies_command)
remedy.command("plan")(commands.plan_command)
remedy.command("approve")(commands.approve_command)
remedy.command("deny")(commands.deny_command)
remedy.command("quarantine")(commands.quarantine_command)
remedy.command("release")(commands.release_command)
remedy.command("hold")(commands.hold_command)
remedy.command("recovered")(commands.recovered_command)
remedy.command("retry")(commands.retry_command)
remedy.command("forget")(commands.forget_command)
remedy.command("spares")(spares_command)
remedy.command("stop")(commands.stop_command)
remedy.command("start")(commands.start_command)
remedy.command("breaker")(commands.breaker_command)
remedy.add_typer(actions, name="actions")
