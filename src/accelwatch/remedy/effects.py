"""What the rows of the table do to a remedy besides its change of stage, each by its name."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from accelwatch.remedy import asking, deadlines, handed_on, holding, lost_jobs, mending, relapsing
from accelwatch.remedy.conditions import Scene
from accelwatch.remedy.model import Remedy

Effect = Callable[[Scene], Remedy]

EFFECTS: Mapping[str, Effect] = MappingProxyType(
    {
        "by_hand": asking.by_hand,
        "ask": asking.ask,
        "approve": asking.approve,
        "deny": asking.deny,
        "expire": asking.expire,
        "watch_blind": asking.watch_blind,
        "stop_clock": asking.stop_clock,
        "tell_blind": asking.tell_blind,
        "cancel": holding.cancel,
        "drop": holding.drop,
        "take_mark": holding.take_mark,
        "adopt": holding.adopt,
        "hand_over": holding.hand_over,
        "override": holding.override,
        "reopen": holding.reopen,
        "take_back": holding.take_back,
        "attempt": mending.attempt,
        "next_rung": mending.next_rung,
        "count_failure": mending.count_failure,
        "count_refusal": mending.count_refusal,
        "fail": mending.fail,
        "try_anew": asking.try_anew,
        "doubt": mending.doubt,
        "strand": mending.strand,
        "fenced": mending.fenced,
        "job_done": mending.job_done,
        "count_resume": mending.resume_counted,
        "move_instead": mending.move_instead,
        "job_lost": lost_jobs.job_lost,
        "look_over": lost_jobs.look_over,
        "count_cancel": mending.count_cancel,
        "reserve_spare": mending.reserve_spare,
        "no_spare": mending.no_spare,
        "put_spare_back": mending.put_spare_back,
        "hand_on": handed_on.hand_on,
        "wait_on": handed_on.wait_on,
        "move_again": mending.move_again,
        "moved_back": mending.moved_back,
        "leave_job": mending.leave_job,
        "mended": mending.mended,
        "begin_verifying": mending.begin_verifying,
        "seen_bad": mending.seen_bad,
        "test_passed": mending.test_passed,
        "unfit": mending.unfit,
        "tell_verified": mending.tell_verified,
        "count_release": mending.count_release,
        "put_lists_back": holding.put_lists_back,
        "notify_overdue": deadlines.notify_overdue,
        "let_go": holding.let_go,
        "relapse": holding.relapse,
        "count_relapse": relapsing.count_relapse,
        "keep_out": relapsing.keep_out,
        "trust_anew": relapsing.trust_anew,
        "ticketed": mending.ticketed,
        "ticket_failed": mending.ticket_failed,
        "fit": mending.fit,
        "swap": mending.swap,
        "vouch": asking.vouch,
        "force": asking.force,
        "forget": holding.forget,
    }
)
