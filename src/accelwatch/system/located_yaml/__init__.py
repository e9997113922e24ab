"""YAML that remembers its lines: the one reader of agent, hub and scenarios.

`nodes` refuses what is no plain document, `document` turns it into plain data with a line for each
value, and `complaint` gathers the mistakes: one run names all of them with file, line, key and the mend.
Importing it imports PyYAML too: import it where a file is read.
"""
