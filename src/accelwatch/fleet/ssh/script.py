"""What a host's /bin/sh is sent over its standard input: a probe, and rounds of commands. Pure.

A line with a number that nobody there can know beforehand begins everything that is ours, so that what a
login shell or a vendor's command prints is never mistaken for it. Nothing is written on the host, and
nothing stands in the arguments of a process but the vendor's own.
"""

import shlex
from collections.abc import Iterable, Mapping

from accelwatch.backend.kit.remote import RemoteCommand

# The command that replaces the login shell, whichever it is.
SHELL = "exec /bin/sh"
# The functions that the script defines, called by their names.
PROBE, ROUND, STREAM = b"look\n", b"round\n", b"stream\n"
# Where commands are looked for after PATH, which is short for a login without a terminal.
FOLDERS = (
    "/usr/local/sbin",
    "/usr/local/bin",
    "/usr/sbin",
    "/usr/bin",
    "/sbin",
    "/bin",
    "/opt/bin",
)
_OURS = "accelwatch"
_MAX_ERRORS = 2000
# Rows of a listing for which a command is run.
_MOST_ROWS = 128
# After its time a command is terminated, and so much later killed.
_END_S = 2

_BASE = r"""LC_ALL=C
export LC_ALL
limit=
if timeout -k 1 5 true </dev/null >/dev/null 2>&1; then limit=kill
elif timeout 5 true </dev/null >/dev/null 2>&1; then limit=plain; fi
exec 3>&1
bounded() {
    seconds=$1
    shift
    case $limit in
        kill) timeout -k @END@ "$seconds" "$@" ;;
        plain) timeout "$seconds" "$@" ;;
        *) "$@" ;;
    esac
}
ask() {
    printf '\n%s begin %s %s\n' "$mark" "$1" "$3"
    shift
    said=$(
        exec 4>&1
        code=$({
            {
                bounded "$@" </dev/null 2>&1 >&3 3>&- 4>&- 5>&-
                printf %s "$?" >&5
            } | head -c @ERRORS@ >&4
        } 5>&1)
        printf '\n%s status %s\n' "$mark" "$code" >&3
        exit "$code"
    )
    code=$?
    printf '%s\n%s end\n' "$said" "$mark"
    return "$code"
}
search() {
    for program; do
        if there=$(command -v "$program" 2>/dev/null) && [ -x "$there" ]; then
            printf '%s\n' "$there"
            return
        fi
    done
}
stream() {
    printf '\n%s stream\n' "$mark"
    exec "$(search @OURS@)" stream --format packed
}
accelerators() {
    for device in /sys/bus/pci/devices/*; do
        { read -r class <"$device/class" && read -r vendor <"$device/vendor"; } 2>/dev/null || continue
        case $class in
            0x03* | 0x12* | 0x0b40*) printf 'pci %s %s\n' "$vendor" "$class" ;;
        esac
    done
}
"""


def script(commands: Mapping[str, RemoteCommand], marker: str) -> bytes:
    """The definitions for commands by the names under which their outputs come back.

    `marker` begins every line of ours: letters and digits, of chance.
    """
    names = list(commands)
    own = (folder for command in commands.values() for folder in command.folders)
    folders = dict.fromkeys((*FOLDERS, *own))  # each once, in their order
    return "\n".join(
        (
            f"mark={shlex.quote(marker)}",
            f"PATH=$PATH:{shlex.quote(':'.join(folders))}",
            _filled(_BASE),
            "look() {",
            "    printf '\\n%s look\\n' \"$mark\"",
            f'    [ -z "$(search {_OURS})" ] || echo ours',
            *(_finding(at, commands[name]) for at, name in enumerate(names)),
            "    accelerators",
            "    printf '%s ready\\n' \"$mark\"",
            "}",
            *_function(
                "round",
                (
                    _invocation(at, name, command)
                    for at, (name, command) in enumerate(commands.items())
                    if not command.if_fails
                ),
            ),
            *(
                line
                for at, (name, command) in enumerate(commands.items())
                if command.if_fails
                for line in _function(f"also{at}", [_invocation(at, name, command)])
            ),
            "",
        )
    ).encode()


def _filled(text: str) -> str:
    for placeholder, stands_for in (("END", _END_S), ("ERRORS", _MAX_ERRORS), ("OURS", _OURS)):
        text = text.replace(f"@{placeholder}@", str(stands_for))
    return text


def _finding(at: int, command: RemoteCommand) -> str:
    programs = " ".join(map(shlex.quote, command.programs))
    return (
        f'    p{at}=$(search {programs})\n    [ -z "$p{at}" ] || printf \'program %s\\n\' "$p{at}"'
    )


def also(commands: Mapping[str, RemoteCommand], name: str) -> bytes:
    """The word by which a command is run that is no part of a round."""
    return f"also{list(commands).index(name)}\n".encode()


def _function(name: str, lines: Iterable[str]) -> list[str]:
    """A function that says when it is done."""
    return [f"{name}() {{", *lines, "    printf '\\n%s done\\n' \"$mark\"", "}"]


def _invocation(at: int, name: str, command: RemoteCommand) -> str:
    arguments = " ".join(map(shlex.quote, command.arguments))
    if command.rows_of:
        return _for_each_row(at, name, command)
    if not command.each_in:
        call = f'ask {shlex.quote(name)} {command.timeout_s:g} "$p{at}" {arguments}'.rstrip()
        return f'    [ -z "$p{at}" ] || {call}'
    call = f'ask {shlex.quote(name)}/"${{one##*/}}" {command.timeout_s:g} "$p{at}" {arguments}'
    return (
        f"    for one in {shlex.quote(command.each_in)}/*; do\n"
        f'        [ -z "$p{at}" ] || [ ! -e "$one" ] || {call} "${{one##*/}}"\n'
        "    done"
    )


def _for_each_row(at: int, name: str, command: RemoteCommand) -> str:
    """Until all have answered: what it prints does not change while the connection lasts.

    While one fails all are run again, after 0, 1, 3, 7… rounds without: one may always fail.
    """
    listing, own = (
        " ".join(map(shlex.quote, arguments)) for arguments in (command.rows_of, command.arguments)
    )
    columns = [f"column{number}" for number in range(len(command.row_options))]
    named = " ".join(
        f'{shlex.quote(option)} "${column}"'
        for option, column in zip(command.row_options, columns, strict=True)
    )
    limit = f"{command.timeout_s:g}"
    row = "-".join(f"${column}" for column in columns)
    return "\n".join(
        (
            f'    if [ -z "$p{at}" ] || [ -n "$once{at}" ]; then :',
            f'    elif [ "${{wait{at}:-0}}" -gt 0 ]; then wait{at}=$((wait{at} - 1))',
            "    else",
            f"        wait{at}=${{pause{at}:-0}}",
            f"        pause{at}=$((wait{at} * 2 + 1))",
            f'        bounded {limit} "$p{at}" {listing} </dev/null 2>/dev/null |'
            f" head -n {_MOST_ROWS} | {{",
            "            rows=",
            "            failed=",
            f"            while read -r {' '.join(columns)} rest; do",
            f"                case {','.join(f'${column}' for column in columns)} in",
            "                    *[!0-9,]* | ,* | *,,* | *,) continue ;;",
            "                esac",
            "                rows=listed",
            f'                ask {shlex.quote(name)}/"{row}" {limit} "$p{at}" {own} {named} ||'
            " failed=yes",
            "            done",
            '            [ -n "$rows" ] && [ -z "$failed" ]',
            f"        }} && once{at}=done",
            "    fi",
        )
    )
