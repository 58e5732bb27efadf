"""Prompt lists of others: COCO captions, DrawBench, and any data set of the hub."""
