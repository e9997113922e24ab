"""A selector of labels: the same in every object of the API."""

from collections.abc import Mapping

import msgspec


class Requirement(msgspec.Struct, frozen=True, kw_only=True):
    """One entry of `matchExpressions`."""

    key: str
    # `In`, `NotIn`, `Exists` or `DoesNotExist`.
    operator: str
    values: tuple[str, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether an object with these labels fulfils it; an operator that we do not know: no."""
        match self.operator:
            case "In":
                return labels.get(self.key) in self.values
            case "NotIn":
                return labels.get(self.key) not in self.values
            case "Exists":
                return self.key in labels
            case "DoesNotExist":
                return self.key not in labels
        return False


class LabelSelector(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Which objects of a namespace are meant; an empty one means all of them."""

    match_labels: dict[str, str] = {}
    match_expressions: tuple[Requirement, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether an object with these labels is meant."""
        return self.match_labels.items() <= dict(labels).items() and all(
            requirement.matches(labels) for requirement in self.match_expressions
        )
