"""Predictions of concepts by language models: the command `t2i taxonomy-predictions`."""
