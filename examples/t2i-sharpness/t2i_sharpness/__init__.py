"""Sharpness of images, a metric for t2i."""
