"""Steps that change a reservation: a job's place, a node's test, the spares."""

from accelwatch.action.step import Committed, Step, Told, ToldStatus
from accelwatch_slurm import steps
from accelwatch_slurm.changing import DONE, ChangedError, Handler, updated
from accelwatch_slurm.commands import Commands, told
from accelwatch_slurm.reading import Reader, is_node_name

_PLACE = "flags=maint,ignore_jobs"
"""A place may lie over spares' and other reservations, and over nodes on which the job still runs."""
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
            steps.DRAW: self._set_spares,
            steps.RETURN: self._set_spares,
            steps.DELETE_RESERVATION: self._delete,
        }

    async def _reserve(self, step: Step, _: Committed) -> Told:
        return await self._set_reservation(step, _PLACE)

    async def _set_reservation(self, step: Step, flags: str) -> Told:
        name, nodes = step.arguments["name"], step.arguments["nodes"]
        if not all(map(is_node_name, nodes.split(","))):
            raise ChangedError(f"not the names of nodes: {nodes[:80]}")
        change = await updated(self._commands, f"reservationname={name}", f"nodes={nodes}")
        if change.status is not ToldStatus.REFUSED:
            return change
        words = [f"reservationname={name}", f"nodes={nodes}", f"users={step.arguments['user']}"]
        words += [flags, "starttime=now", "duration=infinite"]
        return told(
            "scontrol", await self._commands.change("scontrol", "create", "reservation", *words)
        )

    async def _set_spares(self, step: Step, _: Committed) -> Told:
        name, nodes = step.arguments["name"], step.arguments["nodes"]
        there = (await self._reader.reservations()).get(name)
        if ",".join(there.nodes if there is not None else ()) != step.precondition["nodes"]:
            raise ChangedError(f"the reservation {name} has other nodes by now")
        if not nodes:
            return await self._delete(step, _)
        return await self._set_reservation(step, _SPARES)

    async def _delete(self, step: Step, _: Committed) -> Told:
        name = step.arguments["name"]
        result = await self._commands.change("scontrol", "delete", f"reservationname={name}")
        answer = told("scontrol", result)
        if "not found" in answer.text or "does not exist" in answer.text:
            return DONE
        if "in use" in answer.text:
            return Told(status=ToldStatus.RETRY, text=answer.text, again_after_s=30.0)
        return answer
