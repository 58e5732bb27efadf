"""Reads the text in images with RapidOCR."""
