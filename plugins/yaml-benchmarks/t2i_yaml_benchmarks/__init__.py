"""Benchmarks that are YAML files."""
