"""Figures of "Fairness Is Not Static": one module each, with its published claim.

D'Amour, Srinivasan, Atwood, Baljekar, Sculley and Halpern (2020),
https://doi.org/10.1145/3351095.3372878.
"""
