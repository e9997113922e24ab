"""Reading an archive: rows and samples in order of time, and which row groups hold them."""
