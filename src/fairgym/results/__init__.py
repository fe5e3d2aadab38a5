"""What policies achieve: quantities, estimates with their intervals, and tables of them."""
