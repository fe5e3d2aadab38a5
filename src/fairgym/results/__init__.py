"""Results of policies: quantities, estimates with confidence intervals, and tables."""
