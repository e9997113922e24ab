"""Texts that fit, as matchers of labels."""

from dataclasses import dataclass

from accelwatch.expr.promql.query import PromqlError, literal_pattern, quoted


@dataclass(frozen=True, slots=True)
class TextMatch:
    """A text that fits: one of some words, or one in which a pattern is found."""

    values: tuple[str, ...] = ()
    pattern: str = ""

    def matcher(self, label: str, *, fits: bool) -> str:
        """A matcher of PromQL on a label. Raises PromqlError."""
        if self.pattern:
            return f"{label}{'=~' if fits else '!~'}{quoted(f'.*(?:{self.pattern}).*')}"
        if not all(self.values):
            raise PromqlError("an empty text is not a label in Prometheus")
        if len(self.values) == 1:
            return f"{label}{'=' if fits else '!='}{quoted(self.values[0])}"
        pattern = "|".join(map(literal_pattern, self.values))
        return f"{label}{'=~' if fits else '!~'}{quoted(pattern)}"
