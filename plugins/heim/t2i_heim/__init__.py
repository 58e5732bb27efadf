"""Aspects of HEIM: robustness to changed prompts, and the share of unsafe images."""
