"""Steps that change a reservation: a job's nodes, a node's test, the spares."""

from accelwatch.action.kit.performing import ChangedError
from accelwatch.action.step import Committed, Report, ReportStatus, Step
from accelwatch_slurm.commands.changing import DONE, Handler, updated
from accelwatch_slurm.commands.commands import Commands, report_of
from accelwatch_slurm.commands.reading import Reader, is_node_name
from accelwatch_slurm.texts import steps

# A job's reservation may overlap others, the spares' too, and cover nodes that the job still uses. A job
# that waits in one that ends goes on waiting like any other.
_RESERVATION_FLAGS = "flags=maint,ignore_jobs,no_hold_jobs_after_end"
_FOR_EVER = "duration=infinite"
_SPARES = "flags=ignore_jobs"


class ReservationSteps:
    """What is done to reservations."""

    def __init__(self, commands: Commands, reader: Reader) -> None:
        self._commands = commands
        self._reader = reader

    def handlers(self) -> dict[str, Handler]:
        """By kind of step."""
        return {
            steps.RESERVE: self._reserve,
            steps.RENEW_RESERVATION: self._renew,
            steps.DRAW: self._set_spares,
            steps.RETURN: self._set_spares,
            steps.DELETE_RESERVATION: self._delete,
        }

    async def _reserve(self, step: Step, _: Committed) -> Report:
        minutes = step.arguments["minutes"]
        until = f"endtime=now+{minutes}minutes"
        return await self._set_reservation(step, _RESERVATION_FLAGS, f"duration={minutes}", until)

    async def _renew(self, step: Step, _: Committed) -> Report:
        until = f"endtime=now+{step.arguments['minutes']}minutes"
        return await updated(self._commands, f"reservationname={step.arguments['name']}", until)

    async def _set_reservation(
        self, step: Step, flags: str, duration: str, *if_there: str
    ) -> Report:
        """Change it where it is there, else make it: it is never gone in between."""
        name, nodes = step.arguments["name"], step.arguments["nodes"]
        if not all(map(is_node_name, nodes.split(","))):
            raise ChangedError(f"not the names of nodes: {nodes[:80]}")
        arguments = (f"reservationname={name}", f"nodes={nodes}")
        change = await updated(self._commands, *arguments, *if_there)
        if change.status is not ReportStatus.REFUSED:
            return change
        made = (*arguments, f"users={step.arguments['user']}", flags, "starttime=now", duration)
        result = await self._commands.change("scontrol", "create", "reservation", *made)
        return report_of("scontrol", result)

    async def _set_spares(self, step: Step, _: Committed) -> Report:
        name, nodes = step.arguments["name"], step.arguments["nodes"]
        there = (await self._reader.reservations()).get(name)
        if ",".join(there.nodes if there is not None else ()) != step.precondition["nodes"]:
            raise ChangedError(f"the reservation {name} has other nodes by now")
        if not nodes:
            return await self._delete(step, _)
        return await self._set_reservation(step, _SPARES, _FOR_EVER)

    async def _delete(self, step: Step, _: Committed) -> Report:
        name = step.arguments["name"]
        result = await self._commands.change("scontrol", "delete", f"reservationname={name}")
        answer = report_of("scontrol", result)
        if "not found" in answer.text or "does not exist" in answer.text:
            return DONE
        if "in use" in answer.text:
            return Report(status=ReportStatus.RETRY, text=answer.text, again_after_s=30.0)
        return answer
