"""Completion of the shells: a shell's queries, the scripts that send them, and their installation.

The names of variables and the answers are those of typer, which wrote the scripts before: one that
a user has installed goes on working.
"""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import click
from click.shell_completion import CompletionItem, ShellComplete, split_arg_string

from accelwatch.base.errors import AccelwatchError, UsageError
from accelwatch.cli.output import write_stdout
from accelwatch.cli.startup import completion_scripts as scripts
from accelwatch.cli.terminal import COMPLETION

_PROGRAM = "accelwatch"
_ARGS = "_TYPER_COMPLETE_ARGS"


class _Complete(ShellComplete):
    """A shell that gives the line up to the cursor."""

    def get_completion_args(self) -> tuple[list[str], str]:
        """The words before the one that is being written, and that one."""
        line = os.environ.get(_ARGS, "")
        arguments = split_arg_string(line)[1:]
        if arguments and not line.endswith(" "):
            return arguments[:-1], arguments[-1]
        return arguments, ""

    def format_completion(self, item: CompletionItem) -> str:
        """The word alone."""
        return str(item.value)


class Bash(_Complete):
    """Bash gives words and the position of the cursor."""

    name = "bash"
    source_template = scripts.BASH

    def get_completion_args(self) -> tuple[list[str], str]:
        """The words before the one that is being written, and that one."""
        arguments = split_arg_string(os.environ["COMP_WORDS"])
        position = int(os.environ["COMP_CWORD"])
        return arguments[1:position], arguments[position] if position < len(arguments) else ""


class Zsh(_Complete):
    """Zsh evaluates the answer."""

    name = "zsh"
    source_template = scripts.ZSH

    def format_completion(self, item: CompletionItem) -> str:
        """The word with its help."""
        value = _quoted(item.value)
        return f'"{value}":"{_quoted(item.help)}"' if item.help else f'"{value}"'

    def complete(self) -> str:
        """A command of zsh: the words, or files where there are none."""
        offered = super().complete()
        return f"_arguments '*: :(({offered}))'" if offered else "_files"


class Fish(_Complete):
    """Fish queries first whether there is anything: it offers files where not."""

    name = "fish"
    source_template = scripts.FISH

    def format_completion(self, item: CompletionItem) -> str:
        """The word and its help, behind a tabulator."""
        return f"{item.value}\t{' '.join(item.help.split())}" if item.help else str(item.value)

    def complete(self) -> str:
        """The words; of the first question the exit code is the answer."""
        offered = super().complete()
        if os.environ.get("_TYPER_COMPLETE_FISH_ACTION") == "is-args":
            raise click.exceptions.Exit(0 if offered else 1)
        return offered


class PowerShell(_Complete):
    """PowerShell gives the word that is being written by itself."""

    name = "powershell"
    source_template = scripts.POWERSHELL

    def get_completion_args(self) -> tuple[list[str], str]:
        """The words before the one that is being written, and that one."""
        arguments = split_arg_string(os.environ.get(_ARGS, ""))
        incomplete = os.environ.get("_TYPER_COMPLETE_WORD_TO_COMPLETE", "")
        return arguments[1:-1] if incomplete else arguments[1:], incomplete

    def format_completion(self, item: CompletionItem) -> str:
        """The word and its help, apart by three colons."""
        return f"{item.value}:::{item.help or ' '}"


_SHELLS: dict[str, type[_Complete]] = {
    "bash": Bash,
    "zsh": Zsh,
    "fish": Fish,
    "powershell": PowerShell,
    "pwsh": PowerShell,
}


def _quoted(text: str) -> str:
    for plain, escaped in (('"', '""'), ("'", "''"), ("$", "\\$"), ("`", "\\`"), (":", "\\\\:")):
        text = text.replace(plain, escaped)
    return text


def answer_shell(root: click.Group, instruction: str) -> int:
    """Answer a shell: `complete_bash` by its script, `source_bash` by a person; the exit code."""
    verb, _, shell = instruction.partition("_")
    if verb not in ("complete", "source") or shell not in _SHELLS:
        return 1
    if verb == "source":
        write_stdout(f"{_script(shell)}\n".encode())
        return 0
    try:
        answer = _SHELLS[shell](root, {}, _PROGRAM, COMPLETION).complete()
    except click.exceptions.Exit as end:
        return end.exit_code
    write_stdout(f"{answer}\n".encode())
    return 0


def _script(shell: str) -> str:
    names = {
        "complete_func": f"_{_PROGRAM}_completion",
        "prog_name": _PROGRAM,
        "autocomplete_var": COMPLETION,
    }
    return (_SHELLS[shell].source_template % names).strip()


def completion_options() -> list[click.Parameter]:
    """`--install-completion` and `--show-completion`, for the caller's shell."""
    return [
        _eager("--install-completion", _install, "Install completion for the current shell."),
        _eager("--show-completion", _show, "Show completion for the current shell."),
    ]


def _eager(flag: str, act: Callable[[str], None], meaning: str) -> click.Option:
    def run(ctx: click.Context, _: click.Parameter, requested: bool) -> None:
        if requested and not ctx.resilient_parsing:
            act(_current_shell())
            ctx.exit()

    return click.Option(
        [flag], is_flag=True, is_eager=True, expose_value=False, callback=run, help=meaning
    )


def _current_shell() -> str:
    """The shell that calls. Raises UsageError."""
    import shellingham

    try:
        shell = str(shellingham.detect_shell()[0])
    except shellingham.ShellDetectionFailure:
        shell = Path(os.environ.get("SHELL", "")).name
    if shell not in _SHELLS:
        raise UsageError(f"no completion for shell {shell!r}; there are {', '.join(_SHELLS)}")
    return shell


def _show(shell: str) -> None:
    write_stdout(f"{_script(shell)}\n".encode())


def _install(shell: str) -> None:
    """Write the script where the shell finds it. Raises AccelwatchError."""
    try:
        path = _script_file(shell)
        path.parent.mkdir(parents=True, exist_ok=True)
        if shell in ("powershell", "pwsh"):
            _append_line(path, _script(shell))
        else:
            path.write_text(f"{_script(shell)}\n", encoding="utf-8")
    except (OSError, subprocess.CalledProcessError) as error:
        raise AccelwatchError(f"cannot install completion for {shell}: {error}") from error
    write_stdout(
        f"{shell} completion installed in {path}\n"
        "Completion will take effect once you restart the terminal\n".encode()
    )


def _script_file(shell: str) -> Path:
    """Where its script belongs, once the shell's own file says so."""
    home = Path.home()
    match shell:
        case "bash":
            path = home / ".bash_completions" / f"{_PROGRAM}.sh"
            _append_line(home / ".bashrc", f"source '{path}'")
            return path
        case "zsh":
            _append_line(home / ".zshrc", "fpath+=~/.zfunc; autoload -Uz compinit; compinit")
            return home / ".zfunc" / f"_{_PROGRAM}"
        case "fish":
            return home / ".config" / "fish" / "completions" / f"{_PROGRAM}.fish"
        case _:
            profile = [shell, "-NoProfile", "-Command", "echo", "$profile"]
            return Path(
                subprocess.run(profile, check=True, capture_output=True, text=True).stdout.strip()
            )


def _append_line(file: Path, line: str) -> None:
    """Have the file contain the line."""
    content = file.read_text(encoding="utf-8") if file.is_file() else ""
    if line not in content:
        file.write_text(f"{content}\n{line}\n", encoding="utf-8")
