"""Figures and tables of MAFE: one module each, with the claim that is published about it."""
