"""Measures of parses against gold trees: attachment scores, aligned words, significance, calibration.

Nothing here parses; `scores` holds the counts, the other modules compute them.
"""
