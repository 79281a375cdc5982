"""Learning trees without a treebank: models over tags, and one inducer per file that learns them.

`interfaces` says what inducers and models have in common; `induce` goes from text to a model file.
"""
