"""Figures of "Remembering to Be Fair": one module each, with its published claim."""
