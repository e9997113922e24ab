"""What a row of the table does when another rule's wish counts for a node that is out."""

from accelwatch.remediation.policy.plan.wishes import led_by, said_of, strictest
from accelwatch.remediation.policy.state.cases import leading
from accelwatch.remediation.policy.state.model import Remedy
from accelwatch.remediation.policy.state.outcome import Loudness
from accelwatch.remediation.policy.table.conditions import Scene


def judge_anew(at: Scene) -> Remedy:
    """Have the strictest wish count; what was begun by another goes on to its end."""
    wish, before = strictest(at.ctx, at.remedy), at.remedy.policy
    if wish is None or before is None:
        return at.remedy
    if wish.incident:
        text = (
            f"rule {wish.policy.rule} wants {said_of(wish.policy)}; until then it was, by rule "
            f"{before.rule}: {said_of(before)}"
        )
    else:
        stands = any(case.incident == at.remedy.led_by for case in leading(at.ctx, at.remedy))
        why = f"rule {before.rule} may not act any more" if stands else "the worse fault is over"
        text = f"{why}; rule {wish.policy.rule} counts again: {said_of(wish.policy)}"
    at.ctx.note(at.remedy, text, Loudness.TELL)
    return led_by(at.remedy, wish)
