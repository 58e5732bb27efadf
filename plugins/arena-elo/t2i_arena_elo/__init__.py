"""Elo ratings of models from pairwise preferences of people, judge models and reward models."""
