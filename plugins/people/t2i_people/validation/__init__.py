"""Metrics of runs beside people's answers about the same images: how good is a metric?"""
