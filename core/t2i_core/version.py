"""The version of t2i-core."""

__version__ = "0.1.0"
