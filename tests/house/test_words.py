"""Identifiers use the words of the field: CONTRIBUTING.md, "Words"."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("src", "backends", "exporters", "actions", "alerts")
WORDS = {
    "asked asks asking asker": "requested, request, query",
    "befall befalls befallen": "inject, affect",
    "begin begins begun began beginning": "start, started",
    "brings bring brought": "refresh, load, fetch",
    "census crowd roster seat seats": "counts, device index, slot",
    "ended ending": "finished, stopped, closed, resolved",
    "found": "match, result, problems",
    "given": "configured, provided, passed",
    "glance glimpse": "peek, partial decode",
    "heard hear hears hearing": "received, status",
    "heed heeds heeded": "handle, honour, needed",
    "held holds holding": "quarantined, cached, pending; hold is Slurm's",
    "judge judges judged judging": "evaluate, evaluated",
    "keeper ladder rung rungs": "manager, escalation, step",
    "known": "existing, cached, recognised",
    "look looks looked looking": "check, poll, inspect, lookup",
    "mark marks marked": "annotation, marker, flag",
    "mend mends mended unwell": "repair, repaired, unhealthy",
    "moment moments": "timestamp, time, now",
    "happen happens happening happenings came": "event, occurred, outcome",
    "hands sick": "operator, interventions; faulty",
    "news stir stirs rouse": "changes, wake",
    "one ones": "the noun",
    "past pasts": "history, recent, closed, earlier",
    "part parts": "component, chunk, segment, piece",
    "place places placed placing": "position, index, slot, address, path, location",
    "reckon reckons reckoned reckoning": "compute, computed, estimate",
    "said say says saying": "text, output, summary",
    "seen sees": "observed, visited",
    "sight sights": "context, coverage, view",
    "story stories": "scenario, report, timeline",
    "survey surveys": "list, snapshot, poll",
    "spell spells": "state, episode",
    "standing standings": "status, active, static",
    "take takes taken taking took": "acquire, adopt, accept, read",
    "tell tells told teller": "report, notify, received",
    "thing things twin anew": "the noun; again",
    "wanted want wants wish wishes": "desired, requested, needed",
    "way ways": "transport, channel, route",
    "whole": "complete, total, full",
    "word words": "token, argument, keyword, text",
}
# Of these, the ones that tests and benchmarks do without too.
OF_TESTS = frozenset(
    {
        *("asker", "asking", "begins", "begun", "said", "saying", "tell", "tells", "told"),
        *("heard", "hear", "hears", "hearing", "heed", "heeded", "sight", "sights", "teller"),
        *("moment", "moments", "happening", "happenings", "spell", "spells", "standings"),
        *("reckon", "reckons", "reckoning", "rouse", "stir", "stirs", "rungs", "seat", "pasts"),
        *("glance", "glimpse", "holding", "story", "stories", "surveys"),
    }
)
INSTEAD = {word: instead for words, instead in WORDS.items() for word in words.split()}
# Words that are right where they stand, within an identifier.
RIGHT = re.compile(
    r"last_?seen|first_?seen|one_?shot|not_found|all_ones|open_ended|taken_over|one_reading"
    r"|has_job_ended|whole_disks|known_hosts|past_repair|part_number|is_one_off",
    re.IGNORECASE,
)
# Names of files and documents that users have, and words that another program says so.
SLURM = re.compile(
    r"actions/accelwatch_slurm|action/observed\.py|cli/remedy/|fleet/incident_page/forms\.py"
)
OF_DOCUMENTS = {"EvidenceTaken", "StandingEvidence", "Wish"}
# The hook of users that is called so.
SURVEY = re.compile(r"actions/accelwatch_script/|cluster/stand_in/")
INFINIBAND = "backends/accelwatch_host/network.py"
# Keys of documents that users, hooks, other programs and older files have: fields are named as they are.
KEYS = {
    # The journal of remediation, and what schedulers keep of our marks.
    "src/accelwatch/action/intent.py": "part mark asked",
    "src/accelwatch/fleet/state/evidence/file.py": "standing",
    "src/accelwatch/remediation/execution/journaling.py": "parts",
    "src/accelwatch/remediation/execution/operations/operation.py": "ended",
    "src/accelwatch/remediation/policy/guards/limits/breaker.py": "standing",
    "src/accelwatch/remediation/policy/guards/limits/budget.py": "place begun",
    "src/accelwatch/remediation/policy/guards/retry/job_history.py": "seen",
    "src/accelwatch/remediation/policy/plan/model.py": "in_the_way",
    "src/accelwatch/remediation/policy/state/case.py": "ladder wanted standing",
    "src/accelwatch/remediation/policy/state/model.py": (
        "mark rung looked_for spare_asked wanted_out asked asked_steps asked_as_of begun mark_lost"
        " came_from begin_again"
    ),
    "src/accelwatch/remediation/policy/state/node_tests.py": "ended",
    "src/accelwatch/remediation/policy/state/spares/model.py": "standing",
    "actions/accelwatch_slurm/texts/annotations.py": "asked",
    # The API, notifications, columns of the history, `topo --json`, `usage --json`.
    "src/accelwatch/alerting/sink.py": "held_back asks",
    "src/accelwatch/archive/history/rows.py": "nodes_wanted",
    "src/accelwatch/fleet/avoid/documents.py": "whole",
    "src/accelwatch/node/topology/matrix.py": "one",
    "src/accelwatch/node/usage/report.py": "began holds_now whole",
    # Configuration, hooks, tests of rules, and the contract of a backend.
    "actions/accelwatch_script/call.py": "wanted begin_from",
    "actions/accelwatch_script/observation.py": "standing mark",
    "actions/accelwatch_slurm/commands/options.py": "mark hold_place",
    "src/accelwatch_lab/cluster/stand_in/hook_documents.py": "wanted",
    "src/accelwatch/alerting/rules/document.py": "given",
    "src/accelwatch/backend/__init__.py": "found",
    # PyYAML reads this name.
    "src/accelwatch/system/located_yaml/tree.py": "start_mark",
}
# Words that say too little as a whole name; within one, as in `is_gone`, they may stand.
ALONE = {
    "gone": "lost, missing, absent, removed, disconnected",
    "rest": "remaining, remainder, others, suffix",
}

# A class of that name alone says too little: several rooms had one each, of other things.
OF_NO_CLASS = {
    *("Answer", "Document", "Moment", "Part", "Place", "Row"),
    *("Said", "Scene", "Sight", "Standing", "Told"),
}
# The page of `accelwatch why`, which is called so.
OF_ONE_CLASS = {"src/accelwatch/fleet/picture/why/answer.py: Answer"}


def definitions(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Names that a module defines, with their lines: also fields, and what an import or `as` names."""
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield node.name, node.lineno
            case ast.arg():
                yield node.arg, node.lineno
            case ast.Assign() | ast.For() | ast.comprehension() | ast.NamedExpr():
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                for target in targets:
                    yield from _stored(target)
            case ast.AnnAssign() | ast.AugAssign() | ast.AsyncFor():
                yield from _stored(node.target)
            case ast.withitem(optional_vars=ast.AST() as target):
                yield from _stored(target)
            case ast.alias(asname=str(name)) | ast.ExceptHandler(name=str(name)):
                yield name, node.lineno
            case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                yield name, node.lineno


@cache
def names_of(path: Path) -> tuple[tuple[str, int], ...]:
    """Names that the module of a file defines, with their lines; it is parsed once for all tests."""
    return tuple(definitions(ast.parse(path.read_text())))


def _stored(target: ast.AST) -> Iterator[tuple[str, int]]:
    for node in ast.walk(target):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id, node.lineno
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr, node.lineno


def old_words(name: str) -> list[str]:
    """The words of an identifier for which the field has others."""
    pieces = re.findall(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])", RIGHT.sub("", name))
    return [piece.lower() for piece in pieces if piece.lower() in INSTEAD]


def complaints(path: Path, words: frozenset[str] = frozenset(INSTEAD)) -> Iterator[str]:
    """What to rename in a module; `words` are those that it does without."""
    where = str(path.relative_to(ROOT))
    for name, line in (*names_of(path), (path.stem, 1)):
        if name in OF_DOCUMENTS or name in KEYS.get(where, "").split():
            continue
        for word in words.intersection(old_words(name)):
            if (
                (word in ("held", "holds") and SLURM.search(where))
                or (word in ("word", "words") and where == INFINIBAND)
                or (word == "survey" and SURVEY.search(where))
            ):
                continue
            yield f"{where}:{line}: {name}: not {word!r} but {INSTEAD[word]}"


def too_short(path: Path) -> Iterator[str]:
    """Names of a module that are one of those words and no more."""
    where = str(path.relative_to(ROOT))
    for name, line in names_of(path):
        word = name.strip("_")
        if word in ALONE:
            yield f"{where}:{line}: {name}: not {word!r} alone but {ALONE[word]}"


@pytest.mark.parametrize("folder", FOLDERS)
def test_names_say_what_is_gone_and_what_is_left(folder: str) -> None:
    modules = sorted((ROOT / folder).rglob("*.py"))
    assert modules
    assert [complaint for path in modules for complaint in too_short(path)] == []


@pytest.mark.parametrize("folder", FOLDERS)
def test_identifiers_use_the_words_of_the_field(folder: str) -> None:
    modules = sorted((ROOT / folder).rglob("*.py"))
    assert modules
    assert [complaint for path in modules for complaint in complaints(path)] == []


def test_each_key_is_a_field_of_its_module() -> None:
    missing = [
        f"{where}: {key}"
        for where, keys in KEYS.items()
        for key in keys.split()
        if key not in {name for name, _ in names_of(ROOT / where)}
    ]
    assert missing == []


@pytest.mark.parametrize(
    "text",
    [
        "told = 1",
        "told: int",
        "class A:\n    told: int",
        "told += 1",
        "with a() as told: ...",
        "async def f():\n    async for told in a: ...",
        "import a as told",
        "match a:\n    case b() as told: ...",
        "match a:\n    case [*told]: ...",
        "try: ...\nexcept A as told: ...",
        "def f(told): ...",
    ],
)
def test_a_name_is_found_wherever_it_is_defined(text: str) -> None:
    assert "told" in {name for name, _ in definitions(ast.parse(text))}


def test_a_class_is_named_for_what_it_holds() -> None:
    vague = {
        f"{path.relative_to(ROOT)}: {node.name}"
        for folder in FOLDERS
        for path in (ROOT / folder).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ClassDef) and node.name.strip("_") in OF_NO_CLASS
    }
    assert vague == OF_ONE_CLASS


@pytest.mark.parametrize("folder", ["tests", "benchmarks"])
def test_tests_use_them_too_where_they_have_started_to(folder: str) -> None:
    modules = sorted((ROOT / folder).rglob("*.py"))
    assert modules
    assert [complaint for path in modules for complaint in complaints(path, OF_TESTS)] == []


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("told_at", ["told"]),
        ("_Standing", ["standing"]),
        ("MOST_PARTS", ["parts"]),
        ("last_seen", []),
        ("seen_at", ["seen"]),
        ("OneShotLookup", []),
        ("partition", []),
    ],
)
def test_a_word_is_found_within_a_name(name: str, words: list[str]) -> None:
    assert old_words(name) == words
