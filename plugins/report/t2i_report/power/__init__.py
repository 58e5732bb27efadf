"""Numbers of prompts and seeds that would show a difference."""
