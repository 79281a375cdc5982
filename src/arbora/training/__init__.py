"""From a treebank to a model: settings, stages, checkpoints, jackknifing, stacking, tuning."""
