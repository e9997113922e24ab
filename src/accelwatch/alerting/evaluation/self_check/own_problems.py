"""Notifies people, once each, of what is wrong with this process itself, and of its end."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from accelwatch.alerting.delivery.formatting.own_problem import OwnProblem, incident_of, resolved
from accelwatch.alerting.incidents.model.incident import Incident
from accelwatch.alerting.rules.document import Severity

# A disk that is slow for a moment wakes nobody.
NOTIFIED_AFTER_S = 10.0
_JOURNAL = "journal"
_REPAIR_HINT = "do what the line above says and see accelwatch incidents for whether it holds"

_LEFT_AS_IT_IS = (
    "Put right what the line above says: a disk that is full or read-only (df, mount), another hub that "
    "uses the folder, a file of a newer version or one that is damaged. The file is left as it is and "
    "nothing is written to it until then."
)
_SET_ASIDE = (
    "Check whether the disk is full or broken (df, dmesg) and whether the files were emptied; what the "
    "files set aside held is lost."
)


def journal_problem(stalled: str, unkept: str) -> OwnProblem | None:
    """What people are notified of when nothing is done, or nothing is kept; None while all is well.

    `stalled` is why nothing new is done about incidents where something should be, `unkept` what is
    wrong with the journal.
    """
    if stalled:
        return OwnProblem(
            key=_JOURNAL,
            title="nothing is done about incidents",
            text=stalled,
            what_to_do=f"{_REPAIR_HINT}. Until then look after bad nodes yourself; one that accelwatch "
            "has drained is given back by: accelwatch remedy release NODE --force --reason WHY",
        )
    if unkept:
        return OwnProblem(
            key=_JOURNAL,
            title="incidents are not kept in the journal",
            text=unkept,
            what_to_do=f"{_REPAIR_HINT}. Incidents are found and notified all the same, but a restart "
            "forgets them and all silences",
        )
    return None


def evaluation_problem(late_s: float, acts: bool) -> OwnProblem | None:
    """What people are notified of when rules are not evaluated in time; None while they are.

    `late_s` is for how long there was no evaluation, 0 while it keeps up; `acts`: remedies wait for it.
    """
    if not late_s:
        return None
    title = "rules are evaluated late"
    return OwnProblem(
        key="evaluation",
        title=f"{title}: nothing new is done about incidents" if acts else title,
        text=f"no evaluation for {late_s:.0f} s: new faults are not seen",
        what_to_do="look at load and memory of this machine: top, journalctl -u accelwatch-hub; "
        "accelwatch rules list shows what each rule costs. Restart the process if it does not "
        "recover by itself",
    )


def rules_problem(refused: str) -> OwnProblem | None:
    """What people are notified of when rule files cannot be loaded; None while they can."""
    if not refused:
        return None
    return OwnProblem(
        key="rules",
        title="rule files are broken: the previous rules stay in force",
        text=refused,
        what_to_do="fix the file: accelwatch rules check FILE says what is wrong. It is not used "
        "until then, and a restarted hub or agent does not start with it",
        severity=Severity.WARNING,
    )


def configuration_problem(refused: str) -> OwnProblem | None:
    """What people are notified of when a changed configuration is refused; None while it is not."""
    if not refused:
        return None
    return OwnProblem(
        key="configuration",
        title="the configuration is refused: the previous one stays in force",
        text=refused,
        what_to_do="fix it: accelwatch config check says what is wrong; then reload again. "
        "A restarted hub or agent does not start with it",
        severity=Severity.WARNING,
    )


def state_problem(set_aside: Sequence[Path], unread: Iterable[str]) -> OwnProblem | None:
    """What people are notified of when kept state could not be used; None while all of it is.

    `set_aside` are damaged files, replaced by empty ones: what these held is lost. `unread`
    says why others were left as they are: a disk that is full, another hub, a newer version.
    """
    left = list(unread)
    named = ", ".join(map(str, set_aside))
    titles, texts, steps = [], [*left], []
    if left:
        titles.append("state on disk cannot be used and is left as it is")
        steps.append(_LEFT_AS_IT_IS)
    if named:
        titles.append("state on disk was damaged and is started empty")
        texts.append(
            f"damaged, emptied or of another version, set aside and started empty: {named}"
        )
        steps.append(f"{_SET_ASIDE} Then remove {named}: this message ends with it.")
    if not titles:
        return None
    return OwnProblem(
        key="state",
        title="; ".join(titles),
        text="; ".join(texts),
        what_to_do=" ".join(steps),
        severity=Severity.WARNING,
    )


class OwnProblems:
    """One notification for each kind of problem; for one event loop."""

    def __init__(self, notify: Callable[[Incident], object]) -> None:
        """`notify` may get the same incident repeatedly."""
        self._notify = notify
        # Since when a kind of problem stands, in Unix and in monotonic seconds.
        self._since: dict[str, tuple[float, float]] = {}
        # What people were notified of and that is not over.
        self._notified: dict[str, Incident] = {}

    def update_problems(self, problems: Iterable[OwnProblem], now: float, at: float) -> None:
        """Update the problems to all present ones: `now` in Unix seconds, `at` in monotonic ones."""
        current = {problem.key: problem for problem in problems}
        for key in self._since.keys() - current.keys():
            del self._since[key]
        for key, problem in current.items():
            wall, since = self._since.setdefault(key, (now, at))
            if key not in self._notified and at - since >= NOTIFIED_AFTER_S:
                self._notified[key] = incident_of(problem, wall)
        for key in self._notified.keys() - current.keys():
            self._notify(resolved(self._notified.pop(key), now))
        for incident in self._notified.values():
            self._notify(incident)
