"""Rule files to checked rules; all mistakes of all files at once, with file, line, key and the mend."""

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import msgspec

from accelwatch.alerting.rules.document import (
    VERSION,
    CaseDocument,
    Defaults,
    FileDocument,
    Mode,
    ProfileDocument,
    RuleDocument,
    Scope,
)
from accelwatch.alerting.rules.loading.case_events import check_events
from accelwatch.alerting.rules.loading.checks import (
    Section,
    action_of,
    canary_of,
    grouping_of,
    seconds_of,
)
from accelwatch.alerting.rules.loading.device_checks import check_device_level
from accelwatch.alerting.rules.loading.overrides import Amendment, amended, amendments_of
from accelwatch.alerting.rules.loading.scope import check_scope
from accelwatch.alerting.rules.loading.selection import selecting
from accelwatch.alerting.rules.rule import Origin, Profile, Rule, RuleSet
from accelwatch.alerting.rules.timing import Timing
from accelwatch.base.errors import ConfigError, ExpressionError
from accelwatch.expr.cost import Cost
from accelwatch.expr.rule import RuleExpression, compile_rule, compile_rule_value
from accelwatch.expr.vocabulary.detector_names import DETECTOR
from accelwatch.expr.vocabulary.names import NameTable
from accelwatch.located_yaml.document import Document, parse, read
from accelwatch.located_yaml.nodes import Location, read_file
from accelwatch.schema.metrics import nearest

# The rules that are shipped, a file a pack.
PACKS = Path(__file__).parents[1] / "packs"
SUFFIXES = (".yaml", ".yml")
MOST_RULES = 1000
# How far a profile lets rules go, from nothing to a resumed job.
CEILINGS = ("observe", "quarantine", "drain", "remedy", "resume")
Setting = TypeVar("Setting")
# Whether somebody here may be meant by a selection.
Concerned = Callable[[Scope, RuleExpression | None], bool]
_ID = re.compile(r"[a-z0-9_]+(\.[a-z0-9_]+)*")


def pack_names() -> list[str]:
    """Names of the packs that are shipped."""
    names = sorted(path.stem for path in PACKS.glob("*.yaml"))
    # Of what begins at the same moment the first rule leads: one that knows what it sees.
    return sorted(names, key=lambda name: name == DETECTOR)


def pack_file(name: str) -> Path:
    """The file of a pack. Raises ConfigError with the nearest name for one that is not shipped."""
    names = pack_names()
    if name not in names:
        close = nearest(name, names)
        hint = f"did you mean {close}?" if close else f"there are {', '.join(names)}"
        raise ConfigError(f"no pack {name[:60]!r}; {hint}")
    return PACKS / f"{name}.yaml"


def files_of(paths: Iterable[Path]) -> list[Path]:
    """Rule files: those named, and those of named folders in the order of their names.

    Raises ConfigError for what is not there.
    """
    files: dict[Path, None] = {}
    for path in paths:
        if path.is_dir():
            inside = [entry for entry in path.iterdir() if entry.suffix in SUFFIXES]
            files.update(dict.fromkeys(sorted(inside)))
        elif path.exists():
            files[path] = None
        else:
            raise ConfigError(f"{path}: no such rule file")
    return list(files)


def refuse_empty_folders(paths: Iterable[Path]) -> None:
    """For folders of a command line: raises ConfigError for one without a rule file."""
    for path in paths:
        if path.is_dir() and not files_of([path]):
            raise ConfigError(
                f"{path}: there is no rule file in this folder; they end in {' or '.join(SUFFIXES)}, "
                "and folders inside it are not read"
            )


def load(
    paths: Iterable[Path],
    names: NameTable | None = None,
    *,
    tests: bool = True,
) -> RuleSet:
    """The rules of files and folders, over the names of a device or those of a fleet.

    Who plays no `tests` spares reading those of the packs. Raises ConfigError with a line for each
    mistake of all files.
    """
    return RuleFiles(paths, tests=tests).rules(names)


class RuleFiles:
    """Rule files that are read; what they say is checked by `rules`."""

    def __init__(self, paths: Iterable[Path], *, tests: bool = True) -> None:
        """Raises ConfigError for a path at which there is nothing."""
        self._files = files_of(paths)
        self._read: list[tuple[Path, Document | ConfigError]] = []
        for file in self._files:
            content: Document | ConfigError
            try:
                content = read(file) if tests or file.parent != PACKS else _read_without_tests(file)
            except ConfigError as error:
                content = error
            self._read.append((file, content))

    def rules(self, names: NameTable | None = None, concerned: Concerned | None = None) -> RuleSet:
        """Their rules. Raises ConfigError with a line for each mistake of all files.

        Rules of packs with which nobody is `concerned` are left out, before the time for checking them
        is spent.
        """
        rules: dict[str, Rule] = {}
        profiles: list[Profile] = []
        amendments: list[Amendment] = []
        complaints: list[str] = []
        for file, document in self._read:
            selector = concerned if file.parent == PACKS else None
            try:
                if isinstance(document, ConfigError):
                    raise document
                loader = _FileLoader(file, document, names, rules, selector)
                loaded = loader.load()
            except ConfigError as error:
                complaints.append(str(error))
            else:
                rules.update(loaded.rules)
                profiles += loaded.profiles
                amendments += loader.amendments
        if not complaints:
            rules = amended(rules, amendments, is_complete=concerned is None)
            complaints += self._refusals()
        if complaints:
            raise ConfigError("\n".join(complaints))
        digest = hashlib.sha256("".join(rule.digest for rule in rules.values()).encode())
        return RuleSet(
            rules=rules,
            profiles=tuple(profiles),
            digest=digest.hexdigest(),
            files=tuple(self._files),
        )

    def _refusals(self) -> Iterator[str]:
        """What is wrong with files of which each is well for itself."""
        for _, document in self._read:
            try:
                if isinstance(document, Document):
                    document.refuse()
            except ConfigError as error:
                yield str(error)


# The tests of a rule of a pack: lines that are further in. They are two thirds of a pack.
_TESTS = re.compile(rb"^  tests:\n(?:(?:  [ -] .*)?\n)*", re.MULTILINE)


def _read_without_tests(file: Path) -> Document:
    """A pack's file; what follows the tests stands on the line where it is written."""
    content = _TESTS.sub(lambda match: b"\n" * match[0].count(b"\n"), read_file(file))
    return parse(content, str(file))


class _FileLoader:
    """One file; `before` are the rules of the files before it."""

    def __init__(
        self,
        file: Path,
        document: Document,
        names: NameTable | None,
        before: dict[str, Rule],
        concerned: Concerned | None,
    ) -> None:
        self._file = file
        self._document = document
        self._names = names
        self._before = before
        self._concerned = concerned
        # Expressions by text: most selections of a pack are the same.
        self._checked: dict[tuple[str, Scope, bool], RuleExpression] = {}
        self.amendments: tuple[Amendment, ...] = ()

    def load(self) -> RuleSet:
        """Its rules and profiles. Raises ConfigError."""
        document = self._document
        data = document.data if document.data is not None else {}
        if isinstance(data, dict) and data.get("version") != VERSION:
            document.complain(
                ("version",), f"the version of the format is needed; write version: {VERSION}"
            )
        shape = document.struct(data, FileDocument, ())
        rules: dict[str, Rule] = {}
        profiles: tuple[Profile, ...] = ()
        if shape is not None:
            if len(shape.rules) > MOST_RULES:
                document.complain(("rules",), f"more than {MOST_RULES} rules; use several files")
            rules = self._rules(shape.defaults)
            profiles = self._profiles(shape.profiles)
            self.amendments = amendments_of(shape.amend, Section(document, ("amend",)), self._file)
        document.refuse()
        return RuleSet(rules=rules, profiles=profiles)

    def _rules(self, defaults: Defaults) -> dict[str, Rule]:
        rules: dict[str, Rule] = {}
        items = self._document.data.get("rules", [])
        if not isinstance(items, list):
            return rules  # which was told with the file's shape
        for path, document in self._document.structs(items, RuleDocument, ("rules",)):
            select = self._selection(document, Section(self._document, path))
            if self._concerned is not None and not self._concerned(document.scope, select):
                continue
            rule = self._rule(document, defaults, path, select)
            existing = rules.get(rule.id) or self._before.get(rule.id)
            if existing is not None:
                message = f"{rule.id} is given twice; the other is in {existing.origin}"
                self._document.complain((*path, "id"), message)
            # What an event has to match is known once the expressions are.
            if not self._document.is_wrong(path):
                check_events(rule.tests, rule.expressions, Section(self._document, path))
            rules[rule.id] = rule
        return rules

    def _rule(
        self,
        written: RuleDocument,
        defaults: Defaults,
        path: Location,
        select: RuleExpression | None,
    ) -> Rule:
        section = Section(self._document, path)
        if not _ID.fullmatch(written.id) or len(written.id) > 100:
            section.complain("id", "small letters, digits, _ and dots, such as nvidia.lost")
        check_device_level(written.action, written.scope, section.at("action"))
        line = self._document.line((*path, "id"))
        return Rule(
            id=written.id,
            title=written.title,
            scope=written.scope,
            family=written.family or written.id,
            select=select,
            when=self._expression(written.when, written.scope, section, "when"),
            confirm=self._optional(written.confirm, written.scope, section, "confirm"),
            clear=self._optional(written.clear, written.scope, section, "clear"),
            timing=Timing(
                for_s=seconds_of(written.for_, section, "for"),
                keep_s=seconds_of(_or(written.keep, defaults.keep), section, "keep"),
                unknown_after_s=seconds_of(
                    _or(written.unknown_after, defaults.unknown_after), section, "unknown_after"
                ),
            ),
            cooldown_s=seconds_of(_or(written.cooldown, defaults.cooldown), section, "cooldown"),
            severity=written.severity,
            confidence=written.confidence,
            act_on=written.act_on,
            mode=_mode(_or(written.mode, defaults.mode), section),
            trust=_or(written.trust, defaults.trust),
            advice=written.advice,
            what_to_do=written.what_to_do,
            detail=self._detail(written, section),
            show=self._shown(written, section),
            action=action_of(written.action, section.at("action")),
            group=grouping_of(written.group, section.at("group")),
            canary=canary_of(written.canary, section.at("canary")),
            local=written.local,
            runbook=written.runbook,
            source=written.source,
            origin=Origin(file=self._file, line=line),
            digest=_digest(written),
            tests=_distinct(written.tests, section),
        )

    def _selection(self, written: RuleDocument, section: Section) -> RuleExpression | None:
        try:
            text = selecting(written.select)
        except ConfigError as error:
            section.complain("select", str(error))
            return None
        return self._optional(text, written.scope, section, "select")

    def _optional(
        self, text: str, scope: Scope, section: Section, key: str
    ) -> RuleExpression | None:
        return self._expression(text, scope, section, key) if text.strip() else None

    def _expression(
        self, text: str, scope: Scope, section: Section, key: str | int, *, condition: bool = True
    ) -> RuleExpression:
        compile_ = compile_rule if condition else compile_rule_value
        cached = self._checked.get((text, scope, condition))
        if cached is not None:
            return replace(cached, cost=Cost())
        try:
            expression = compile_(text, self._names)
            check_scope(expression, scope)
            self._checked[text, scope, condition] = expression
        except ExpressionError as error:
            section.complain(key, str(error))
            return compile_rule("1 == 1")  # refused before anybody judges it
        return expression

    def _detail(self, written: RuleDocument, section: Section) -> RuleExpression | None:
        if not written.detail.strip():
            return None
        return self._expression(written.detail, written.scope, section, "detail", condition=False)

    def _shown(self, written: RuleDocument, section: Section) -> tuple[RuleExpression, ...]:
        return tuple(
            self._expression(text, written.scope, section.at("show"), at, condition=False)
            for at, text in enumerate(written.show)
        )

    def _profiles(self, written: Sequence[ProfileDocument]) -> tuple[Profile, ...]:
        profiles: list[Profile] = []
        for at, profile in enumerate(written):
            section = Section(self._document, ("profiles", at))
            if profile.ceiling not in CEILINGS:
                section.complain("ceiling", f"is one of {', '.join(CEILINGS)}")
            when = self._optional(profile.when, Scope.NODE, section, "when")
            profiles.append(Profile(when=when, ceiling=profile.ceiling))
        return tuple(profiles)


def _mode(written: Mode | bool, section: Section) -> Mode:
    if written is True:
        section.complain("mode", f"is one of {', '.join(Mode)}")
    return Mode.OFF if isinstance(written, bool) else written


def _distinct(tests: Sequence[CaseDocument], section: Section) -> tuple[CaseDocument, ...]:
    names: set[str] = set()
    for at, test in enumerate(tests):
        if test.name in names:
            section.at("tests", at).complain("name", f"{test.name!r} is given twice")
        names.add(test.name)
    return tuple(tests)


def _digest(written: RuleDocument) -> str:
    content = msgspec.structs.replace(written, tests=[])
    return hashlib.sha256(msgspec.json.encode(content, order="deterministic")).hexdigest()


def _or(own: Setting | None, default: Setting) -> Setting:
    return default if own is None else own
