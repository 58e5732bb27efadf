"""Prompts of published data sets: COCO captions, DrawBench, any data set of the hub."""
