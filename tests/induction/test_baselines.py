"""Trees for which nothing is learned."""

from collections import Counter

import numpy as np
from errors import rejects
from induction_rounds import Rounds

from arbora.errors import InputError
from arbora.induction.baselines import LeftBranching, NearestRule, RandomWeights, RightBranching, random_heads
from arbora.induction.corpus import TagCorpus
from arbora.induction.interfaces import parse
from arbora.induction.rules import Rules

TAGS = ("D", "N", "V")
# The last has a tag that is not known.
SENTENCES = [np.array(s, dtype=np.int32) for s in ([0], [1, 2], [0, 1, 2, 0, 1], [2] * 14, [3, 1, 2])]
CORPUS = TagCorpus(TAGS, tuple(SENTENCES[:-1]))


def trees_of(inducer, **options):
    return [heads.tolist() for heads in parse(inducer.fit(CORPUS, **options).model, SENTENCES)]


def test_branching():
    assert trees_of(LeftBranching()) == [[*range(2, len(s) + 1), 0] for s in SENTENCES]
    assert trees_of(RightBranching()) == [[*range(len(s))] for s in SENTENCES]


def test_words_hang_on_the_nearest_that_a_rule_allows():
    rules = Rules.parse("ROOT -> V\nV -> N\nN -> D")
    sentence = np.array([0, 1, 2, 0, 0, 1], dtype=np.int32)
    [heads] = parse(NearestRule().fit(CORPUS, rules=rules).model, [sentence])
    assert heads.tolist() == [2, 3, 0, 6, 6, 3]


def test_rules_come_before_distance():
    far = np.array([2, *[1] * 12], dtype=np.int32)
    [heads] = parse(NearestRule().fit(CORPUS, rules=Rules.parse("ROOT -> V\nV -> N")).model, [far])
    assert heads.tolist() == [0, *[1] * 12]


def test_nearest_rule_needs_rules():
    with rejects(InputError, field="nearest-rule"):
        NearestRule().fit(CORPUS)


def test_random_weights_depend_on_the_seed():
    assert trees_of(RandomWeights(), seed=1) == trees_of(RandomWeights(), seed=1)
    assert trees_of(RandomWeights(), seed=1) != trees_of(RandomWeights(), seed=2)


def test_random_trees_are_equally_likely():
    drawn = random_heads([np.zeros(3, dtype=np.int32)] * 7000, seed=1)
    counts = Counter(tuple(heads.tolist()) for heads in drawn)
    assert len(counts) == 7
    assert all(abs(count - 1000) < 130 for count in counts.values())
    assert len({tuple(h.tolist()) for h in random_heads([np.zeros(3)] * 500, trees="nonprojective")}) == 9


def test_there_is_one_round():
    seen = Rounds()
    LeftBranching().fit(CORPUS, observer=seen)
    assert [epoch.number for epoch in seen.epochs] == [1]
