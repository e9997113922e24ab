"""The page of an incident: who sees what, and what a form may do."""

import asyncio
import hashlib
import string
from typing import Any

import msgspec
import pytest

from accelwatch.alerting.delivery.formatting.text import time_text
from accelwatch.alerting.rules.verdict import Evidence
from accelwatch.base.errors import UnmetError, UsageError
from accelwatch.fleet.approval.links import Link, Signer
from accelwatch.remediation.execution.inbox import Reply
from accelwatch.remediation.policy.state.changes import Verb
from accelwatch.remediation.policy.state.model import Approval, RemedyState
from accelwatch.remediation.policy.state.orders import Stop
from accelwatch.remediation.policy.state.stage import Stage
from accelwatch.web.protection.roles import Role
from fleet.incident_page.approval_hub import GUEST, NOW, ApprovalHub
from support.incidents.remedy_documents import TESTED

NASTY = "<script>alert(1)</script>\" onload='x' \u202egpj"


def html(page: Any) -> str:
    text: str = page.body.decode()
    return text


def press(hub: ApprovalHub, token: str = "", **change: Any) -> Any:
    return asyncio.run(hub.press(token, **change))


def test_it_says_what_would_be_done_and_its_price() -> None:
    shown = html(ApprovalHub().show())
    assert "GPU has fallen off the bus" in shown
    assert "n12 nvidia3" in shown
    assert "take n12 out of the pool" in shown
    assert "saves 12.0 GPU-hours, costs 2.5" in shown
    assert "(29 min left)" in shown


def test_nothing_that_anybody_is_called_becomes_markup() -> None:
    evidence = (Evidence(signal="x", text=NASTY),)
    hub = ApprovalHub(
        title=NASTY, what_to_do=NASTY, evidence=evidence, runbook="javascript:alert(1)"
    )
    hub.plan("p1", NASTY)
    shown = html(hub.show())
    assert "<script" not in shown
    assert "onload='" not in shown
    assert "\u202e" not in shown
    assert "javascript:" not in shown
    assert "&lt;script&gt;" in shown


def test_the_page_requests_nothing_else_and_runs_nothing() -> None:
    page = ApprovalHub().show()
    policy = page.headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "form-action 'self'" in policy
    assert "frame-ancestors 'none'" in policy
    assert page.headers["Referrer-Policy"] == "no-referrer"
    assert page.headers["Cache-Control"] == "no-store"
    assert "src=" not in html(page)
    assert " style=" not in html(page), (
        "the policy lets the page's own style sheet through, no more"
    )


@pytest.mark.parametrize(
    ("role", "verbs"),
    [
        (Role.READ, set()),
        (Role.APPROVE, {"approve", "deny"}),
        (Role.ACT, {"approve", "deny", "hold"}),
        (Role.ADMIN, {"approve", "deny", "hold"}),
    ],
)
def test_who_may_do_something_has_the_button(role: Role, verbs: set[str]) -> None:
    shown = html(ApprovalHub().show(role=role))
    offered = {verb for verb in ("approve", "deny", "hold") if f'value="{verb}"' in shown}
    assert offered == verbs


def test_the_return_key_in_a_text_field_never_says_yes() -> None:
    for form in html(ApprovalHub().show()).split("<form")[1:]:
        assert ('value="approve"' in form) != ('name="reason"' in form)


def test_a_hub_that_is_open_to_all_has_no_buttons() -> None:
    hub = ApprovalHub(may_act=False)
    assert "<button" not in html(hub.show())
    assert "<button" in html(hub.show(hub.link()))


def test_a_person_decides_by_his_role() -> None:
    hub = ApprovalHub()
    page = press(hub, user="ana", role=Role.APPROVE)
    assert page.code == 200
    assert "Approved." in html(page)
    (command,) = hub.commands
    assert (command.verb, command.by, command.node, command.digest) == (
        Verb.APPROVE,
        "ana",
        "n12",
        "p1",
    )
    assert hub.runner.engine.commands[0][1] == "10.0.0.7"


def test_a_no_lasts_as_long_as_it_says_and_keeps_its_reason() -> None:
    hub = ApprovalHub()
    form = {"verb": "deny", "plan": "", "for": "4h", "reason": " we look \n at it "}
    press(hub, fields=form, user="ana", role=Role.APPROVE)
    (command,) = hub.commands
    assert (command.verb, command.until, command.reason) == (
        Verb.DENY,
        NOW + 4 * 3600.0,
        "we look at it",
    )


def test_a_node_is_held_by_whom_may_act() -> None:
    hub = ApprovalHub()
    hold = {"verb": "hold", "plan": "", "for": "1d"}
    assert press(hub, fields=hold, user="ana", role=Role.ACT).code == 200
    assert hub.commands[0].verb is Verb.HOLD
    refused = press(hub, fields=hold, user="bob", role=Role.APPROVE)
    assert refused.code == 403
    assert "bob may approve, and this needs act" in html(refused)
    assert len(hub.commands) == 1


def test_who_may_only_read_decides_nothing() -> None:
    hub = ApprovalHub()
    # The buttons are not there; somebody writes the form himself.
    form = hub.signer.form("i3", "ana\n", NOW + 60.0)
    assert press(hub, fields={"form": form}, user="ana", role=Role.READ).code == 403
    assert not hub.commands


def test_an_open_hub_takes_no_word_without_a_link() -> None:
    hub = ApprovalHub(may_act=False)
    form = hub.signer.form("i3", "\n", NOW + 60.0)
    refused = press(hub, fields={"form": form}, user="")
    assert refused.code == 403
    assert "open to all" in html(refused)
    assert not hub.commands


@pytest.mark.parametrize("form", ["", "made up"])
def test_a_form_without_our_token_does_nothing(form: str) -> None:
    hub = ApprovalHub()
    assert press(hub, fields={"form": form}).code == 403
    assert not hub.commands


def test_a_form_of_somebody_else_does_nothing() -> None:
    hub = ApprovalHub()
    form = hub.signer.form("i3", "ana\n", NOW + 60.0)
    assert press(hub, fields={"form": form}, user="kim").code == 403
    assert not hub.commands


@pytest.mark.parametrize(
    ("headers", "code"),
    [
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "https://evil.example", "Sec-Fetch-Site": "same-origin"}, 403),
        ({"Origin": "null", "Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Sec-Fetch-Site": "none"}, 403),
        ({"Origin": "https://hub.example.org", "Sec-Fetch-Site": "same-origin"}, 200),
        ({"Origin": "null", "Sec-Fetch-Site": "same-origin"}, 200),
        ({"Origin": "null"}, 200),
        ({"Host": "10.0.0.1:9878", "Origin": "https://hub.example.org"}, 200),
        ({"Host": "10.0.0.1:9878", "Origin": "http://10.0.0.1:9878"}, 200),
    ],
)
def test_a_form_comes_from_a_page_of_ours(headers: dict[str, str], code: int) -> None:
    hub = ApprovalHub()
    assert press(hub, headers=headers).code == code
    assert len(hub.commands) == (code == 200)


@pytest.mark.parametrize(
    ("fields", "headers", "text"),
    [
        ({"verb": "explode"}, {}, "verb: 'explode' is not one of"),
        ({"verb": "stop"}, {}, "not one of approve, deny, hold"),
        ({"plan": ""}, {}, "which plan"),
        ({"verb": "deny", "for": "2"}, {}, "2"),
        ({}, {"Content-Type": "application/json"}, "forms of its own page"),
        ({}, {"Content-Type": "text/plain"}, "forms of its own page"),
    ],
)
def test_what_makes_no_sense_is_refused(
    fields: dict[str, str], headers: dict[str, str], text: str
) -> None:
    hub = ApprovalHub()
    with pytest.raises(UsageError, match=text):
        press(hub, fields=fields, headers=headers)
    assert not hub.commands


def test_a_node_that_nobody_knows_is_refused() -> None:
    with pytest.raises(UnmetError, match="no node 'n99'"):
        press(ApprovalHub(), fields={"node": "n99"})


def test_an_incident_that_nobody_knows_has_no_page() -> None:
    with pytest.raises(UnmetError, match="no incident 'i9'"):
        ApprovalHub().show(path="/incidents/i9")
    assert ApprovalHub().visits.methods("/incidents/") == ()
    assert ApprovalHub().visits.methods("/incidents/i3/x") == ()
    assert ApprovalHub().visits.methods("/v1/incidents/i3") == ()


def test_a_word_that_changes_nothing_says_so() -> None:
    hub = ApprovalHub()
    note = msgspec.convert(
        {"text": "approve changes nothing: n12 is suspect", "loudness": "tell"}, _note()
    )
    hub.runner.engine.reply = Reply(notes=(note,))
    page = press(hub)
    assert page.code == 409
    assert "Nothing was done: approve changes nothing: n12 is suspect." in html(page)


def _note() -> Any:
    from accelwatch.remediation.policy.context.outcome import Note

    return Note


def test_a_word_that_is_not_written_down_does_not_count() -> None:
    hub = ApprovalHub()
    hub.runner.engine.reply = Reply(problem="the disk is full")
    page = press(hub)
    assert page.code == 503
    assert "It does not count: the disk is full." in html(page)


def test_a_link_lets_somebody_in_without_a_login() -> None:
    hub = ApprovalHub()
    query = {"link": [hub.link()]}
    assert hub.visits.guest("/incidents/i3", query) == "link:oncall"
    assert hub.visits.guest("/incidents/i4", query) == ""
    assert hub.visits.guest("/incidents/i3", {"link": [hub.link(incident="i4")]}) == ""
    assert hub.visits.guest("/incidents/i3", {}) == ""
    foreign = Signer(b"j" * 32).link(Link("oncall", "i3", "n12", "p1", 0.0, NOW))
    assert hub.visits.guest("/incidents/i3", {"link": [foreign]}) == ""


def test_a_link_approves_its_plan_once() -> None:
    hub = ApprovalHub()
    token = hub.link()
    page = press(hub, token, **GUEST)
    assert page.code == 200
    (command,) = hub.commands
    assert (command.by, command.digest) == ("link:oncall", "p1")
    (batch,) = hub.batches
    assert (batch.actor, batch.address) == ("link:oncall", "10.0.0.7")
    again = press(hub, token, fields={"form": _guest_form(hub, token)}, **GUEST)
    assert again.code == 403
    assert "was used already" in html(again)
    assert len(hub.commands) == 1


def _written_otherwise(token: str) -> str:
    """The same signature in other letters: of the last one of its base64 two bits mean nothing."""
    letters = string.ascii_uppercase + string.ascii_lowercase + string.digits + "-_"
    return token[:-1] + letters[letters.index(token[-1]) ^ 1]


def test_a_link_that_was_used_is_used_however_it_is_written() -> None:
    hub = ApprovalHub()
    token = hub.link()
    assert press(hub, token, **GUEST).code == 200
    other = _written_otherwise(token)
    assert other != token
    assert hub.signer.read(other) == hub.signer.read(token), "it reads as the same link"
    again = press(hub, other, fields={"form": _guest_form(hub, other)}, **GUEST)
    assert again.code == 403
    assert "was used already" in html(again)
    assert len(hub.commands) == 1


def _guest_form(hub: ApprovalHub, token: str) -> str:
    who = f"\n{hashlib.sha256(token.encode()).hexdigest()}"
    return hub.signer.form("i3", who, NOW + 60.0)


def test_looking_does_not_use_a_link() -> None:
    hub = ApprovalHub()
    token = hub.link()
    for _ in range(3):
        assert 'value="approve"' in html(hub.show(token, **GUEST))
    assert not hub.commands
    assert not hub.batches


def test_a_link_gives_no_other_right() -> None:
    hub = ApprovalHub()
    token = hub.link()
    assert 'value="hold"' not in html(hub.show(token, **GUEST))
    for fields in ({"verb": "hold", "plan": ""}, {"node": "n13"}, {"plan": "p2"}):
        form = {"form": _guest_form(hub, token), **fields}
        assert press(hub, token, fields=form, **GUEST).code == 403
    assert not hub.commands
    assert not hub.batches, "and it is not used up"


@pytest.mark.parametrize(
    ("other", "text", "code"),
    [
        ({"until": NOW - 1.0}, "has expired", 410),
        ({"plan": "p0"}, "The plan is another one", 403),
        ({"requested_at": NOW - 500.0}, "The plan is another one", 403),
    ],
)
def test_a_dead_link_decides_nothing(other: dict[str, Any], text: str, code: int) -> None:
    hub = ApprovalHub()
    token = hub.link(**other)
    shown = html(hub.show(token, **GUEST))
    assert text in shown
    assert "<button" not in shown
    assert press(hub, token, fields={"form": _guest_form(hub, token)}, **GUEST).code == code
    assert not hub.commands


def test_a_link_whose_plan_changed_shows_the_new_one() -> None:
    hub = ApprovalHub()
    token = hub.link(plan="p0")
    hub.plan("p1", "reboot n12")
    shown = html(hub.show(token, **GUEST))
    assert "The plan is another one than when this link was sent" in shown
    assert "reboot n12" in shown


def test_a_link_whose_plan_changed_says_what_is_new() -> None:
    hub = ApprovalHub()
    stay, gone = "take n12 out of the pool", "move job 17 of ada to other nodes"
    hub.approvals.shown.store("p1", (stay, gone))
    hub.plan("p2", stay)
    hub.runner.engine.state = RemedyState(
        remedies={
            "n12": msgspec.structs.replace(
                hub.remedy, approval=msgspec.structs.replace(hub.remedy.approval, asked="p2")
            )
        }
    )
    token = hub.link()
    form = {"form": _guest_form(hub, token)}
    for page in (hub.show(token, **GUEST), press(hub, token, fields=form, **GUEST)):
        assert "The plan is another one than when this link was sent" in html(page)
        assert f"No more: {gone}." in html(page)
        assert f"New: {stay}" not in html(page)
    assert not hub.commands


def test_a_yes_comes_after_a_look_and_a_link_survives_a_scheduler_that_does_not_answer() -> None:
    hub = ApprovalHub()
    token, engine = hub.link(), hub.runner.engine
    engine.unseen = "cannot see what is running on n12: slurm does not answer"
    page = press(hub, token, **GUEST)
    assert page.code == 503
    assert "Not now: cannot see what is running on n12: slurm does not answer." in html(page)
    assert (hub.commands, hub.batches) == ([], [])
    engine.unseen = ""
    assert press(hub, token, **GUEST).code == 200
    assert [command.digest for command in hub.commands] == ["p1"]


def test_a_plan_that_the_look_before_a_yes_finds_changed_is_not_approved() -> None:
    hub = ApprovalHub()
    engine, token = hub.runner.engine, hub.link()

    def changes() -> None:
        changed = msgspec.structs.replace(
            hub.remedy, approval=msgspec.structs.replace(hub.remedy.approval, asked="p2")
        )
        engine.state = RemedyState(remedies={"n12": changed})

    engine.looking = changes
    page = press(hub, token, **GUEST)
    assert page.code == 403
    assert "The plan is another one than when this link was sent" in html(page)
    assert (hub.commands, hub.batches) == ([], [])


def test_it_says_when_the_node_was_seen_so() -> None:
    hub = ApprovalHub()
    plan = hub.runner.plan_of["n12"]
    hub.runner.plan_of["n12"] = msgspec.structs.replace(plan, as_of=NOW - 61.0)
    assert time_text(NOW - 61.0) in html(hub.show())


def test_it_says_how_often_the_hardware_has_failed_lately() -> None:
    hub = ApprovalHub()
    assert "Record" not in html(hub.show())
    record = "3 confirmed faults in 28 days, the last on 2026-11-20; 2 of them on serial 165"
    hub.runner.plan_of["n12"] = msgspec.structs.replace(hub.runner.plan_of["n12"], record=record)
    assert record in html(hub.show())


def test_it_shows_what_tests_of_the_node_came_to() -> None:
    hub = ApprovalHub()
    assert "Tested" not in html(hub.show())
    plan = msgspec.structs.replace(hub.runner.plan_of["n12"], results=(TESTED,))
    hub.runner.plan_of["n12"] = plan
    assert "Tested" in html(hub.show())
    assert TESTED.text in html(hub.show())


def test_an_expired_link_shows_nothing_of_the_incident() -> None:
    hub = ApprovalHub()
    page = hub.show(hub.link(until=NOW - 1.0), **GUEST)
    assert page.code == 410
    assert "n12" not in html(page)
    token = hub.link()
    press(hub, token, **GUEST)
    assert "n12" in html(hub.show(token, **GUEST)), "who used it sees what became of it"
    hub.clock.advance(1800.0)
    assert "n12" not in html(hub.show(token, **GUEST))
    form = _guest_form(hub, token)
    assert "n12" not in html(press(hub, token, fields={"form": form}, **GUEST))


def test_a_link_decides_on_a_hub_that_is_open_to_all() -> None:
    hub = ApprovalHub(may_act=False)
    assert press(hub, hub.link(), user="").code == 200
    assert hub.commands[0].by == "link:oncall"


def test_who_has_a_name_decides_by_it_and_who_may_not_by_the_link() -> None:
    hub = ApprovalHub()
    press(hub, hub.link(), user="ana", role=Role.APPROVE)
    press(hub, hub.link(), user="bob", role=Role.READ)
    assert [command.by for command in hub.commands] == ["ana", "link:oncall"]


def test_a_link_that_cannot_be_written_down_does_nothing() -> None:
    hub = ApprovalHub()
    hub.broken = "no space left"
    page = press(hub, hub.link(), **GUEST)
    assert page.code == 503
    assert "no space left" in html(page)
    assert not hub.commands


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"stage": Stage.SUSPECT, "approval": Approval(expired=NOW)}, "Not approved in time"),
        (
            {"stage": Stage.QUARANTINED, "approval": Approval(approved="kim")},
            "kim approved it. It is quarantined",
        ),
        (
            {"stage": Stage.QUARANTINED, "approval": Approval(manual=True)},
            "A person has taken it out",
        ),
        ({"stage": Stage.SUSPECT}, "Nothing waits for you. It is suspect"),
    ],
)
def test_where_nothing_waits_it_says_why(fields: dict[str, Any], text: str) -> None:
    hub = ApprovalHub()
    remedy = msgspec.structs.replace(hub.remedy, **fields)
    hub.runner.engine.state = RemedyState(remedies={"n12": remedy})
    shown = html(hub.show())
    assert text in shown
    assert 'value="approve"' not in shown


def test_what_holds_for_all_is_shown() -> None:
    hub = ApprovalHub()
    stop = Stop(by="kim", at=NOW, reason="too much at once")
    hub.runner.engine.state = msgspec.structs.replace(hub.runner.engine.state, stop=stop)
    shown = html(hub.show())
    assert "Everything is stopped" in shown
    assert "kim: too much at once" in shown


def test_a_hub_that_does_not_act_says_so() -> None:
    hub = ApprovalHub(acts=False)
    shown = html(hub.show())
    assert "names no remedy.actions" in shown
    assert "<button" not in shown
    with pytest.raises(UnmetError, match=r"remedy\.actions"):
        asyncio.run(hub.visits.act(_change()))


def _change() -> Any:
    from accelwatch.web.pages.page import Change

    return Change(
        method="POST",
        path="/incidents/i3",
        query={},
        headers={"Content-Type": "application/x-www-form-urlencoded"},
        body=b"verb=approve&node=n12&plan=p1",
    )
