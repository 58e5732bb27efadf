"""Interrupted, damaged and misused runs: each must end with the results of an undisturbed run."""
