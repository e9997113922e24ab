"""With what commands about remedies end, and the spares as they are listed."""

import asyncio
import json
from typing import Any

import pytest
from click.testing import CliRunner

from accelwatch.base.errors import AccelwatchError
from accelwatch.cli.remedy.remedy_outcome import code_of
from accelwatch.cli.startup.app import build
from accelwatch.fleet.documents.remedies import (
    Commanded,
    RemediesPage,
    SpareDocument,
    SparesPage,
)
from support.fleet.canned_hub import answering
from support.incidents.remedy_documents import answered, awaiting_approval, draining, page, unknown

WHY = ("--reason", "by hand")


async def typed(*words: str) -> tuple[int, str, str]:
    """Exit code as the program has it, output, and what is said beside it."""
    result = await asyncio.to_thread(CliRunner().invoke, build(), list(words))
    error = result.exception
    code = error.exit_code if isinstance(error, AccelwatchError) else result.exit_code
    return code, result.stdout, result.stderr or str(error or "")


def spare(name: str, status: str, **changes: Any) -> SpareDocument:
    usual: dict[str, Any] = {
        "node": name,
        "usable": True,
        "incident": "",
        "replaces": "",
        "tested": None,
        "text": "",
        "pools": ("train",),
        "model": "H100",
        "rack": "r9",
        "score": 0.0,
    }
    return SpareDocument(name=name, state=status, **{**usual, **changes})


SPARES = SparesPage(
    acts=True,
    spares=(
        spare("n096", "ready", usable=False),
        spare("n097", "ready", usable=False, text="is held by a person"),
        spare("n098", "failed", text="dcgm: memory", tested="2027-01-15T07:00:00.250Z"),
        spare("n099", "in_use", node="gpu-99", replaces="n009", incident="i4", pools=()),
    ),
)
TABLE = """\
NODE           POOL   RACK  STATE                           TESTED                STANDS IN FOR
n096           train  r9    ready, but cannot be used now   never
n097           train  r9    ready, but is held by a person  never
n098           train  r9    failed: dcgm: memory            2027-01-15T07:00:00Z
gpu-99 (n099)         r9    in use                          never                 n009 for i4
"""


def test_spares_are_listed_with_pool_state_test_and_whom_they_stand_for() -> None:
    async def main() -> None:
        async with answering() as (answers, base):
            answers.of(SPARES)
            code, out, _ = await typed("spares", "--hub", base)
            assert code == 0
            assert [line.split() for line in out.splitlines()] == [
                line.split() for line in TABLE.splitlines()
            ]
            code, out, _ = await typed("spares", "--json", "--hub", base)
            assert (code, len(json.loads(out)["spares"])) == (0, 4)
            answers.of(SparesPage(acts=True))
            code, out, errors = await typed("spares", "--hub", base)
            assert (code, out) == (0, "")
            assert "no spares configured; see remedy.spares.nodes in hub.yaml" in errors
            answers.of(SparesPage(acts=False))
            _, _, errors = await typed("spares", "--hub", base)
            assert "see remedy.actions in hub.yaml" in errors

    asyncio.run(main())


@pytest.mark.parametrize(
    ("verb", "outcome", "code"),
    [
        ("approve", answered("approve by kim: yes", draining()), 0),
        ("stop", answered("kim stopped everything"), 0),
        ("hold", answered("", awaiting_approval()), 0),
        ("release", answered("release changes nothing: n002 is suspect", awaiting_approval()), 1),
        ("retry", answered("retry by kim: looked", unknown()), 3),
        ("release", answered("release by kim: done", awaiting_approval()), 4),
    ],
)
def test_a_word_ends_with_what_has_come_of_it(verb: str, outcome: Commanded, code: int) -> None:
    assert code_of(verb, outcome) == code


@pytest.mark.parametrize(
    ("answer", "code", "text"),
    [
        ((403, "this needs the role act"), 1, "this needs the role act"),
        ((404, "no node 'n9'"), 1, "no node 'n9'"),
        ((503, "it does not count: the disk is full"), 1, "the disk is full"),
        ((400, "for: 2 is not a valid duration"), 2, "for: 2 is not a valid duration"),
        (
            (500, "broken"),
            3,
            "unknown whether it was done: broken; check before you repeat it",
        ),
    ],
)
def test_a_refusal_is_distinguished_from_doubt(
    answer: tuple[int, str], code: int, text: str
) -> None:
    async def main() -> None:
        async with answering() as (answers, base):
            answers.refuse(*answer)
            ended, out, errors = await typed("quarantine", "n9", *WHY, "--hub", base)
            assert (ended, out) == (code, "")
            assert text in errors

    asyncio.run(main())


SHOWN: tuple[tuple[str, ...], ...] = (("remedies",), ("breaker",))
MESSAGES: tuple[tuple[str, ...], ...] = (
    *(
        (verb, "n2")
        for verb in ("quarantine", "release", "deny", "hold", "recovered", "retry", "forget")
    ),
    ("approve", "n2", "--plan", "5f3a"),
    ("stop",),
    ("start",),
    ("breaker", "reset"),
)


def test_the_list_says_why_rules_need_approval() -> None:
    async def main() -> None:
        async with answering() as (answers, base):
            answers.of(page(approval_needed="the database is replicated asynchronously"))
            _, out, err = await typed("remedy", "list", "--hub", base)
            reason = "rules act only with a person's approval: the database is replicated"
            assert reason in out + err
            answers.of(page())
            _, out, err = await typed("remedy", "list", "--hub", base)
            assert "approval" not in out + err

    asyncio.run(main())


def test_every_command_has_json_and_ends_with_0() -> None:
    async def main() -> None:
        async with answering() as (answers, base):
            answers.of(page(draining()))
            for words in SHOWN:
                code, out, _ = await typed(*words, "--json", "--hub", base)
                assert (code, bool(json.loads(out))) == (0, True), words
            answers.of(answered("it counts", draining()))
            for words in MESSAGES:
                code, out, _ = await typed(*words, *WHY, "--json", "--hub", base)
                assert (code, json.loads(out)["remedy"]["node"]) == (0, "n009"), words
                code, _, errors = await typed(*words, "--json", "--hub", base)
                assert (code, "--reason TEXT is required" in errors) == (2, True), words
            answers.of(RemediesPage(acts=False))
            assert (await typed("remedies", "--hub", base))[0] == 0

    asyncio.run(main())
