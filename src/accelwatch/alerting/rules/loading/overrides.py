"""What a site says of rules that stand elsewhere: a pack's rule may act, or is switched off.

Only what says how far a rule may go can be amended, never what it looks for: who wants another condition
writes a rule of his own.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from accelwatch.alerting.rules.document import AmendmentDocument, Confidence, Mode, Trust
from accelwatch.alerting.rules.loading.checks import Section, action_of, canary_of
from accelwatch.alerting.rules.loading.device_checks import check_device_level
from accelwatch.alerting.rules.rule import Action, Canary, Origin, Rule
from accelwatch.base.names.nearest import nearest

_ANY = "*"


@dataclass(frozen=True, slots=True, kw_only=True)
class Amendment:
    """A checked amendment; what is None stays as the rule has it."""

    # Ids; one that ends with `*` stands for all that begin so.
    rules: tuple[str, ...]
    mode: Mode | None
    act_on: Confidence | None
    trust: Trust | None
    action: Action | None
    canary: Canary | None
    digest: str
    # Where it is written.
    section: Section
    # Where its action is, or would be.
    action_origin: Origin


def amendments_of(
    written: Sequence[AmendmentDocument], section: Section, file: Path
) -> tuple[Amendment, ...]:
    """The amendments of a file; mistakes are complained about."""
    return tuple(_amendment(document, section.at(at), file) for at, document in enumerate(written))


def _amendment(written: AmendmentDocument, section: Section, file: Path) -> Amendment:
    mode = written.mode
    if mode is True:
        section.complain("mode", f"is one of {', '.join(Mode)}")
    if not written.rules:
        section.complain("rules", "no rule is named; write for example [nvidia.lost]")
    check_device_level(written.action, None, section.at("action"))
    settings = (written.act_on, written.trust, written.action, written.canary)
    if mode is None and not any(settings):
        section.complain("rules", "nothing is amended; write mode, act_on, trust, action or canary")
    return Amendment(
        rules=tuple(written.rules),
        mode=Mode.OFF if isinstance(mode, bool) else mode,
        act_on=written.act_on,
        trust=written.trust,
        action=action_of(written.action, section.at("action")),
        canary=canary_of(written.canary, section.at("canary")),
        digest=hashlib.sha256(msgspec.json.encode(written, order="deterministic")).hexdigest(),
        section=section,
        action_origin=Origin(file=file, line=section.at("action").line),
    )


def amended(
    rules: Mapping[str, Rule], amendments: Iterable[Amendment], *, is_complete: bool
) -> dict[str, Rule]:
    """The rules as the site wants them, in their order.

    `is_complete` is whether all rules of the files are here: then one that is not is complained about,
    and so is one of which two amendments say the same.
    """
    changed = dict(rules)
    amended_by: dict[tuple[str, str], Amendment] = {}
    for amendment in amendments:
        for at, name in enumerate(amendment.rules):
            meant = [id_ for id_ in rules if _is_meant(name, id_)]
            if not meant and is_complete:
                amendment.section.at("rules").complain(at, _unknown(name, rules))
            for id_ in meant:
                _once(amended_by, id_, amendment, at)
                changed[id_] = _with(changed[id_], amendment)
    return changed


def _is_meant(name: str, rule: str) -> bool:
    return rule.startswith(name.removesuffix(_ANY)) if name.endswith(_ANY) else rule == name


def _unknown(name: str, rules: Mapping[str, Rule]) -> str:
    close = nearest(name, list(rules))
    hint = f"did you mean {close}?" if close else "is its pack or file among the rules?"
    return f"no rule {name[:60]!r}; {hint}"


def _once(
    amended_by: dict[tuple[str, str], Amendment], rule: str, amendment: Amendment, at: int
) -> None:
    for key in ("mode", "act_on", "trust", "action", "canary"):
        if getattr(amendment, key) is None:
            continue
        other = amended_by.setdefault((rule, key), amendment)
        if other is not amendment:
            amendment.section.at("rules").complain(at, f"{key} of {rule} is amended twice")


def _with(rule: Rule, amendment: Amendment) -> Rule:
    return replace(
        rule,
        mode=amendment.mode or rule.mode,
        act_on=amendment.act_on or rule.act_on,
        trust=amendment.trust or rule.trust,
        action=amendment.action or rule.action,
        action_origin=amendment.action_origin if amendment.action else rule.action_origin,
        canary=amendment.canary or rule.canary,
        digest=hashlib.sha256(f"{rule.digest} {amendment.digest}".encode()).hexdigest(),
    )
