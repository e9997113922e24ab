"""The Debian tree in which a release of Backend.AI runs: where it is, how it is built and entered."""
