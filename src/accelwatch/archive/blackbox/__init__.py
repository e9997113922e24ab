"""The black box: the last minutes of this machine on disk, frozen when something breaks."""
