"""What user space wrote into the log, and what it may not do there."""

from pathlib import Path

from backends.kernel_log.memory_log import XID79, Log, start


def test_record_of_user_space_is_shown_but_not_trusted(root: Path) -> None:
    log = Log()
    backend = start(root, log)
    log.say(1, XID79, prefix=11)  # facility 1, as the kernel marks `echo ... > /dev/kmsg`
    (event,) = backend.wait_events(0.0)
    assert event.code == "xid_79"
    assert not event.trusted


def test_forged_record_does_not_hide_the_genuine_one(root: Path) -> None:
    log = Log()
    backend = start(root, log)
    log.say(1, XID79, prefix=11)
    log.say(2, XID79)
    assert [event.trusted for event in backend.wait_events(0.0)] == [False, True]


def test_forged_record_does_not_make_a_genuine_one_a_follower(root: Path) -> None:
    log = Log()
    backend = start(root, log)
    log.say(1, "NVRM: Xid (PCI:0000:65:00): 13, x", prefix=11)
    log.say(2, "NVRM: Xid (PCI:0000:65:00): 45, pid=1, name=a, Ch 1")
    _, event = backend.wait_events(0.0)
    assert "follows" not in event.detail


def test_option_trusts_user_space_for_a_test_of_the_installation(root: Path) -> None:
    log = Log()
    backend = start(root, log, accept_user_kmsg=True)
    log.say(1, XID79, prefix=11)
    assert backend.wait_events(0.0)[0].trusted
