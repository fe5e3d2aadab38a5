"""Figures of "Striking a Balance in Fairness": one module each, with its published claim.

Hu, Lear and Zhang (2023), https://arxiv.org/abs/2401.06318.
"""
