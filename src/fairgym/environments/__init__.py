"""The environments: one folder each, found by name with `fairgym.make`."""
