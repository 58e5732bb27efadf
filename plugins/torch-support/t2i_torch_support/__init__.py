"""A library for plugins: helpers for models of torch, COCO's classes, questions about pairs of images.

Import the modules one by one; this package imports nothing. Only `batch`, `training`, `trial_load` and `testing`
import torch; `device`, `hub_files` and `url_files` import it, or the hub's client, when they are called.
"""
