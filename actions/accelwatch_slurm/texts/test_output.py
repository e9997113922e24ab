"""How the output of a test comes back: its job writes the end of it into its own comment. Pure.

Nobody could read a file on the node, and Slurm shows nothing of what a job prints. It shows the job's
comment, which the job's user may set, as long as the controller remembers the job.
"""

import base64
import binascii
import shlex
from collections.abc import Sequence

_PREFIX = "accelwatch:output:"
# Bytes of the end of the output. A comment of a thousand characters passes every version.
_KEPT = 600

# In plain sh: the output's end and the exit code go through one pipe, so nothing is stored whole. A
# comment that cannot be set loses the figure, never the result.
_SCRIPT = """\
end=$({{ {command} 2>&1; printf '\\n%d' "$?"; }} | tail -c {kept})
code=${{end##*
}}
text=$(printf %s "${{end%
*}}" | base64 | tr -d '\\n')
{scontrol} update "jobid=$SLURM_JOB_ID" "comment={prefix}$text" >/dev/null 2>&1
exit "$code"
"""


def command_of(argv: Sequence[str], node: str, peer: str) -> list[str]:
    """The command of a test, with the names of the nodes that it is of."""
    return [text.replace("{node}", node).replace("{peer}", peer) for text in argv]


def script_of(argv: Sequence[str], scontrol: str) -> str:
    """What `sbatch --wrap` runs for a test; it ends with the test's own exit code."""
    return _SCRIPT.format(
        command=shlex.join(argv), kept=_KEPT, scontrol=shlex.quote(scontrol), prefix=_PREFIX
    )


def output_in(comment: str) -> str:
    """The end of the output that a job's comment has; empty for any other comment."""
    if not comment.startswith(_PREFIX):
        return ""
    try:
        data = base64.b64decode(comment.removeprefix(_PREFIX), validate=True)
    except (binascii.Error, ValueError):
        return ""
    return data.decode("utf-8", "replace")
