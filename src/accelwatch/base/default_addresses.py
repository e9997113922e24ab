"""Where an agent and a hub listen, and clients search them, by default."""

AGENT_PORT = 9877
HUB_PORT = 9878
AGENT_ADDRESS = f"127.0.0.1:{AGENT_PORT}"
HUB_ADDRESS = f"127.0.0.1:{HUB_PORT}"
