"""Commands that serve: agent, hub, stream and the dashboard in a browser."""
