"""What a site configures: a hook for each intent, and observe hooks."""

from types import MappingProxyType

import msgspec

from accelwatch.action import checkpoint_options
from accelwatch.action.checkpoint_options import CheckpointOptions
from accelwatch.action.intent import IntentKind
from accelwatch.base.durations import deadline
from accelwatch.base.errors import ConfigError, UsageError
from accelwatch.plugins.options import check_url, secret_key
from accelwatch_script.references import is_reference

# The engine waits a minute for an observation, its end by force included.
_MAX_OBSERVE_S = 30.0
OBSERVE_TIMEOUT_S = 15.0
OBSERVE = "observe"
SURVEY = "survey"
# What counts only when it is seen: of a false word comes a second copy of a job.
NEVER_TRUSTED = frozenset(
    {IntentKind.FENCE, IntentKind.MOVE_JOB, IntentKind.POWER_CYCLE, IntentKind.REBOOT}
)
# What no hook does, and why.
NEVER_CALLED = MappingProxyType(
    {
        IntentKind.FOLLOW_JOB: f"the hook {OBSERVE} reports it",
        IntentKind.PROBE: "who observes sees for himself whether a node is silent",
    }
)


class HookOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One hook: a program or a URL."""

    # A program by its absolute path, and its arguments; no shell.
    argv: tuple[str, ...] = ()
    url: str = ""
    # Reference to `whsec_...`, by which requests are signed.
    secret: str = ""
    # Reference to what is sent as `Authorization: Bearer`.
    token: str = ""
    ca_file: str = ""
    # Added to the program's environment; references are resolved.
    env: dict[str, str] = {}
    # 60s for programs, 10s for requests, and for programs that observe 15s.
    timeout: str | float = ""
    # How long after the hook's answer its effect is waited for.
    observe_for: str | float = "60s"
    # Whether calling it twice is the same as calling it once.
    idempotent: bool = False
    reversible: bool = False
    # Whether its word counts without being observed.
    trusted: bool = False
    # Whether it can be called to say what it would do.
    dry_run: bool = False

    @property
    def timeout_s(self) -> float:
        """Seconds that one call may last."""
        return deadline(str(self.timeout)) if self.timeout else 60.0 if self.argv else 10.0

    @property
    def observe_for_s(self) -> float:
        """Seconds after which an effect that is not seen has not happened."""
        return deadline(str(self.observe_for))


class ScriptOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Options of the action."""

    # Says how things stand; without it only what is trusted can be called.
    observe: HookOptions | None = None
    # Says how all nodes stand.
    survey: HookOptions | None = None
    hooks: dict[IntentKind, HookOptions] = {}
    # Where the newest checkpoint of a job is looked for, when the observe hook names none.
    checkpoints: CheckpointOptions | None = None
    # Whose rights programs run with; our own without it.
    user: str = ""
    # Programs at the same time.
    parallel: int = 8


def check(options: ScriptOptions) -> None:
    """Raises ConfigError for what is wrong with the options, naming the key."""
    if not options.hooks:
        raise ConfigError("hooks: none is configured; name at least one, such as quarantine")
    if not 1 <= options.parallel <= 64:
        raise ConfigError("parallel: expected 1 to 64")
    for name, hook in ((OBSERVE, options.observe), (SURVEY, options.survey)):
        if hook is not None:
            _check_hook(name, hook)
            if hook.timeout and hook.timeout_s > _MAX_OBSERVE_S:
                raise ConfigError(f"{name}.timeout: expected at most {_MAX_OBSERVE_S:g}s")
    if options.survey is not None and not options.survey.argv:
        raise ConfigError("survey: expected a program (argv): an answer to a request is too small")
    checkpoint_options.check(options.checkpoints)
    for kind, hook in options.hooks.items():
        key = f"hooks.{kind.value}"
        if kind in NEVER_CALLED:
            raise ConfigError(f"{key}: nothing is called for that; {NEVER_CALLED[kind]}")
        _check_hook(key, hook)
        _check_trust(key, kind, hook, observed=options.observe is not None)


def _check_trust(key: str, kind: IntentKind, hook: HookOptions, *, observed: bool) -> None:
    if hook.trusted and kind in NEVER_TRUSTED:
        raise ConfigError(f"{key}.trusted: this has to be observed; configure observe instead")
    if not hook.trusted and not observed:
        more = "" if kind in NEVER_TRUSTED else ", or set trusted: true to accept its report"
        raise ConfigError(f"{key}: nothing observes its effect; configure observe{more}")


def _check_hook(key: str, hook: HookOptions) -> None:
    if bool(hook.argv) == bool(hook.url):
        raise ConfigError(f"{key}: expected either argv or url")
    for name in ("timeout", "observe_for"):
        try:
            getattr(hook, f"{name}_s")
        except UsageError as error:
            raise ConfigError(f"{key}.{name}: {error}") from None
    if hook.url:
        _check_request(key, hook)
    else:
        _check_program(key, hook)


def _check_request(key: str, hook: HookOptions) -> None:
    check_url(hook.url, key=f"{key}.url")
    if hook.env:
        raise ConfigError(f"{key}.env: only a program has an environment")
    for name, value in (("secret", hook.secret), ("token", hook.token)):
        if value and not is_reference(value):
            raise ConfigError(f"{key}.{name}: write file:/PATH or env:NAME, not the secret")


def _check_program(key: str, hook: HookOptions) -> None:
    if hook.secret or hook.token or hook.ca_file:
        raise ConfigError(f"{key}: secret, token and ca_file belong to a url; use env")
    if not hook.argv[0].startswith("/"):
        raise ConfigError(f"{key}.argv: the program needs its absolute path")
    if any("\0" in argument for argument in hook.argv):
        raise ConfigError(f"{key}.argv: a NUL cannot be handed to a program")
    for name, value in hook.env.items():
        _check_variable(f"{key}.env", name, value)


def _check_variable(key: str, name: str, value: str) -> None:
    if not name.isidentifier() or not name.isascii():
        raise ConfigError(f"{key}: {name!r} is not a valid variable name")
    if name.startswith("ACCELWATCH_"):
        raise ConfigError(f"{key}.{name}: names with ACCELWATCH_ are ours; choose another")
    if secret_key(name) and not is_reference(value):
        raise ConfigError(f"{key}.{name}: write file:/PATH or env:NAME, not the secret")
    if "\0" in value:
        raise ConfigError(f"{key}.{name}: a NUL cannot be handed to a program")
