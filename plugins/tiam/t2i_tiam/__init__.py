"""TIAM: a metric of whether images show the objects of their prompts in the right colours."""
