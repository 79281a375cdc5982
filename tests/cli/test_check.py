"""`arbora check`."""

import json

BAD = "1\tw\t_\tX\t_\t_\t7\tdep\t_\t_\n2\tw\t_\tX\t_\t_\tz\tdep\t_\t_\n\n"


def test_check_lists_faults_and_sets_the_status(arbora, synthetic, tmp_path):
    found = arbora("check", synthetic[0])
    assert (found.status, found.stdout) == (0, "")
    path = tmp_path / "bad.conllu"
    path.write_text(BAD + synthetic[0].read_text() + BAD)
    found = arbora("check", path)
    assert found.status == 1
    heading, *rows = [line.split("\t") for line in found.stdout.splitlines()]
    count = len(path.read_text().splitlines())
    assert heading == ["line", "severity", "test", "message"]
    assert [int(row[0]) for row in rows] == [1, 2, count - 2, count - 1]
    document = json.loads(arbora("check", path, "--json").stdout)
    assert (document["errors"], document["bad_sentences"], document["sentences"]) == (4, 2, 82)
    assert [fault["line"] for fault in document["faults"]] == [1, 2, count - 2, count - 1]


def test_check_lists_suspicious_arcs(arbora, synthetic):
    found = arbora("check", synthetic[1], "--suspicious", "2%", "--folds", 2, "--json")
    assert found.status == 0, found.stderr
    arcs = json.loads(found.stdout)["suspicious"]
    words = sum(line[:1].isdigit() for line in synthetic[1].read_text().splitlines())
    assert len(arcs) == -(-words * 2 // 100)
    table = arbora("check", synthetic[1], "--suspicious", "2%", "--folds", 2).stdout.splitlines()
    assert [int(row.split("\t")[0]) for row in table[1:]] == [arc["line"] for arc in arcs]
    assert arbora("check", synthetic[1], "--suspicious", "many").status == 2
    assert arbora("check", synthetic[1], "--suspicious", "200%").status == 2
