"""Generators and judges behind any OpenAI-compatible server."""
