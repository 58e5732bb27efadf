"""YOLO detectors and segmenters through ultralytics (AGPL-3.0)."""
