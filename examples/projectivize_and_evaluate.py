"""The upper bound of a projective parser: make gold trees projective, and score them as if parsed.

A projective parser predicts only projective trees, so the score of the changed gold trees is its upper
bound. Three ways to change them are compared on a synthetic treebank with many crossing arcs. The third
stores marks in the labels, from which the crossing arcs are restored.
"""

from arbora import Sentence, Tree, deprojectivize, evaluate, projectivize
from arbora.data.synthetic import generate
from arbora.evaluation.significance import compare


def with_trees(sentences: list[Sentence], trees: list[Tree]) -> list[Sentence]:
    """The same words with other trees."""
    return [sentence.with_tree(tree) for sentence, tree in zip(sentences, trees, strict=True)]


def main() -> None:
    """Print the upper bound of each way, and whether the difference of two of them is significant."""
    gold = list(generate(500, seed=11, nonprojective=0.4))
    trees = [sentence.tree for sentence in gold]
    crossed = sum(not tree.is_projective() for tree in trees)
    print(f"{crossed} of {len(trees)} trees are non-projective\n")

    lifted = [projectivize(tree, "pseudo-projective", encoding="head+path") for tree in trees]
    outputs = {
        "flatten": [projectivize(tree, "flatten") for tree in trees],
        "minimum-loss": [projectivize(tree, "minimum-loss") for tree in trees],
        "pseudo-projective": lifted,
        "... and back": [deprojectivize(tree) for tree in lifted],
    }
    results = {how: evaluate(gold, with_trees(gold, changed)) for how, changed in outputs.items()}
    print(f"{'':<18} {'UAS':>6} {'LAS':>6} {'exact':>6}")
    for how, result in results.items():
        print(f"{how:<18} {result.uas:6.2f} {result.las:6.2f} {result.all.exact_match:6.2f}")

    test = compare(results["... and back"].all, results["flatten"].all, metric="uas", test="sign")
    print(f"\nrestored against flatten: {test.difference:+.2f} UAS, p = {test.p_value:.2g} (sign test)")


if __name__ == "__main__":
    main()
