"""Two or three hubs as one fleet, without a hub over them: each costs its own part of the picture."""
