"""The evaluation: a request becomes a plan, a plan becomes a run."""
