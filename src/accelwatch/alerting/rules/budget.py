"""The processor time that each rule may use at a tick, and which rules exceeded it for too long."""

from collections.abc import Iterable, Mapping

from accelwatch.alerting.rules.rule import Rule

# After so many ticks in a row above its budget a rule is switched off.
MOST_OVERRUNS = 30


class Budgets:
    """Accounts the processor time of a set of rules at each tick; the clock is the caller's."""

    def __init__(self, most_s: float = float("inf")) -> None:
        """A rule may use so much processor time at a tick, in seconds."""
        self._most_ns = most_s * 1e9
        self._overruns: dict[str, int] = {}
        # Rules that are not judged any more, and why.
        self.switched_off: dict[str, str] = {}

    def allow(self, most_s: float) -> None:
        """Another budget from now on, and everybody is judged again."""
        self._most_ns = most_s * 1e9
        self._overruns.clear()
        self.switched_off.clear()

    def spent(self, rule: str, ns: float) -> None:
        """Account the processor time of a rule at a tick."""
        if ns <= self._most_ns:
            self._overruns.pop(rule, None)
            return
        overruns = self._overruns[rule] = self._overruns.get(rule, 0) + 1
        if overruns >= MOST_OVERRUNS:
            self.switched_off[rule] = (
                f"it took {ns / 1e6:.3g} ms of processor time at a tick, {overruns} times in a row, "
                f"and may take {self._most_ns / 1e6:.3g} ms"
            )

    def forgive(self, before: Mapping[str, Rule], after: Mapping[str, Rule]) -> None:
        """Rules that say something else now, or are gone, are judged again."""
        for id_ in self._changed(before, after):
            self.switched_off.pop(id_, None)
            self._overruns.pop(id_, None)

    def _changed(self, before: Mapping[str, Rule], after: Mapping[str, Rule]) -> Iterable[str]:
        for id_ in (*self._overruns, *self.switched_off):
            if id_ not in after or id_ not in before or after[id_].digest != before[id_].digest:
                yield id_
