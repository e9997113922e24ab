"""The buttons of the page, and what comes back when one is pressed.

Each verb has a form of its own: the return key in a text field presses the first button of its form, and
that must never be a yes.
"""

from collections.abc import Mapping
from urllib.parse import parse_qs

import msgspec

from accelwatch.base.errors import UsageError
from accelwatch.fleet.incident_page.decisions import Decision
from accelwatch.remediation.policy.state.changes import Verb
from accelwatch.web.pages.markup import Markup, element
from accelwatch.web.pages.page import Headers
from accelwatch.web.protection.roles import Role

FORM = "application/x-www-form-urlencoded"
NEEDED: Mapping[Verb, Role] = {
    Verb.APPROVE: Role.APPROVE,
    Verb.DENY: Role.APPROVE,
    Verb.HOLD: Role.ACT,
}
_LASTS = (
    ("1h", "1 hour"),
    ("4h", "4 hours"),
    ("12h", "12 hours"),
    ("1d", "1 day"),
    ("7d", "7 days"),
)
_MOST_FIELDS = 16


class Pressed(msgspec.Struct, frozen=True, kw_only=True):
    """What somebody wants."""

    verb: Verb
    node: str
    # By which we know that the page was ours.
    form: str
    plan: str = ""
    reason: str = ""
    lasts: str = ""


def pressed(headers: Headers, body: bytes) -> Pressed:
    """What a form says. Raises UsageError."""
    media = headers.get("Content-Type", "").partition(";")[0].strip().lower()
    if media != FORM:
        raise UsageError("this takes the forms of its own page only")
    try:
        fields = parse_qs(body.decode("utf-8"), max_num_fields=_MOST_FIELDS)
    except (UnicodeDecodeError, ValueError) as error:
        raise UsageError("the form cannot be read") from error
    submitted = {name: values[0] for name, values in fields.items() if len(values) == 1}
    if len(submitted) < len(fields):
        raise UsageError("the form says something twice")
    verb = submitted.get("verb", "")
    if verb not in NEEDED:
        raise UsageError(f"verb: {verb[:40]!r} is not one of {', '.join(NEEDED)}")
    return Pressed(
        verb=Verb(verb),
        node=submitted.get("node", ""),
        form=submitted.get("form", ""),
        plan=submitted.get("plan", ""),
        reason=submitted.get("reason", ""),
        lasts=submitted.get("for", ""),
    )


def buttons(decision: Decision, verbs: set[Verb], action: str, token: str) -> list[Markup]:
    """The forms for those of the verbs that make sense now."""
    node = decision.node
    made: list[Markup] = []
    hidden = [_hidden("form", token), _hidden("node", node)]
    if decision.waits and Verb.APPROVE in verbs:
        made.append(
            _form(
                action,
                *hidden,
                _hidden("plan", decision.plan.digest),
                _button(Verb.APPROVE, f"Approve: {decision.plan.steps[0].text}", "yes")
                if decision.plan.steps
                else _button(Verb.APPROVE, "Approve", "yes"),
            )
        )
    if decision.waits and Verb.DENY in verbs:
        made.append(
            _form(
                action,
                *hidden,
                _lasting(f"deny-{node}", "If you deny: no new request for"),
                _reason(f"deny-why-{node}"),
                _button(Verb.DENY, "Deny", "no"),
            )
        )
    if Verb.HOLD in verbs and not decision.vetoed_by:
        hold = _form(
            action,
            *hidden,
            _lasting(f"hold-{node}", "Do nothing to it for"),
            _reason(f"hold-why-{node}"),
            _button(Verb.HOLD, f"Hold: do nothing to {node}", ""),
        )
        made.append(element("details", element("summary", "Hold this node"), hold))
    return made


def _form(action: str, *children: Markup) -> Markup:
    return element("form", *children, method="post", action=action, autocomplete="off")


def _hidden(name: str, value: str) -> Markup:
    return element("input", type="hidden", name=name, value=value)


def _button(verb: Verb, text: str, class_: str) -> Markup:
    return element("button", text, name="verb", value=verb.value, class_=class_ or None)


def _lasting(id_: str, text: str) -> Markup:
    options = (element("option", label, value=value) for value, label in _LASTS)
    return element(
        "div",
        element("label", text, for_=id_),
        element("select", *options, name="for", id=id_),
    )


def _reason(id_: str) -> Markup:
    field = element("input", name="reason", id=id_, maxlength=300)
    return element("div", element("label", "Reason (kept in the audit log)", for_=id_), field)
