"""The study of learning without a treebank."""

import numpy as np
import pytest
from studies_toys import SOME

from arbora.data.columns import columns_of
from arbora.data.sentence import Sentence
from arbora_studies.crfae import AUTHORS, PUBLISHED, SYSTEMS, TAG_MAPS, CrfaeResults, GoldTrees


def test_every_system_is_scored_on_both_lengths(finished):
    short, everything, *_, costs = finished("crfae").report.tables
    titles = [SYSTEMS[key].title for key in SOME["crfae"]]
    for table in (short, everything, costs):
        assert [row[0] for row in table.rows][: len(titles)] == titles
    assert all(0 <= float(row[1]) <= 100 for row in short.rows)


def test_accuracy_counts_words_without_punctuation():
    sentence = Sentence.from_lists(
        ["a", ",", "b", "."], upos=["X", "PUNCT", "Y", "PUNCT"], heads=[2, 3, 0, 3]
    )
    test_set = GoldTrees.of(columns_of([sentence]), ("X", "Y"))
    assert [s.tolist() for s in test_set.sentences] == [[0, 1]]
    assert [h.tolist() for h in test_set.heads] == [[2, 0]]
    assert test_set.accuracy([np.array([2, 0])]) == {"short": 100.0, "all": 100.0}
    assert test_set.accuracy([np.array([0, 1])]) == {"short": 0.0, "all": 0.0}


@pytest.mark.parametrize(
    ("language", "coarse", "fine", "expected"),
    [
        ("danish", "N", "NP", "PROPN"),
        ("danish", "P", "PD", "DET"),
        ("danish", "X", "XF", "X"),
        ("czech", "J^-------------", "J^-------------", "CCONJ"),
        ("czech", "VpMS----R-AA---", "VpMS----R-AA---", "VERB"),
    ],
)
def test_other_tags_are_mapped(language, coarse, fine, expected):
    assert TAG_MAPS[language](coarse, fine) == expected


def test_the_papers_means_are_those_that_it_prints():
    means = {
        "crfae-table-2": (54.3, 44.0),
        "crfae": (40.6, 34.7),
        "convex-table-2": (47.5, 41.5),
        "dmv": (41.0, 32.0),
    }
    for system, printed in means.items():
        for length, mean in zip(("short", "all"), printed, strict=True):
            found = [score for name, score in PUBLISHED[length][system].items() if name != "english"]
            assert sum(found) / len(found) == pytest.approx(mean, abs=0.15)


def test_rules_that_fit_are_chosen_by_language():
    cells = {"crfae-universal": {"short": 60.0, "all": 50.0}, "crfae-table-2": {"short": 40.0, "all": 30.0}}
    cells = {key: {**found, "seconds": 1.0, "objectives": []} for key, found in cells.items()}
    results = CrfaeResults({"english": cells, "czech": cells}, list(cells))
    assert results.fitting("crfae", "short") == [60.0, 40.0]
    assert results.accuracies("short").rows[-1] == ["CRFAE, rules that fit", "60.0", "40.0", "50.0"]
    assert results.fitting("convex", "short") == [None, None]


def test_authors_settings_cover_all_languages_of_the_paper():
    assert set(AUTHORS) == {*PUBLISHED["short"]["dmv"], "english"}


def test_some_systems_run_on_english_only():
    cells = {"left": {"short": 60.0, "all": 50.0, "seconds": 1.0, "objectives": []}}
    likelihood = {"crfae-likelihood": cells["left"]}
    results = CrfaeResults({"english": {**cells, **likelihood}, "dutch": cells}, ["left", "crfae-likelihood"])
    assert results.accuracies("all").rows[1][1:] == ["50.0", "", ""]
    assert results.costs().rows[1][1:] == ["1.0 (0)", ""]
