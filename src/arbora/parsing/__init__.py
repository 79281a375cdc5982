"""A trained parser, its pruner, its calibrated probabilities, and how it is read from a model file."""
