"""Figures of "Remembering to Be Fair": one module each, with the claim that is published."""
