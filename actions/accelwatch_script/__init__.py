"""Acts by a site's own programs and HTTP services, which need no scheduler that we know.

Each thing that can be wanted has a hook; another hook looks how things stand, and what it sees counts.
"""

from accelwatch_script.action import ScriptAction

__all__ = ["ScriptAction"]
