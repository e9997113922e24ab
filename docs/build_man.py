"""Writes docs/man/accelwatch.1 from the commands: `python docs/build_man.py`; tests keep it current."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from accelwatch.cli.startup.app import build as application

TARGET = Path(__file__).with_name("man") / "accelwatch.1"

_HEAD = r""".\" Written by docs/build_man.py from the command line; do not edit.
.TH ACCELWATCH 1 "" "accelwatch" "User Commands"
.SH NAME
accelwatch \- one monitor for every accelerator
"""
_TAIL = r""".SH EXIT STATUS
.TP
.B 0
Data was printed.
.TP
.B 1
Nothing could be read, or an internal error.
.TP
.B 2
The command line or a configuration file is wrong.
.TP
.B 3
There is no accelerator in the machine; the document is on standard output all the same.
.TP
.B 4
A selector or constraint matched nothing.
.TP
.B 5
Devices are there, but this user may not read them.
.TP
.B 6
With \-\-strict: a device is lost or hung.
.TP
.B 130
Ended by ^C.
.PP
.B accelwatch check
ends with the codes of a Nagios plug-in.
.SH FILES
.TP
.I /etc/accelwatch/agent.yaml
Configuration of the agent.
.TP
.I /var/lib/accelwatch
State of the agent: event counters, the journal of incidents, the black box.
"""


def escaped(text: str) -> str:
    """Text as roff takes it: no line begins a request, and a hyphen can be copied."""
    plain = " ".join(text.split()).replace("\\", r"\e").replace("-", r"\-")
    return r"\&" + plain if plain.startswith((".", "'")) else plain


def build() -> str:
    """The whole page."""
    app: Any = application()
    lines = [_HEAD.rstrip("\n"), ".SH SYNOPSIS", ".B accelwatch", "[OPTIONS] [COMMAND [ARGS]...]"]
    lines += [".SH DESCRIPTION", *_paragraphs(app.help or "")]
    lines += [".SH OPTIONS", *_parameters(app), ".SH COMMANDS"]
    for words, command in _commands(app, ()):
        lines += [f".SS {escaped(' '.join(words))}", *_paragraphs(command.help or "")]
        lines += _parameters(command)
    return "\n".join(lines) + "\n" + _TAIL


def _commands(group: Any, before: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name, command in group.commands.items():
        words = (*before, name)
        if command.hidden:
            continue
        subcommands = getattr(command, "commands", None)
        if not subcommands or command.invoke_without_command:
            yield words, command
        if subcommands:
            yield from _commands(command, words)


def _paragraphs(text: str) -> list[str]:
    blocks = [block for block in re.split(r"\n\s*\n", text) if block.strip()]
    return [line for block in blocks for line in (".PP", escaped(block))]


def _parameters(command: Any) -> Iterator[str]:
    for parameter in command.params:
        if getattr(parameter, "hidden", False):
            continue
        yield ".TP"
        if parameter.param_type_name == "argument":
            yield f".I {escaped(parameter.metavar or parameter.name.upper())}"
        else:
            names = ", ".join((*parameter.opts, *parameter.secondary_opts))
            value = "" if parameter.is_flag else f" {parameter.metavar or 'VALUE'}"
            yield f".B {escaped(names + value)}"
        yield escaped(parameter.help or "") or r"\&"


if __name__ == "__main__":
    TARGET.parent.mkdir(exist_ok=True)
    TARGET.write_text(build(), encoding="utf-8")
