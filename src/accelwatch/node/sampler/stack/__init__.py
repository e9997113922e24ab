"""The life of one backend inside the collector: opened, its devices read, closed."""
