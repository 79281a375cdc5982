"""Losses: the value and gradient of a scorer's mistakes, one loss per file.

Each is a function of part scores, a gold tree, a family of trees and a cost; it knows no words, no features
and no learner. `arbora.registry.losses` knows them by name.
"""

from arbora.losses.crf import Crf
from arbora.losses.hinge import Hinge
from arbora.losses.local import Local
from arbora.losses.risk import Risk

__all__ = ["Crf", "Hinge", "Local", "Risk"]
