"""Where snapshots of one machine come from: this machine live, or a recording."""
