"""Acts by a site's own programs and HTTP services, which need no scheduler that we know.

Each intent has a hook; an observe hook reads the state, and what it reports counts.
"""

from accelwatch_script.action import ScriptAction

__all__ = ["ScriptAction"]
