"""Detectors, captioners, vision-language models and rewards through Hugging Face transformers."""
