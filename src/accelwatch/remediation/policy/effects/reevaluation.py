"""What a row of the table does when another rule's wish counts for a node that is out."""

from accelwatch.remediation.policy.conditions.transition import Transition
from accelwatch.remediation.policy.context.cases import leading
from accelwatch.remediation.policy.context.outcome import Loudness
from accelwatch.remediation.policy.plan.desired_policy import led_by, policy_text, strictest
from accelwatch.remediation.policy.state.model import Remedy


def reevaluate(transition: Transition) -> Remedy:
    """Apply the strictest policy; an intent of another policy goes on to its end."""
    desired, before = strictest(transition.ctx, transition.remedy), transition.remedy.policy
    if desired is None or before is None:
        return transition.remedy
    if desired.incident:
        text = (
            f"rule {desired.policy.rule} wants {policy_text(desired.policy)}; until then it was, by "
            f"rule {before.rule}: {policy_text(before)}"
        )
    else:
        stands = any(
            case.incident == transition.remedy.led_by
            for case in leading(transition.ctx, transition.remedy)
        )
        why = f"rule {before.rule} may not act any more" if stands else "the worse fault is over"
        text = f"{why}; rule {desired.policy.rule} counts again: {policy_text(desired.policy)}"
    transition.ctx.note(transition.remedy, text, Loudness.NOTIFY)
    return led_by(transition.remedy, desired)
