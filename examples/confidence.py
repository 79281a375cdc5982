"""Confidence from scores: marginals, entropy, the k best trees and the minimum-risk tree of a sentence.

A parser scores arcs; `arbora.inference` computes what the scores mean for whole trees. This sentence has
two readings: who was on the ferry, Otto or the gull?
"""

import numpy as np

from arbora import Tree, TreeDistribution
from arbora.web.terminal import draw

FORMS = ["Otto", "drew", "the", "gull", "on", "the", "ferry"]
# scores[head, dep], words from 1 and 0 for the root. Any arc is possible; these are probable.
LIKELY = {
    (2, 1): 5.0,
    (0, 2): 6.0,
    (4, 3): 5.0,
    (2, 4): 5.0,
    (7, 5): 5.0,
    (7, 6): 5.0,
    (2, 7): 3.2,
    (4, 7): 3.0,
}


def main() -> None:
    """Print what the distribution over all trees shows."""
    scores = np.zeros((len(FORMS) + 1, len(FORMS) + 1))
    for (head, dep), score in LIKELY.items():
        scores[head, dep] = score
    trees = TreeDistribution(scores, trees="projective")

    print("The best tree, each word with the probability of its head:\n")
    marginals = trees.arc_marginals
    notes = [f"{marginals[head, dep]:.2f}" for dep, head in enumerate(trees.best.heads) if dep > 0]
    print(draw(Tree(trees.best.heads), FORMS, notes=notes))

    print("\nThe most probable trees:")
    for rank, tree in enumerate(trees.kbest(3), start=1):
        head = FORMS[tree.heads[7] - 1]
        print(f"{rank}. P = {np.exp(trees.log_prob(tree.heads)):.4f}, the ferry belongs to {head!r}")

    drawn = trees.sample(1000, seed=1)
    share = np.mean([tree.heads[7] == 2 for tree in drawn])
    print(f"\nDrawn on the ferry: {marginals[2, 7]:.2f} by marginals, {share:.2f} of 1000 samples.")
    print(f"Entropy: {trees.entropy:.2f} nats.")
    safest = trees.minimum_risk()
    print(f"The safest tree has {safest.score:.2f} of {len(FORMS)} heads right on average.")

    # Require a known head: all results change accordingly.
    required = TreeDistribution(scores, trees="projective", required=[(4, 7)])
    print(f"If the gull was on the ferry, the entropy is {required.entropy:.2f} nats.")


if __name__ == "__main__":
    main()
