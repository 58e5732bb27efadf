"""The engine: a request becomes a plan, and a plan becomes a run."""
