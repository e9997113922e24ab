"""What an expression may read, by its rule's scope: a node has no temperature, its devices have."""

from collections.abc import Iterator

from accelwatch.alerting.rules.document import Scope
from accelwatch.base.errors import ExpressionError
from accelwatch.expr.checking.tree import Affected, Fold, Node, Peers, Reading, children
from accelwatch.expr.rule import RuleExpression
from accelwatch.expr.syntax.complaint import complaint
from accelwatch.expr.vocabulary.detector_names import DETECTOR_FIELDS
from accelwatch.expr.vocabulary.rule_names import LABEL_PREFIX, ODD, of_host

_OF_NODE = frozenset({"node", "node_state", "host", "boot_id", ODD})
_OF_JOB = frozenset(
    {"job", "job_name", "user", "account", "scheduler", "queue", "namespace", "pod"}
)
_FIELDS = {
    Scope.NODE: _OF_NODE,
    Scope.JOB: _OF_JOB,
    Scope.RACK: frozenset[str](),
}
# A node has no finding of its own where it is part of what many have.
_DETECTED_WITH = {Scope.NODE: ("group",)}


def check_scope(expression: RuleExpression, scope: Scope) -> None:
    """Raise ExpressionError for what entities of a scope cannot answer by themselves.

    Inside a fold every device of the entity is read, so that everything is allowed.
    """
    if scope is Scope.DEVICE:
        return
    for node in _outside_folds(expression.tree):
        match node:
            case Fold(by=by) if by != scope:
                raise _refusal(
                    expression, node, f"a {scope} is not in one {by}", f"{scope}.any(...)"
                )
            case Peers() | Affected():
                raise _refusal(
                    expression, node, f"a {scope} has no peers", f"{scope}.any(...) with it inside"
                )
            case Reading(keys=keys) if not _answers(keys[0], scope):
                fragment = expression.text[node.span[0] : node.span[1]]
                raise _refusal(
                    expression,
                    node,
                    f"{fragment} does not describe a {scope}",
                    f"{scope}.any({fragment} ...)",
                )


def _answers(key: object, scope: Scope) -> bool:
    if isinstance(key, tuple):
        return scope is Scope.NODE and of_host(key)
    name = str(key)
    if (detected := DETECTOR_FIELDS.get(name)) is not None:
        return detected.subject in (scope, *_DETECTED_WITH.get(scope, ()))
    if name.startswith(LABEL_PREFIX):
        return scope is not Scope.JOB
    return name in _FIELDS[scope]


def _outside_folds(node: Node) -> Iterator[Node]:
    yield node
    if not isinstance(node, Fold):
        for child in children(node):
            yield from _outside_folds(child)


def _refusal(expression: RuleExpression, node: Node, message: str, instead: str) -> ExpressionError:
    return complaint(expression.text, node.span[0], message, f"write {instead}")
