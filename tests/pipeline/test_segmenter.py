"""Segmentation of raw text: accuracy, offsets, and hostile texts."""

import io
import json
import random

import numpy as np
import pytest
from errors import rejects
from hypothesis import given, settings
from hypothesis import strategies as st
from segmenter_toys import toy_columns, unspaced_columns
from training_toys import Recorder

from arbora.data.columns import Columns, parse_text
from arbora.data.raw_text import raw_text, tokens_of
from arbora.data.treebank import read_columns
from arbora.errors import ArboraError, DataError, InputError, ModelError
from arbora.pipeline import segmenter as module
from arbora.pipeline.segmenter import Segmenter
from arbora.pipeline.train_segmenter import SegmenterSettings, score, train_segmenter
from arbora.storage.model_file import ModelFile

SMALL = SegmenterSettings(bits=14)


@pytest.fixture(scope="module")
def toy() -> Segmenter:
    return train_segmenter(toy_columns(0), dev=toy_columns(1, 100), settings=SMALL)


@pytest.fixture(scope="module")
def unspaced() -> Segmenter:
    return train_segmenter(unspaced_columns(), settings=SMALL)


def words(found):
    forms = found.columns.strings("form")
    return [
        [forms[i] for i in found.columns.ids("form")[a:b]]
        for a, b in zip(found.columns.offsets, found.columns.offsets[1:], strict=False)
    ]


def flat(found):
    return [form for sentence in words(found) for form in sentence]


def is_gap(character):
    return character.isspace() or character in "\u200b\ufeff" or ord(character) < 32 or ord(character) == 127


def check_sound(text, found):
    """Check what holds for any text: spans are in order, cover all but gaps, and match FORM."""
    tokens = tokens_of(found.columns, spaces="given")
    starts, ends, spaces = found.starts.tolist(), found.ends.tolist(), tokens.spaces.tolist()
    finals = set(tokens.offsets.tolist())
    at = word = 0
    for t, form in enumerate(tokens.forms):
        parts = tokens.words.get(t, [form])
        start, end = starts[word], ends[word + len(parts) - 1]
        assert start < end
        assert all(map(is_gap, text[at:start]))
        assert " ".join("".join(" " if is_gap(c) else c for c in text[start:end]).split()) == form
        if t + 1 not in finals:
            assert spaces[t] == (starts[word + len(parts)] > end)
        at = end
        word += len(parts)
    assert word == found.columns.words == len(starts) == len(ends)
    assert all(map(is_gap, text[at:]))
    offsets = found.columns.offsets.tolist()
    assert found.sentences.shape == (len(found.columns), 2)
    for s, (start, end) in enumerate(found.sentences.tolist()):
        assert (start, end) == (starts[offsets[s]], ends[offsets[s + 1] - 1])
    # What is written can be read, and says the same.
    again = parse_text(found.columns.to_bytes().decode(), "conllu")
    assert again.to_bytes() == found.columns.to_bytes()
    assert again.lines.tolist() == found.columns.lines.tolist()


def test_learns_the_toy_language(toy):
    assert toy.scores["words"] > 99
    assert toy.scores["tokens"] > 99
    assert toy.scores["sentences"] > 98
    found = toy.segment("Mr. Dahl doesn't see Bob's house! “Ann calls 3.5 kg of rice.”")
    assert words(found) == [
        ["Mr.", "Dahl", "does", "n't", "see", "Bob", "'s", "house", "!"],
        ["“", "Ann", "calls", "3.5", "kg", "of", "rice", ".", "”"],
    ]


def test_offsets_of_words_in_multiword_tokens(toy):
    text = "Ann isn't here. Bob likes du pain."
    found = toy.segment(text)
    spans = [text[a:b] for a, b in zip(found.starts, found.ends, strict=True)]
    assert spans == ["Ann", "is", "n't", "here", ".", "Bob", "likes", "du", "du", "pain", "."]
    assert words(found)[1] == ["Bob", "likes", "de", "le", "pain", "."]


def test_rules_split_forms_that_training_never_saw(toy):
    assert words(toy.segment("Fritz's cat needn't call.")) == [
        ["Fritz", "'s", "cat", "need", "n't", "call", "."]
    ]


def test_an_ending_that_few_split_forms_have_splits_no_others():
    """Of dont and wont, font must not learn."""
    split = ["1-2\t{0}nt" + "\t_" * 8, "1\t{0}" + "\t_" * 8, "2\tnt" + "\t_" * 8]
    plain = ["1\t{0}" + "\t_" * 8]
    few = [["do"], ["wo"]], ["front", "mont", "cat", "house"]
    many = [["do"], ["wo"], ["ca"], ["did"], ["is"], ["was"]], ["cat", "house", "tree", "bird"]
    unknown = {True: "hasnt", False: "font"}
    for is_productive, (stems, others) in {False: few, True: many}.items():
        sentences = [[row.format(*stem) for row in split] for stem in stems]
        sentences += [[row.format(word) for row in plain] for word in others]
        text = "\n\n".join("\n".join(sentence) for sentence in sentences * 30) + "\n\n"
        learned = train_segmenter(parse_text(text, "conllu"), settings=SMALL)
        found = flat(learned.segment(unknown[is_productive]))
        assert found == (["has", "nt"] if is_productive else ["font"])
        assert flat(learned.segment("dont")) == ["do", "nt"]


def test_split_words_keep_their_case(toy):
    assert words(toy.segment("Ann likes DU pain. Du pain isn't it."))[0][2:4] == ["DE", "LE"]
    assert words(toy.segment("Du pain isn't it."))[0][:2] == ["De", "le"]
    assert flat(toy.segment("ANN ISN'T it."))[:3] == ["ANN", "IS", "N'T"]


def test_the_treebank_is_written_as_conllu(toy):
    found = toy.segment("Ann isn't it.\n\n Bob   calls.\t")
    assert found.columns.to_bytes().decode() == (
        "# newpar\n# sent_id = 1\n# text = Ann isn't it.\n"
        "1\tAnn\t_\t_\t_\t_\t_\t_\t_\t_\n"
        "2-3\tisn't\t_\t_\t_\t_\t_\t_\t_\t_\n"
        "2\tis\t_\t_\t_\t_\t_\t_\t_\t_\n"
        "3\tn't\t_\t_\t_\t_\t_\t_\t_\t_\n"
        "4\tit\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No\n"
        "5\t.\t_\t_\t_\t_\t_\t_\t_\t_\n\n"
        "# newpar\n# sent_id = 2\n# text = Bob calls.\n"
        "1\tBob\t_\t_\t_\t_\t_\t_\t_\t_\n"
        "2\tcalls\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No\n"
        "3\t.\t_\t_\t_\t_\t_\t_\t_\t_\n\n"
    )


def test_text_without_spaces(unspaced):
    found = unspaced.segment("猫が走る。学生は東京が見る。")
    assert words(found)[0] == ["猫", "が", "走る", "。"]
    assert len(found.columns) == 2
    check_sound("猫が走る。学生は東京が見る。", found)


def test_tokens_with_spaces(toy):
    rows = []
    for i in range(200):
        number = f"{i % 9 + 1} 000"
        rows += ["1\tsur" + "\t_" * 8, f"2\t{number}" + "\t_" * 8, "3\tans" + "\t_" * 8, ""]
    columns = parse_text("\n".join([*rows, ""]), "conllu")
    found = train_segmenter(columns, settings=SegmenterSettings(bits=12, spaces="given")).segment(
        "sur 3 000 ans"
    )
    assert words(found) == [["sur", "3 000", "ans"]]
    assert [(a, b) for a, b in zip(found.starts, found.ends, strict=True)][1] == (4, 9)


def test_blank_lines_and_optionally_lines_end_sentences(toy):
    text = "Ann sees\nthe dog\n\nBob calls"
    assert len(toy.segment(text).columns) == 2
    assert len(toy.segment(text, lines=True).columns) == 3
    assert len(toy.segment("Ann sees\r\n \t\r\nBob calls").columns) == 2


def test_long_sentences_are_cut(toy):
    found = toy.segment("dog " * 4500)
    assert np.diff(found.columns.offsets).max() <= 2000
    assert np.diff(toy.segment("dog " * 50, longest_sentence=7).columns.offsets).max() <= 7


HOSTILE = [
    "",
    " ",
    "\n\n\n\t \r\n",
    "\x00",
    "a\x00b\x07c\x7fd",
    "\ufeffAnn calls.",
    "👩‍👩‍👧‍👦 👍🏽👍🏽 🇩🇰🇩🇪🇫 ❤️‍🔥",
    "e\u0301a\u0308\u0327 \u0301x",
    "שלום עולם. مرحبا بالعالم؟ \u202eevil\u202c",
    "a" * 20_000,
    "." * 5_000,
    "🇩" * 5_001,
    "\u0301" * 1000,
    "<script>alert('x')</script>",
    "_ _ _\t_",
    "\x85\u2028\u2029x\u2029y",
    "𝔘𝔫𝔦𝔠𝔬𝔡𝔢 \U0010ffff \ue000 \ufffe",
    "ＡＢＣ　ＤＥＦ",
]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_texts_have_valid_offsets(text, toy, unspaced):
    for segmenter in (toy, unspaced):
        for lines in (False, True):
            check_sound(text, segmenter.segment(text, lines=lines))


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=80))
def test_any_text_has_valid_offsets(toy, text):
    check_sound(text, toy.segment(text))


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet="aB.'’n t\ns,!?\"(1\u0301\u200d👍🏽🇩", max_size=60))
def test_texts_of_tricky_characters_have_valid_offsets(toy, text):
    check_sound(text, toy.segment(text))
    check_sound(text, toy.segment(text, lines=True, longest_sentence=3))


def test_emoji_marks_and_flags_stay_whole(toy):
    found = toy.segment("Ann 👩‍👩‍👧‍👦 e\u0301 🇩🇰🇩🇪")
    forms = flat(found)
    assert {"👩‍👩‍👧‍👦", "e\u0301"} <= set(forms)
    assert not {"🇩", "🇰", "🇪"} & set(forms)


def test_bad_texts_are_rejected(toy):
    with rejects(InputError, field="text"):
        toy.segment("Ann \udc80")
    with rejects(InputError, field="text"):
        toy.segment(b"Ann")
    with rejects(InputError, field="longest_sentence"):
        toy.segment("Ann", longest_sentence=0)
    with rejects(InputError, field="text"):
        toy.native.segment(
            b"ab\xff", longest_sentence=9, lines=False, first_number=1, continues=False, document=""
        )


@pytest.mark.parametrize(
    ("unit", "size"),
    [("dog. Ann ", 2_000_000), ("x", 2_000_000), ("'s", 500_000), ("🇩", 500_000), (".", 500_000)],
)
def test_megabytes_of_one_line_are_segmented(toy, unit, size):
    """An algorithm that is not linear would take hours."""
    text = unit * (size // len(unit))
    found = toy.segment(text)
    assert (found.starts[0], found.ends[-1]) == (0, len(text.rstrip()))
    assert (found.starts[1:] >= found.ends[:-1]).all()


def test_streams_equal_whole_texts(toy, monkeypatch):
    monkeypatch.setattr(module, "PIECE", 300)
    text = raw_text(toy_columns(3, 150)).text
    whole = toy.segment(text)
    for size in (1, 7, 299, 300, 5000):
        parts = list(toy.segment_stream(text[at : at + size] for at in range(0, len(text), size)))
        assert np.concatenate([part.starts for part in parts]).tolist() == whole.starts.tolist()
        assert np.concatenate([part.ends for part in parts]).tolist() == whole.ends.tolist()
        assert b"".join(part.columns.to_bytes() for part in parts) == whole.columns.to_bytes()


def test_streams_without_blank_lines_are_cut_between_sentences(toy, monkeypatch):
    monkeypatch.setattr(module, "PIECE", 200)
    text = "Ann sees the dog. Mr. Dahl calls. " * 100
    parts = list(toy.segment_stream([text]))
    written = b"".join(part.columns.to_bytes() for part in parts).decode()
    assert len(parts) > 3
    assert written.count("# newpar") == 1
    assert written.count("# text = Ann sees the dog.\n") == 100
    assert f"# sent_id = {sum(len(part.columns) for part in parts)}\n" in written
    assert list(toy.segment_stream([])) == []
    assert list(toy.segment_stream(["", " \n"])) == []
    endless = list(toy.segment_stream(["x" * 1000]))
    assert "".join(form for part in endless for row in words(part) for form in row) == "x" * 1000


def from_parts(tensors, metadata, source="<model>"):
    return Segmenter.from_file(ModelFile(source, 1, "0", metadata, tensors))


def test_same_seed_same_parts():
    one, two = (train_segmenter(toy_columns(0, 60), settings=SMALL).to_parts() for _ in range(2))
    assert one[1] == two[1]
    assert all(np.array_equal(one[0][name], two[0][name]) for name in one[0])


def test_stored_segmenters_load_unchanged(toy):
    tensors, metadata = toy.to_parts()
    again = from_parts(tensors, json.loads(json.dumps(metadata)), "toy.arbora")
    text = raw_text(toy_columns(2, 100)).text
    assert again.segment(text).columns.to_bytes() == toy.segment(text).columns.to_bytes()
    assert again.scores == toy.scores
    assert sum(tensor.nbytes for tensor in tensors.values()) < 100_000


def damaged(toy, name, value):
    tensors, metadata = toy.to_parts()
    if name in metadata:
        metadata[name] = value
    else:
        tensors[f"segmenter.{name}"] = value
    return tensors, metadata


@pytest.mark.parametrize(
    ("name", "value", "field"),
    [
        ("format", 2, "metadata 'format'"),
        ("features", 0, "metadata 'features'"),
        ("characters", "x", "metadata"),
        ("bits", 13, "weights"),
        ("bits", 60, "bits"),
        ("bits", True, "bits"),
        ("bits", float("nan"), "bits"),
        ("bits", 10**400, "bits"),
        ("rules", None, "metadata 'rules'"),
        ("rules", [[True, [1], [[0, ""]]]], "rules"),
        ("rules", [[True, [2**40], [[0, ""], [0, ""]]]], "metadata 'rules'"),
        ("rules", [[True, [1, 2], [[0, "a"]] * 3]], "rules"),
        ("rules", [[True, [1], [[0, "a\tb"], [0, ""]]]], "rules"),
        ("rules", [[True, [1], [[0, "\ud800"], [0, ""]]]], "rules"),
        ("rules", [], "candidates"),
        ("scores", [1], "metadata 'scores'"),
        ("token_answers", np.zeros(3, np.uint8), "answers"),
        ("gap_answers", np.full(43 * 43, 7, np.uint8), "answers"),
        ("sentence_answers", np.zeros(3, np.int64), "tensor 'segmenter.sentence_answers'"),
        ("keys", np.zeros(3, np.uint64), "candidates"),
        ("key_rules", np.zeros((1, 1), np.uint16), "tensor 'segmenter.key_rules'"),
        ("token.codes", np.zeros(9, np.int8), "tensor 'segmenter.token.scales'"),
    ],
)
def test_parts_that_do_not_fit_are_rejected(toy, name, value, field):
    with rejects(ModelError, source="bad.arbora", field=field):
        from_parts(*damaged(toy, name, value), "bad.arbora")


def test_missing_and_unsorted_parts_are_rejected(toy):
    tensors, metadata = toy.to_parts()
    for name in list(tensors):
        if name.endswith((".nonzero", ".shape")):
            continue
        with pytest.raises(ModelError):
            from_parts({k: v for k, v in tensors.items() if k != name}, metadata)
    with rejects(ModelError, source="<model>", field="candidates"):
        from_parts(tensors | {"segmenter.keys": tensors["segmenter.keys"][::-1].copy()}, metadata)


def test_flipped_bytes_give_an_error_or_a_working_segmenter(toy):
    chance = random.Random(5)
    tensors, metadata = toy.to_parts()
    for _ in range(200):
        name = chance.choice(list(tensors))
        spoilt = tensors[name].copy()
        raw = spoilt.view(np.uint8)
        if not raw.size:
            continue
        raw[chance.randrange(raw.size)] ^= 1 << chance.randrange(8)
        try:
            segmenter = from_parts(tensors | {name: spoilt}, metadata)
        except ArboraError:
            continue
        text = "Mr. Dahl isn't here. “Ann, call Bob's dog!” 3.5"
        check_sound(text, segmenter.segment(text))


def test_an_empty_treebank_is_rejected():
    with rejects(DataError, source="<text>"):
        train_segmenter(parse_text("", "conllu"))


@pytest.mark.parametrize("wrong", [{"epochs": 0}, {"bits": 40}, {"rate": 0.0}, {"seed": -1}])
def test_bad_settings_are_rejected(wrong):
    with rejects(InputError, field=next(iter(wrong))):
        SegmenterSettings(**wrong)


def test_the_observer_gets_every_epoch():
    observer = Recorder()
    train_segmenter(
        toy_columns(0, 40),
        dev=toy_columns(1, 20),
        settings=SegmenterSettings(bits=12, epochs=3),
        observer=observer,
    )
    assert [report.epoch.number for report in observer.reports] == [1, 2, 3]
    assert set(observer.reports[0].scores) == {"words", "sentences"}


def official(gold: Columns, found: Columns):
    from udtools import udeval

    def with_trees(columns):
        lines = []
        for line in columns.to_bytes().decode().split("\n"):
            fields = line.split("\t")
            if len(fields) == 10 and fields[0].isdigit():
                fields[6:9] = ["0", "root", "_"] if fields[0] == "1" else ["1", "dep", "_"]
            lines.append("\t".join(fields))
        return io.StringIO("\n".join(lines))

    loaded = [udeval.load_conllu(with_trees(each), "test", {}) for each in (gold, found)]
    scores = udeval.evaluate(*loaded)
    return {name: 100 * scores[name.capitalize()].f1 for name in ("tokens", "words", "sentences")}


def test_scores_agree_with_the_official_scorer():
    dev = toy_columns(9, 150)
    weak = train_segmenter(toy_columns(0, 12), settings=SegmenterSettings(bits=10, epochs=1, layouts=False))
    raw = raw_text(dev)
    ours = score(weak, raw)
    theirs = official(dev, weak.segment(raw.text).columns)
    assert ours["tokens"] < 100
    for name, value in theirs.items():
        assert ours[name] == pytest.approx(value, abs=0.2 if name == "words" else 1e-3)


def test_raw_english_reaches_its_bar(treebank_dir):
    paths = [treebank_dir / "UD_English-EWT" / f"en_ewt-ud-{part}.conllu" for part in ("train", "dev")]
    if not all(path.exists() for path in paths):
        pytest.skip(f"needs UD_English-EWT in {treebank_dir}; set ARBORA_DATA to where it is")
    train, dev = map(read_columns, paths)
    trained = train_segmenter(train, dev=dev)
    tensors, metadata = trained.to_parts()
    assert sum(tensor.nbytes for tensor in tensors.values()) < 1_500_000
    scores = official(dev, from_parts(tensors, metadata).segment(raw_text(dev).text).columns)
    assert scores["words"] > 98.5
    assert scores["sentences"] > 85


def test_abbreviations_that_the_treebank_lacks(tmp_path):
    """They end neither a token before their full stop nor a sentence after it."""
    path = tmp_path / "abbreviations.txt"
    path.write_text("approx.\n\nProf.\n")
    columns = toy_columns(0, 2000)
    text = raw_text(toy_columns(1, 1)).text
    first, _, rest = text.partition(" ")
    with_one = f"{first} approx. {rest}"
    plain = train_segmenter(columns, settings=SegmenterSettings(bits=16)).segment(with_one)
    learned = train_segmenter(columns, settings=SegmenterSettings(bits=16, abbreviations=str(path)))
    found = learned.segment(with_one)
    assert "approx." in flat(found)
    assert len(found.columns) == len(learned.segment(text).columns)
    assert flat(found) != flat(plain)


@pytest.mark.parametrize("content", ["", "\n", "et al.\n"])
def test_other_files_of_abbreviations_are_rejected(tmp_path, content):
    path = tmp_path / "abbreviations.txt"
    path.write_text(content)
    with rejects(InputError, field="abbreviations"):
        train_segmenter(toy_columns(0, 5), settings=SegmenterSettings(abbreviations=str(path)))


def test_the_size_of_the_tables_follows_the_treebank():
    small = train_segmenter(toy_columns(0, 30), settings=SegmenterSettings(epochs=1))
    assert small.native.parts()["bits"] < 18
