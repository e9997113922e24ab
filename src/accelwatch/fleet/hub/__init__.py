"""The hub put together: settings, followers, state, server."""
