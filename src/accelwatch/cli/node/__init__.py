"""Commands about the devices of this machine."""
