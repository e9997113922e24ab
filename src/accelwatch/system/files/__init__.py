"""Files that outlive a program: where they lie, who may write them, how they are replaced."""
