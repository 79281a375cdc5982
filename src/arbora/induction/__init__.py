"""Learning trees without a treebank; `interfaces` says what inducers and models have in common."""
