"""An excerpt of the black box as a page of lines."""
