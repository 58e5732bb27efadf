"""Sentences, titles and answers that are made from results."""
