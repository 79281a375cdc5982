"""Measures of parses against gold trees: attachment scores, aligned words, significance, calibration."""
