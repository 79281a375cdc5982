"""Control characters in labels, forms, file names and arguments never reach a terminal."""

from arbora.data import treebank
from arbora.data.synthetic import generate

EVIL = "\x1b]0;stolen\x07"  # sets the title of a terminal
SAFE = "\\x1b]0;stolen\\x07"


def test_control_characters_are_shown_as_escapes(show_in_terminal, model, tmp_path):
    path = tmp_path / f"x{EVIL}.conllu"
    plain = tmp_path / "x.conllu"
    treebank.write(generate(5, seed=1), plain)
    text = plain.read_text().replace("\tsubj\t", f"\tsu{EVIL}bj\t").replace("\t_\n", f"\tA={EVIL}\n")
    path.write_text(text.replace("\tu", f"\tu{EVIL}"))
    labels = tmp_path / "labels.conllu"
    labels.write_text(text.replace("\tnsubj\t", "\tns\x9bubj\t").replace("\troot\t", f"\troot{EVIL}\t"))
    lines = [
        (0, ["stats", path]),
        (0, ["eval", labels, labels, "--by", "label", "--subtypes"]),
        (0, ["convert", path, "-o", "-", "--to", "same"]),
        (0, ["convert", path, "-o", "-", "--to", "conllx"]),
        (0, ["parse", path, "-m", model]),
        (0, ["parse", path, "-m", model, "--format", "conllu"]),
        (0, ["parse", path, "-m", model, "--format", "json"]),
        (0, ["info", model, "--all"]),
        (2, ["stats", f"{path}.none"]),
        (2, ["stats", plain, f"--{EVIL}"]),
        (2, [EVIL]),
        (2, ["info", EVIL]),
        (2, ["train", plain, "-p", f"{EVIL}=1", "-o", tmp_path / "m.arbora"]),
        (1, ["parse", plain, "-m", path]),
    ]
    ends = show_in_terminal([list(map(str, line)) for _, line in lines], NO_COLOR="1")
    for (status, line), (found, shown) in zip(lines, ends, strict=True):
        assert (found, line) == (status, line), shown
        assert shown
        unsafe = {c for c in shown if not c.isprintable()} - {"\n", "\t"}
        assert not unsafe, (line, [row for row in shown.splitlines() if not row.isprintable()][:3])


def test_control_characters_in_files_are_kept(arbora, tmp_path):
    path = tmp_path / "x.conllu"
    treebank.write(generate(5, seed=1), path)
    path.write_text(path.read_text().replace("\t_\n", f"\tA={EVIL}\n"))
    done = arbora("convert", path, "-o", "-", "--to", "same")
    assert done.stdout == path.read_text()
