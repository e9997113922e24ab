"""Backend.AI on this machine: real servers with agents whose sessions are processes, or a stand-in."""
