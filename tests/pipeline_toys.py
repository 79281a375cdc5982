"""Small models, and a toy language whose words reveal their tags and lemmas."""

import random
from functools import lru_cache

from arbora.data.columns import parse_text
from arbora.pipeline.tagger import TaggerSettings
from arbora.pipeline.train_segmenter import SegmenterSettings
from arbora.pipeline.words import WordSettings
from arbora.training import train

WORDS = WordSettings(bits=10, parameters={"C": 0.1, "epochs": 3})
SMALL = {
    "tree_bits": 10,
    "label_bits": 10,
    "order": 1,
    "labels": "staged",
    "parameters": {"epochs": 2},
    "segmenter": {"bits": 10, "epochs": 2},
    "tagger": {
        "upos": {"bits": 10, "parameters": {"C": 0.1, "epochs": 3}},
        "morphology": {"bits": 10, "parameters": {"C": 0.1, "epochs": 2}},
    },
    "lemmatizer": {"bits": 10, "parameters": {"C": 0.1, "epochs": 3}},
    "folds": 2,
}
TAGGER = TaggerSettings(upos=WORDS, morphology=WORDS)
SEGMENTER = SegmenterSettings(bits=10, epochs=2)
NAMES = ["Ann", "Bob", "Carla", "Dora", "Emil"]
VERBS = ["call", "help", "want", "need", "visit"]
NOUNS = ["dog", "tree", "house", "river", "boat"]


def sentence(chance, number):
    """The lines of a sentence such as `Ann visits the dogs.`"""
    name, verb, noun = chance.choice(NAMES), chance.choice(VERBS), chance.choice(NOUNS)
    many = chance.random() < 0.5
    past = chance.random() < 0.5
    verb_form, noun_form = verb + ("ed" if past else "s"), noun + ("s" if many else "")
    tense, number_of = ("Past" if past else "Pres"), ("Plur" if many else "Sing")
    rows = [
        (name, name, "PROPN", "NNP", "Number=Sing", 2, "nsubj", "_"),
        (verb_form, verb, "VERB", "VBD" if past else "VBZ", f"Tense={tense}", 0, "root", "_"),
        ("the", "the", "DET", "DT", "_", 4, "det", "_"),
        (noun_form, noun, "NOUN", "NNS" if many else "NN", f"Number={number_of}", 2, "obj", "SpaceAfter=No"),
        (chance.choice(".!"), ".", "PUNCT", ".", "_", 2, "punct", "_"),
    ]
    text = f"{name} {verb_form} the {noun_form}{rows[-1][0]}"
    lines = [f"# sent_id = {number}", f"# text = {text}"]
    for place, (form, lemma, upos, xpos, feats, head, label, misc) in enumerate(rows, start=1):
        lines.append("\t".join([str(place), form, lemma, upos, xpos, feats, str(head), label, "_", misc]))
    return [*lines, ""]


@lru_cache
def conllu(sentences=40, seed=0):
    chance = random.Random(seed)
    return "\n".join(line for s in range(sentences) for line in sentence(chance, s + 1)) + "\n"


def without(text, *places):
    """The treebank without some columns, by index from 0; "text" removes all that tells spaces."""
    lines = []
    for line in text.split("\n"):
        if line.startswith("#") and "text" in places:
            continue
        fields = line.split("\t")
        if len(fields) == 10:
            fields = [
                "_" if i in places or (i == 9 and "text" in places) else f for i, f in enumerate(fields)
            ]
        lines.append("\t".join(fields))
    return "\n".join(lines)


@lru_cache
def columns(sentences=40, seed=0):
    return parse_text(conllu(sentences, seed), "conllu")


@lru_cache
def trained():
    """All four parts; a fraction of a second."""
    return train(columns(60), columns(20, seed=1), config=SMALL)


def texts(given, column):
    return [given.strings(column)[number] for number in given.ids(column).tolist()]
