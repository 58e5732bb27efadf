"""Metric of the social bias of text-to-image models (DALL-Eval)."""
