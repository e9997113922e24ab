"""Commands to try the program without an accelerator."""
