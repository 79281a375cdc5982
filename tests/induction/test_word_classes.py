"""Classes of words: on text from known classes they are found again."""

from math import comb

import numpy as np
import pytest
from errors import rejects

from arbora.errors import InputError
from arbora.induction.word_classes import ClassSettings, WordClasses


def sampled(seed, classes=6, per_class=15, sentences=800):
    """Sentences from a bigram model of classes; words `c.w` tell their class."""
    rng = np.random.default_rng(seed)
    follow = rng.dirichlet(np.full(classes, 0.2), size=classes + 1)
    within = rng.dirichlet(np.full(per_class, 2.0), size=classes)
    found = []
    for _ in range(sentences):
        c, sentence = classes, []
        for _ in range(10):
            c = rng.choice(classes, p=follow[c])
            sentence.append(f"{c}.{rng.choice(per_class, p=within[c])}")
        found.append(sentence)
    return found


def adjusted_rand(first, second):
    pairs = {}
    for pair in zip(first, second, strict=True):
        pairs[pair] = pairs.get(pair, 0) + 1
    together = sum(comb(n, 2) for n in pairs.values())
    sizes = [sum(comb(each.count(c), 2) for c in set(each)) for each in (first, second)]
    chance = sizes[0] * sizes[1] / comb(len(first), 2)
    return (together - chance) / (sum(sizes) / 2 - chance)


def test_known_classes_are_found_again():
    sentences = sampled(0)
    found = WordClasses.learn(sentences, ClassSettings(count=6))
    words = sorted(found.words)
    assert len(words) > 80
    index = adjusted_rand([w.split(".")[0] for w in words], [found.class_of(w) for w in words])
    assert index > 0.9


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_likelihood_never_falls(seed):
    found = WordClasses.learn(sampled(1, sentences=150), ClassSettings(count=8, starts=seed + 1), seed=seed)
    assert (np.diff(found.values) >= -1e-12).all()
    assert found.values[-1] > found.values[0] + 0.1


def test_values_are_log_likelihoods_but_for_a_constant():
    sentences = [["a", "b"], ["a", "c"], ["a", "b", "c"]]
    single = WordClasses.learn(sentences, ClassSettings(count=4, least_count=1, rounds=1, starts=1))
    # Every word in a class of its own: a plain bigram model, but for Σ N(w) log N(w), words and boundary.
    pairs = {("|", "a"): 3, ("a", "b"): 2, ("a", "c"): 1, ("b", "|"): 1, ("b", "c"): 1, ("c", "|"): 2}
    sizes = {"|": 3, "a": 3, "b": 2, "c": 2}
    likelihood = sum(n * np.log(n / sizes[first]) for (first, _), n in pairs.items())
    constant = sum(n * np.log(n) for n in sizes.values())
    assert single.values[0] * 7 + constant == pytest.approx(likelihood)


def test_the_same_text_and_seed_give_the_same_classes():
    sentences = sampled(2, sentences=100)
    one, two = (WordClasses.learn(sentences, ClassSettings(count=5), seed=3) for _ in range(2))
    assert (one.words, one.endings, one.others) == (two.words, two.endings, two.others)


def test_words_that_are_rare_or_not_known_go_by_their_ending():
    rare = [["The", f"w{chr(97 + i)}{chr(97 + j)}ling", "."] for i in range(5) for j in range(5)]
    capital = [["The", f"W{chr(97 + i)}{chr(97 + j)}ing", "ran", "off"] for i in range(5) for j in range(5)]
    found = WordClasses.learn(rare * 2 + capital, ClassSettings(count=6, least_count=3))
    assert found.class_of("the") == found.class_of("THE")
    assert found.class_of("waaling") == found.class_of("sling")
    assert found.class_of("sling") != found.class_of("Sling")
    assert found.class_of("Sling") == found.class_of("Waaing")
    assert {found.class_of("xyz"), found.class_of("42"), found.class_of("")} <= set(found.names)


def test_names_are_numbers_by_frequency():
    found = WordClasses.learn([["a", "b", "a", "c", "a"]] * 4, ClassSettings(count=3, least_count=2))
    assert found.class_of("a") == "C00"
    assert found.names == tuple(sorted(found.names))


def test_a_words_class_may_look_like_a_pools_name():
    found = WordClasses.learn(
        [["a-ing", "x"], ["a-ing", "saying"], ["a-ing", "laying"], ["a-ing", "being"]],
        ClassSettings(count=3, least_count=3),
    )
    assert "a-ing" in found.words
    assert "a-ing" in found.endings


def test_bad_values_are_rejected():
    with pytest.raises(InputError):
        WordClasses.learn([])
    with pytest.raises(InputError):
        WordClasses.learn([[], []])
    with rejects(InputError, field="seed"):
        WordClasses.learn([["a"]], seed=-1)
    for wrong in ({"count": 1}, {"rounds": 0}, {"least_count": 0}, {"count": True}, {"starts": 0}):
        with rejects(InputError, field=next(iter(wrong))):
            ClassSettings(**wrong)
