"""From a treebank to a model: settings, recipes and stages, checkpoints, jackknifing, stacking, tuning.

`train` trains a whole pipeline or a parser alone; how a kind of parser is trained is its recipe. Learners and
problems do the learning.
"""

from arbora.training.config import TrainConfig
from arbora.training.pipeline import Trained, train

__all__ = ["TrainConfig", "Trained", "train"]
