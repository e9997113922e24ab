"""Conditions on the texts of a device: which text, and what fits."""

from accelwatch.expr.checking.tree import Comparison, Constant, Invoke, Items, Node, Reading
from accelwatch.expr.promql import texts
from accelwatch.expr.promql.place import Place
from accelwatch.expr.promql.query import PromqlError, Truth, literal_pattern
from accelwatch.expr.promql.wanted import Wanted


def asked_text(node: Node) -> tuple[str, Wanted, bool] | None:
    """A condition on one text of a device: which, what fits, and whether it shall fit."""
    match node:
        case Comparison(
            operators=("==" | "!=" as word,),
            operands=(Reading(keys=(str(key),)), Constant(value=str(value)))
            | (Constant(value=str(value)), Reading(keys=(str(key),))),
        ):
            return key, Wanted((value,)), word == "=="
        case Comparison(
            operators=("in" | "not in" as word,),
            operands=(Reading(keys=(str(key),)), Items(elements=elements)),
        ) if all(isinstance(one, Constant) for one in elements):
            words = tuple(str(one.value) for one in elements if isinstance(one, Constant))
            return key, Wanted(tuple(dict.fromkeys(words))), word == "in"
        case Comparison(
            operators=("in" | "not in" as word,),
            operands=(Constant(value=str(value)), Reading(keys=(str(key),))),
        ):
            return key, Wanted(pattern=literal_pattern(value)), word == "in"
        case Invoke(name="matches", arguments=(Reading(keys=(str(key),)),), constants=constants):
            told = dict(constants)
            ignoring = "(?i)" if told["ignore_case"] else ""
            return key, Wanted(pattern=f"{ignoring}{told['pattern']}"), True
    return None


def of_text(node: Node, place: Place) -> Truth:
    """A condition on texts. Raises PromqlError."""
    found = asked_text(node)
    if found is None:
        word = node.name if isinstance(node, Invoke) else "a comparison of two texts"
        raise PromqlError(f"{word} cannot be said in PromQL")
    name, wanted, fits = found
    compared = texts.compared(name, wanted, place)
    return compared if fits else compared.opposite
