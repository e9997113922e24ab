"""What is usual: rates, groups, phases and residuals against peers and the own past."""
