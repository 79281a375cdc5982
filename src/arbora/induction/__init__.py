"""Learning trees without a treebank: models over tags, one inducer per file.

`interfaces` says what inducers and models have in common; induced models are searched like any other.
"""
