"""Hooks of a site for tests: programs in a folder, intents about its nodes, and how hooks are called."""

from pathlib import Path
from typing import Any

import msgspec

from accelwatch.action.contract import Action, ActionContext
from accelwatch.action.intent import Intent, IntentKind, JobKey, OwnerAnnotation
from accelwatch.action.step import Committed
from accelwatch.base.clock import Clock, ManualClock
from accelwatch.plugins import entry_points as plugins

MARK = OwnerAnnotation(incident="i7", token=3)
JOB = JobKey(cluster="west", id="42", submitted=1_800_000_000.0)
INTENT = Intent(
    kind=IntentKind.QUARANTINE,
    mark=MARK,
    node="n3",
    reason="Xid 79 on n3",
    rule="nvidia-xid-79",
    severity="critical",
    device="GPU-aa",
    boot_id="boot-1",
    deadline=1_800_003_600.0,
)
MOVE: dict[str, Any] = {
    "kind": IntentKind.MOVE_JOB,
    "job": JOB,
    "bad_nodes": ("n3",),
    "spare": "n9",
}


def intent(**changes: Any) -> Intent:
    """The intent with something else."""
    return msgspec.structs.replace(INTENT, **changes)


def operation(**changes: Any) -> Committed:
    """An operation that is in the journal."""
    made = Committed(operation="op-1", attempt=1, annotation=MARK, deadline=1_800_003_600.0)
    return msgspec.structs.replace(made, **changes)


def program(folder: Path, text: str, name: str = "hook") -> str:
    """A program that only its owner can change; a shell's unless it says otherwise."""
    file = folder / name
    file.write_text(text if text.startswith("#!") else f"#!/bin/sh\n{text}\n")
    file.chmod(0o755)
    return str(file)


def printing(folder: Path, name: str = "observe", **document: Any) -> list[str]:
    """The command of a hook that says the document, and whatever is written over it later."""
    answer = folder / f"{name}.json"
    answer.write_bytes(msgspec.json.encode(document))
    return [program(folder, f"exec cat {answer}", name)]


def script(
    clock: Clock | None = None, environ: dict[str, str] | None = None, **options: Any
) -> Action:
    """The action found by its entry point."""
    context = ActionContext(
        name="site", options=options, clock=clock or ManualClock(), environ=environ or {}
    )
    made: Action = plugins.load(plugins.ACTIONS, "script")(context)
    return made
