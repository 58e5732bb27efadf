"""Evaluate images that exist already."""
