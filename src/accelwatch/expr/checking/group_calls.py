"""Checks the calls over groups: peers by `by`, and conditions folded as in node.any(...)."""

import ast

from accelwatch.expr.checking.tree import Affected, Fold, Peers
from accelwatch.expr.checking.typing_pass import (
    Typing,
    choice_of,
    keyword_of,
    literal,
    only_keywords,
)
from accelwatch.expr.syntax.parse import Parsed
from accelwatch.expr.vocabulary.names import Type, did_you_mean
from accelwatch.expr.vocabulary.peers import FOLDS, GROUPS, JOB_GROUPS, PEERS


def peers(typing: Typing, call: ast.Call, name: str) -> Peers | Affected:
    """The typed call of a function over peers; raises ExpressionError."""
    row = PEERS[name]
    only_keywords(typing, call, name, ["by"])
    by = keyword_of(call, "by")
    if len(call.args) != 1 or by is None:
        what = "one value" if len(call.args) != 1 else "by="
        raise typing.refusal(call, f"{name} takes {what}", f"write {row.usage}")
    group = choice_of(typing, by, "group", list(GROUPS))
    if name == "peers_affected":
        rule = literal(typing, call.args[0])
        if not rule:
            message = "peers_affected takes the id of a rule in quotes"
            raise typing.refusal(call.args[0], message, f"write {row.usage}")
        return Affected(rule, group)
    return Peers(
        name.removeprefix("peer_"), typing.inside(name, call.args[0], condition=False), group
    )


def groups_by_job(parsed: Parsed) -> bool:
    """Whether an expression compares or counts devices of a job anywhere."""
    calls = [call for call in ast.walk(parsed.tree) if isinstance(call, ast.Call)]
    return any(_group_of(parsed, call) in JOB_GROUPS for call in calls)


def _group_of(parsed: Parsed, call: ast.Call) -> str | None:
    """The group that a call names, whether or not there is such a group."""
    if isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Name):
        return call.func.value.id
    by = keyword_of(call, "by")
    if isinstance(by, ast.Constant) and isinstance(by.value, str):
        return parsed.string(by)
    return None


def is_fold(call: ast.Call) -> bool:
    """Whether it is written as in node.any(...)."""
    return isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Name)


def fold(typing: Typing, call: ast.Call, group: str, name: str) -> Fold:
    """The typed fold; raises ExpressionError."""
    qualified = f"{group}.{name}"
    if group not in GROUPS:
        hint = did_you_mean(group, GROUPS) or f"groups are {', '.join(GROUPS)}"
        raise typing.refusal(call.func, f"{group} is not a group of devices", hint)
    row = FOLDS.get(name)
    if row is None:
        hint = did_you_mean(name, FOLDS) or f"there are {', '.join(f'{group}.{f}' for f in FOLDS)}"
        raise typing.refusal(call.func, f"unknown fold {qualified}", hint)
    only_keywords(typing, call, qualified, [])
    if name == "count" and not call.args:
        return Fold(name, None, group, Type.NUMBER)
    if len(call.args) != 1:
        hint = f"write {qualified}(temperature_celsius > 85)"
        raise typing.refusal(call, f"{qualified} takes one condition, not {len(call.args)}", hint)
    return Fold(name, typing.inside(qualified, call.args[0], condition=True), group, row.result)
