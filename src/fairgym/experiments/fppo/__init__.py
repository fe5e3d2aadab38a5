"""Figures of "Striking a Balance in Fairness": one module each, with the claim that is published.

Hu, Lear and Zhang (2023), https://arxiv.org/abs/2401.06318.
"""
