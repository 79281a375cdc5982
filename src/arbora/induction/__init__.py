"""Trees without a treebank: models that learn from tagged sentences alone.

`corpus` is what they learn from, `interfaces` what they have in common; `features`, `arc_model` and
`valence_model` are what is learned: scores of the parts of a tree over a sentence's tags. One learner per
file.
"""
