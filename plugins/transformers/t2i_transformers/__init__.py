"""Judges of transformers: detectors, segmenters, captioners, vision-language models, rewards."""
