"""The study of learning without a treebank, small: what is written, judged and remembered."""

import numpy as np
import pytest

from arbora.data.columns import columns_of
from arbora.data.sentence import Sentence
from arbora.errors import InputError
from arbora.reproduce import Options, studies
from arbora.reproduce.crfae import AUTHORS, SYSTEMS, TAG_MAPS, Judged
from arbora.reproduce.crfae_report import PUBLISHED, CrfaeReport
from arbora.reproduce.languages import languages
from arbora.reproduce.study import Unwatched

FEW = ("left", "random", "dmv", "convex-universal", "crfae-universal", "crfae-likelihood")


class Notes(Unwatched):
    def __init__(self):
        self.begun = []

    def cell_begins(self, name, examples):
        self.begun.append(name)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder, notes = tmp_path_factory.mktemp("crfae"), Notes()
    options = Options(output=folder, quick=True, learners=FEW)
    return folder, studies.create("crfae").run(options, notes), notes


def test_every_system_is_judged_on_both_lengths(finished):
    folder, report, notes = finished
    short, everything, *_, costs = report.tables
    for table in (short, everything, costs):
        assert [row[0] for row in table.rows][: len(FEW)] == [SYSTEMS[name].title for name in FEW]
    assert notes.begun == [f"invented, {name}" for name in FEW]
    assert all(0 <= float(row[1]) <= 100 for row in short.rows)
    page = (folder / "README.md").read_text(encoding="utf-8")
    assert all(table.to_markdown() in page for table in report.tables)
    assert "say nothing" in page


def test_what_is_there_is_not_computed_again(finished):
    folder, report, _ = finished
    notes = Notes()
    again = studies.create("crfae").run(Options(output=folder, quick=True, learners=FEW), notes)
    assert notes.begun == []
    assert [table.rows for table in again.tables] == [table.rows for table in report.tables]


def test_accuracy_counts_words_without_punctuation():
    sentence = Sentence.from_lists(
        ["a", ",", "b", "."], upos=["X", "PUNCT", "Y", "PUNCT"], heads=[2, 3, 0, 3]
    )
    judged = Judged.of(columns_of([sentence]), ("X", "Y"))
    assert [s.tolist() for s in judged.sentences] == [[0, 1]]
    assert [h.tolist() for h in judged.heads] == [[2, 0]]
    assert judged.accuracy([np.array([2, 0])]) == {"short": 100.0, "all": 100.0}
    assert judged.accuracy([np.array([0, 1])]) == {"short": 0.0, "all": 0.0}


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


def test_rules_that_fit_are_taken_by_language():
    cells = {"crfae-universal": {"short": 60.0, "all": 50.0}, "crfae-table-2": {"short": 40.0, "all": 30.0}}
    cells = {key: {**found, "seconds": 1.0, "objectives": []} for key, found in cells.items()}
    results = {"english": cells, "czech": cells}
    report = CrfaeReport(results, languages, {key: key for key in cells}, Options(output=None))
    assert report.fitting("crfae", "short") == [60.0, 40.0]
    assert report.fitting("convex", "short") == []


def test_authors_settings_are_for_all_languages_of_the_paper():
    assert set(AUTHORS) == {*PUBLISHED["short"]["dmv"], "english"}


def test_unknown_names_are_told(tmp_path):
    with pytest.raises(InputError, match="crfae"):
        studies.create("crfae").run(Options(output=tmp_path, quick=True, learners=("crfea",)), Unwatched())
