"""Commands of people on nodes that stay in force."""

import msgspec


class Override(msgspec.Struct, frozen=True, kw_only=True):
    """A person undid what we did to a node: what was seen before may not quarantine it again."""

    node: str
    # Unix seconds; evidence up to here counts no more.
    at: float
    # Until then nothing quarantines it.
    until: float
    text: str = ""


class Boundary(msgspec.Struct, frozen=True, kw_only=True):
    """A person declared a node mended: evidence up to `at` (Unix seconds) cannot fire."""

    node: str
    at: float
    by: str


class Veto(msgspec.Struct, frozen=True, kw_only=True):
    """A person's veto against any action on a node, until a time, or until it is removed."""

    node: str
    by: str
    reason: str
    at: float
    # Unix seconds.
    until: float | None = None


class Stop(msgspec.Struct, frozen=True, kw_only=True):
    """A person stopped everything; releases of our own holds go on."""

    by: str
    at: float
    reason: str = ""


class Denied(msgspec.Struct, frozen=True, kw_only=True):
    """A person said no to what some rules want of a node, until a moment (Unix seconds)."""

    node: str
    # Those that wanted it quarantined when the person said so; another one may still act.
    rules: tuple[str, ...]
    by: str
    until: float

    def bears(self, rule: str, now: float) -> bool:
        """Whether it applies to a rule, and is not over."""
        return rule in self.rules and self.until > now
