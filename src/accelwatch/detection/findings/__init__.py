"""From levels to findings: merged by node, job and group, explained in a sentence."""
