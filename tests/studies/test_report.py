"""Tables of studies."""

from arbora_studies.report import Cell, Table, chance, number


def test_rows_may_lack_cells():
    table = Table.of("t", [{"a": "x", "b": number(1.234)}, {"a": "y", "c": Cell("1:2", [1, 2])}])
    assert table.headings == ["a", "b", "c"]
    assert table.rows == [["x", "1.23", ""], ["y", "", "1:2"]]
    assert table.values == [{"a": "x", "b": 1.234}, {"a": "y", "c": [1, 2]}]


def test_markdown_is_escaped():
    assert Table("t", ("a", "b"), (("x|y", "1"),)).to_markdown().splitlines()[-1] == "| x\\|y | 1 |"


def test_numbers_are_formatted():
    assert number(None) == Cell("", None)
    assert number(float("inf")) == Cell("inf", None)
    assert chance(0.0123).text == "0.012"
    assert chance(1e-9) == Cell("<0.001", 1e-9)
