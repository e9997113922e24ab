"""`accelwatch simulate`: what would be, by figures of a fleet or by published ones."""

from accelwatch.cli.options import Group
from accelwatch.cli.simulate.recovery_command import recovery_command

simulate = Group(
    "simulate", help="Simulate what faults cost a training job: times, spares, checkpoints."
)
simulate.add_command(recovery_command, "recovery")
