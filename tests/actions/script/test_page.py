"""The hooks of the page are run as they stand there, and its tables name what there is."""

import asyncio
import os
import re
import sys
from pathlib import Path

import msgspec

from accelwatch.action.intent import IntentKind
from accelwatch.action.step import Achieved, Refusal, Step
from accelwatch_script.call import Call, JobInfo, variables
from accelwatch_script.settings import HookOptions, ScriptOptions
from support.actions.hooks import intent, operation, program, script

PAGE = (Path(__file__).parents[3] / "docs" / "actions" / "script.md").read_text()


def block(language: str) -> str:
    found = re.search(rf"^```{language}\n(#!.*?)^```$", PAGE, flags=re.MULTILINE | re.DOTALL)
    assert found is not None
    return found[1]


def test_the_hooks_to_copy_do_what_they_say(tmp_path: Path) -> None:
    marks = tmp_path / "marks"
    marks.mkdir()
    env = {"QUARANTINE": str(marks), "PATH": os.environ["PATH"]}
    act = {"argv": [program(tmp_path, block("sh"))], "env": env, "idempotent": True}
    # As the page has it, but for the interpreter, which is another one here.
    look = block("python").replace("#!/usr/bin/python3", f"#!{Path(sys.executable).resolve()}")
    made = script(
        observe={"argv": [program(tmp_path, look, "observe")], "env": env},
        hooks={"quarantine": act, "release": act, "reboot": act},
    )

    async def carried(kind: IntentKind) -> object:
        wanted = intent(kind=kind)
        step = made.propose(wanted, await made.observe(wanted))
        assert isinstance(step, Step)
        await made.perform(step, operation())
        return made.propose(wanted, await made.observe(wanted))

    async def scenario() -> None:
        assert isinstance(await carried(IntentKind.QUARANTINE), Achieved)
        assert (marks / "n3").read_text() == "i7 3\n"
        assert isinstance(await carried(IntentKind.RELEASE), Achieved)
        (marks / "n3").write_text("ann\n")
        assert isinstance(made.propose(intent(), await made.observe(intent())), Refusal)

    asyncio.run(scenario())


def test_it_names_every_option_key_and_variable() -> None:
    words = set(re.findall(r"`(\w+)`", PAGE))
    for shape in (HookOptions, ScriptOptions):
        assert {field.name for field in msgspec.structs.fields(shape)} <= words
    assert {field.name for field in msgspec.structs.fields(Call)} <= words
    assert {field.name for field in msgspec.structs.fields(JobInfo)} <= words | {"cluster", "id"}
    assert {kind.value for kind in IntentKind} <= words
    named = set(re.findall(r"`(?:ACCELWATCH)?(_[A-Z_]+)`", PAGE))
    given = {name.removeprefix("ACCELWATCH") for name in variables(Call(hook="x", deadline=0.0))}
    assert named == given | {"_CALL"}
