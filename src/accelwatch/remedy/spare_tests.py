"""Idle spares are tested at intervals, one after another: who stands in is known to work. Pure."""

from collections.abc import Iterator

from accelwatch.action.intent import Intent, Mark
from accelwatch.action.intent import IntentKind as Kind
from accelwatch.action.step import RefusalKind
from accelwatch.remedy import data_guard, spares
from accelwatch.remedy.ceiling import Bearing, Ceiling, answers
from accelwatch.remedy.clocks import FRESH_S, TEST_S
from accelwatch.remedy.denial import PERMIT, Answer, Denial, DenialKind
from accelwatch.remedy.pursued import Ending, Pursued
from accelwatch.remedy.spares import SpareStanding
from accelwatch.remedy.standing_in import candidate, hub_name
from accelwatch.remedy.surroundings import Surroundings
from accelwatch.rules.document import Mode

INCIDENT = "spare-test"
"""What stands in the mark of such a test, in the place of an incident."""


def keep_tested(sur: Surroundings) -> None:
    """Begin the test that is due most, unless one runs."""
    known = sur.state.spares
    if any(one.standing is SpareStanding.TESTING for one in known.spares.values()):
        return
    for name in spares.due_for_test(known, sur.now, sur.settings.spares):
        if not any(isinstance(answer, Denial) for answer in _asked(sur, name)):
            _begin(sur, name)
            return


def _begin(sur: Surroundings, name: str) -> None:
    test = sur.settings.spares.test
    intent = Intent(
        kind=Kind.TEST,
        mark=Mark(INCIDENT, sur.state.token),
        node=name,
        reason=f"idle spare, {test}",
        spare=name,
        test=test,
        asked=sur.now,
        deadline=sur.now + TEST_S,
    )
    sur.set("spares", spares.testing(sur.state.spares, name, sur.now))
    sur.put("chores", f"test {name}", intent)
    sur.pursue(intent)


def _asked(sur: Surroundings, name: str) -> Iterator[Answer]:
    node = hub_name(sur, name)
    heard, seen = sur.heard(node), sur.world.seen.get(name)
    stop, veto = sur.state.stop, sur.state.vetoes.get(node)
    bearing = Bearing(
        node=node,
        mode=Mode.AUTO,
        site=Ceiling(sur.settings.ceiling),
        profile=None if heard is None else Ceiling(heard.ceiling),
        stopped_by="" if stop is None else f"{stop.by}: {stop.reason}",
        held_by="" if veto is None else f"{veto.by}: {veto.reason}",
    )
    yield from answers(bearing, Kind.TEST)
    yield data_guard.may_begin(sur.world.guard)
    proof = sur.proof(node)
    yield proof if isinstance(proof, Denial) else PERMIT
    scheduler = sur.world.schedulers.get(sur.world.seen_by.get(name, ""))
    if scheduler is None or scheduler.unavailable or sur.now - scheduler.time > FRESH_S:
        yield Denial(why=DenialKind.DATA, text="its scheduler does not answer now")
    if seen is None or seen.jobs or not candidate(sur, name).usable:
        yield Denial(why=DenialKind.NO_SPARE, text=f"{name} is not idle, or does not look well")


def tested(sur: Surroundings, pursued: Pursued) -> None:
    """What came of a test; one that could not be run says nothing of the spare."""
    name, known = pursued.intent.node, sur.state.spares
    spare = known.spares.get(name)
    if spare is None or spare.standing is not SpareStanding.TESTING:
        return
    if pursued.ending is Ending.ACHIEVED:
        sur.set("spares", spares.passed(known, name, sur.now))
        return
    if pursued.refusal is RefusalKind.UNFIT:
        text = f"failed {pursued.intent.test}: {pursued.text}"
        sur.set("spares", spares.failed(known, name, text))
        sur.call(f"the spare {name} {text}; it is not drawn", hub_name(sur, name))
        return
    sur.set("spares", spares.untested(known, name))
    if pursued.ending is not Ending.CANCELLED:
        text = f"the spare {name} could not be tested: {pursued.text}"
        sur.call(text, hub_name(sur, name))
