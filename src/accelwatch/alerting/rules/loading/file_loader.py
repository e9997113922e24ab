"""One rule file to checked rules, every mistake with its line, key and the mend."""

import hashlib
import re
from collections.abc import Callable, Sequence
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
from accelwatch.alerting.rules.loading.overrides import Amendment, amendments_of
from accelwatch.alerting.rules.loading.scope import check_scope
from accelwatch.alerting.rules.loading.selection import selecting
from accelwatch.alerting.rules.rule import Origin, Profile, Rule, RuleSet
from accelwatch.alerting.rules.timing import Timing
from accelwatch.base.errors import ConfigError, ExpressionError
from accelwatch.expr.cost import Cost
from accelwatch.expr.rule import RuleExpression, compile_rule, compile_rule_value
from accelwatch.expr.vocabulary.names import NameTable
from accelwatch.system.located_yaml.document import LocatedDocument
from accelwatch.system.located_yaml.nodes import Location

MOST_RULES = 1000
# How far a profile lets rules go, from nothing to a resumed job.
CEILINGS = ("observe", "quarantine", "drain", "remedy", "resume")
Setting = TypeVar("Setting")
# Whether somebody here may be meant by a selection.
Concerned = Callable[[Scope, RuleExpression | None], bool]
# Expressions that were checked, by text, scope and whether they are conditions.
Checked = dict[tuple[str, Scope, bool], RuleExpression]
_ID = re.compile(r"[a-z0-9_]+(\.[a-z0-9_]+)*")


class FileLoader:
    """One file; `before` are the rules of the files before it."""

    def __init__(
        self,
        file: Path,
        document: LocatedDocument,
        names: NameTable | None,
        before: dict[str, Rule],
        concerned: Concerned | None,
        *,
        checked: Checked,
    ) -> None:
        self._file = file
        self._document = document
        self._names = names
        self._before = before
        self._concerned = concerned
        # Most selections of a pack are the same.
        self._checked = checked
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
            return rules  # the check of the file's shape has reported it
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
