"""Conditions on the texts of a device: which text, and what fits."""

from accelwatch.expr.checking.tree import Comparison, Constant, Invoke, Items, Node, Reading
from accelwatch.expr.promql import texts
from accelwatch.expr.promql.query import PromqlError, Truth, literal_pattern
from accelwatch.expr.promql.query_context import QueryContext
from accelwatch.expr.promql.text_match import TextMatch


def text_condition(node: Node) -> tuple[str, TextMatch, bool] | None:
    """A condition on one text of a device: which, what fits, and whether it shall fit."""
    match node:
        case Comparison(
            operators=("==" | "!=" as symbol,),
            operands=(Reading(keys=(str(key),)), Constant(value=str(value)))
            | (Constant(value=str(value)), Reading(keys=(str(key),))),
        ):
            return key, TextMatch((value,)), symbol == "=="
        case Comparison(
            operators=("in" | "not in" as symbol,),
            operands=(Reading(keys=(str(key),)), Items(elements=elements)),
        ) if all(isinstance(element, Constant) for element in elements):
            options = tuple(
                str(element.value) for element in elements if isinstance(element, Constant)
            )
            return key, TextMatch(tuple(dict.fromkeys(options))), symbol == "in"
        case Comparison(
            operators=("in" | "not in" as symbol,),
            operands=(Constant(value=str(value)), Reading(keys=(str(key),))),
        ):
            return key, TextMatch(pattern=literal_pattern(value)), symbol == "in"
        case Invoke(name="matches", arguments=(Reading(keys=(str(key),)),), constants=constants):
            parameters = dict(constants)
            ignoring = "(?i)" if parameters["ignore_case"] else ""
            return key, TextMatch(pattern=f"{ignoring}{parameters['pattern']}"), True
    return None


def of_text(node: Node, context: QueryContext) -> Truth:
    """A condition on texts. Raises PromqlError."""
    matched = text_condition(node)
    if matched is None:
        subject = node.name if isinstance(node, Invoke) else "a comparison of two texts"
        raise PromqlError(f"{subject} cannot be expressed in PromQL")
    name, text_match, fits = matched
    compared = texts.compared(name, text_match, context)
    return compared if fits else compared.opposite
