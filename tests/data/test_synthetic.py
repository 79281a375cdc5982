import hashlib
from collections import Counter

import pytest
from errors import rejects

from arbora.data.synthetic import generate
from arbora.errors import InputError


def text_of(sentences) -> str:
    return "".join(sentence.to_conllu() for sentence in sentences)


def test_one_seed_gives_one_treebank():
    assert text_of(generate(50, seed=3)) == text_of(generate(50, seed=3))
    assert text_of(generate(50, seed=3)) != text_of(generate(50, seed=4))
    digest = hashlib.sha256(text_of(generate(20, seed=0)).encode()).hexdigest()
    assert digest == "d664ce1028ce8a28260536ce64abd01a13230694b9298cad2ca949c353246842", (
        "learners are tested on these"
    )


def test_trees_have_the_requested_shape():
    assert all(s.tree.is_projective() for s in generate(300, nonprojective=0))
    assert not any(s.tree.is_projective() for s in generate(100, nonprojective=1))
    share = sum(not s.tree.is_projective() for s in generate(1000, nonprojective=0.3)) / 1000
    assert 0.25 < share < 0.35
    for sentence in generate(300, longest=8):
        assert len(sentence) <= 8
        assert len(sentence.tree.roots) == 1


def test_tags_predict_labels_somewhat():
    pairs = Counter()
    for sentence in generate(500, seed=1):
        for word in sentence:
            head = sentence[word.head - 1].upos if word.head else "ROOT"
            pairs[(word.upos, head, word.id < word.head), word.deprel] += 1
    best = Counter()
    for (context, _), count in pairs.items():
        best[context] = max(best[context], count)
    accuracy = best.total() / pairs.total()
    assert 0.85 < accuracy < 1


def test_seeds_share_a_lexicon():
    train = {form for s in generate(500, seed=1) for form in s.forms}
    test = [form for s in generate(100, seed=2) for form in s.forms]
    assert sum(form in train for form in test) / len(test) > 0.9


@pytest.mark.parametrize("wrong", [{"longest": 7}, {"nonprojective": 1.5}])
def test_bad_arguments(wrong):
    with rejects(InputError, field="generate"):
        next(generate(1, **wrong))
