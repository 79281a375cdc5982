"""Exact inference over weighted sets of trees: numpy in, numpy out, no parser needed.

Queries, families of trees, `TreeDistribution`, and the same for PyTorch (`arbora.inference.torch`) belong
here; nothing here knows words, files or features. `arbora.inference.queries` states the conventions.
"""

from arbora.inference._parts import FirstOrder as FirstOrder
from arbora.inference._parts import Marginals as Marginals
from arbora.inference._parts import Options as Options
from arbora.inference.queries import arc_marginals as arc_marginals
from arbora.inference.queries import argmax as argmax
from arbora.inference.queries import entropy as entropy
from arbora.inference.queries import expected_wrong_heads as expected_wrong_heads
from arbora.inference.queries import kbest as kbest
from arbora.inference.queries import kl_divergence as kl_divergence
from arbora.inference.queries import log_partition as log_partition
from arbora.inference.queries import log_prob as log_prob
from arbora.inference.queries import marginals as marginals
from arbora.inference.queries import marginals_along as marginals_along
from arbora.inference.queries import minimum_risk as minimum_risk
from arbora.inference.queries import sample as sample
from arbora.interfaces import Best as Best
