"""Figures and tables of MAFE: one module each, with its published claim."""
