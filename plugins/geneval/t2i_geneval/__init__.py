"""GenEval: prompts of six tasks, and the metric that checks them."""
