"""What a drain of an agent would do to its sessions, in words."""

from accelwatch_backendai.sessions.preview import preview_texts
from accelwatch_backendai.settings.session_rules import Leave, SessionRule
from support.backendai.moving import FIRST, SECOND, session

INTERACTIVE = "it is interactive, and what its user has open would be lost"


def test_each_session_is_counted_or_named_with_its_reason() -> None:
    sessions = [session(), session(SECOND, type="interactive", name="notebook")]
    assert list(preview_texts(sessions, [], {FIRST: ""}, {})) == [
        "1 session would be ended and created again",
        f"stays: session notebook ({SECOND}): {INTERACTIVE}",
    ]


def test_what_nobody_could_create_anew_stays() -> None:
    texts = list(preview_texts([session()], [], {FIRST: "no file has it"}, {}))
    assert texts == [f"stays: session train ({FIRST}): it is not resumed by us: no file has it"]


def test_what_others_depend_on_stays() -> None:
    (text,) = preview_texts([session()], [], {FIRST: ""}, {FIRST: "session eval (e)"})
    assert text.startswith(f"stays: session train ({FIRST}): session eval (e) would start without")


def test_a_long_list_is_cut() -> None:
    rules = [SessionRule(leave=Leave.STAY)]
    many = [session(f"{at}", name=f"run-{at}") for at in range(12)]
    (text,) = preview_texts(many, rules, {}, {})
    assert "run-9 (9) and 2 more: the session rules" in text


def test_an_empty_agent_has_nothing_to_say() -> None:
    assert list(preview_texts([], [], {}, {})) == []
