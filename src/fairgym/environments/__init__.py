"""Environments, one folder each; `fairgym.make` finds them by name."""
