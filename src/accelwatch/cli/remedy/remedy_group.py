"""`accelwatch remedy`: all that a hub does about incidents, and what people order or forbid."""

from accelwatch.cli.options import Group
from accelwatch.cli.remedy import remedy_commands as commands
from accelwatch.cli.remedy.actions_command import actions
from accelwatch.cli.remedy.spares_command import spares_command

remedy = Group(
    "remedy",
    help="Show and control what the hub does about incidents: drain, reset, reboot, return a node.",
)
remedy.add_command(commands.remedies_command, "list")
remedy.add_command(commands.plan_command, "plan")
remedy.add_command(commands.approve_command, "approve")
remedy.add_command(commands.deny_command, "deny")
remedy.add_command(commands.quarantine_command, "quarantine")
remedy.add_command(commands.release_command, "release")
remedy.add_command(commands.hold_command, "hold")
remedy.add_command(commands.recovered_command, "recovered")
remedy.add_command(commands.retry_command, "retry")
remedy.add_command(commands.forget_command, "forget")
remedy.add_command(spares_command, "spares")
remedy.add_command(commands.stop_command, "stop")
remedy.add_command(commands.start_command, "start")
remedy.add_command(commands.breaker_command, "breaker")
remedy.add_command(actions, "actions")
