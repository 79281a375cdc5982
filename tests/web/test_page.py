"""The page in a headless browser: typing, pointing, dragging, touching, keys."""

import re
from dataclasses import replace

import pytest
from browser import ActionChains, By, Keys, Page, browsing, serving
from serving_toys import parser

from arbora.data.columns import parse_text
from arbora.data.synthetic import generate

SENTENCES = [sentence for sentence in generate(30, seed=9) if 5 <= len(sentence) <= 9][:3]
HEBREW = "\n".join(
    f"{i}\t{form}\t_\tNOUN\t_\t_\t_\t_\t_\t_" for i, form in enumerate(["הילדה", "קראה", "ספר"], start=1)
)


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    folder = tmp_path_factory.mktemp("page")
    parser().save(folder / "toy.arbora")
    with browsing(folder) as driver, serving("serve", "-m", folder / "toy.arbora") as address:
        made = Page(driver, address, folder / "downloads")
        made.open()
        yield made


@pytest.fixture(autouse=True)
def _nothing_in_the_console(page):
    """Check that the console has no errors besides rejected requests."""
    yield
    lines = [entry["message"] for entry in page.driver.get_log("browser")]
    assert [line for line in lines if "status of 422" not in line] == []


@pytest.fixture
def treebank(tmp_path):
    path = tmp_path / "three.conllu"
    path.write_text("".join(sentence.to_conllu() for sentence in SENTENCES))
    return path


def test_typing_shows_a_tree(page):
    page.open()
    assert page.driver.switch_to.active_element == page.one("#text")
    page.type("tafo zondos kunzangu nultorpel.")
    assert page.forms == ["tafo", "zondos", "kunzangu", "nultorpel", "."]
    assert len(page.all("#stage .arc")) == 5
    assert "1 sentence, 5 words" in page.status
    assert "no segmenter" in page.status
    assert "%" in page.labels[0]


def test_the_english_model_comes_with_an_example(page):
    assert (
        page.one("#text").get_attribute("value") == "tafo zondos kunzangu nultorpel."
    )  # no other model does
    with serving("serve") as address:
        other = Page(page.driver, address, page.downloads)
        other.open()
        other.wait(lambda: other.status.startswith("An example"))
        other.settle()
        assert "English" in other.one("#model").text
        assert other.forms == ["She", "saw", "the", "man", "with", "the", "telescope", "."]
        assert other.one("#word h2").text == "telescope"  # the most doubtful word
        assert other.driver.switch_to.active_element == other.one("#text")
        other.type("Who is it?")  # in place of the example
        assert other.forms == ["Who", "is", "it", "?"]
    page.open()
    assert page.one("#text").get_attribute("value") == ""


def test_typed_text_is_escaped(page):
    text = "<script>window.hacked=1</script> <img src=x onerror=window.hacked=2> &lt;b&gt; {{7*7}}"
    page.type(text)
    assert page.run("return window.hacked") is None
    assert "".join(page.forms) == "".join(text.split())
    page.one("#heat summary").click()
    for word in range(1, 4):
        ActionChains(page.driver).move_to_element(page.node(word)).perform()
    assert page.run("return document.querySelectorAll('main img, main script, main b').length") == 0
    assert page.one("#word h2").text in text
    page.one("#heat summary").click()


def test_pointing_shows_the_heads(page):
    page.type("tafo zondos kunzangu nultorpel.")
    ActionChains(page.driver).move_to_element(page.node(3)).perform()
    page.wait(lambda: page.one("#word h2").text == "kunzangu")
    rows = page.all("#word li button")
    shares = [float(row.find_element(By.CSS_SELECTOR, ".share").text.strip("<>%")) for row in rows]
    assert shares == sorted(shares, reverse=True)
    assert 90 <= sum(shares) <= 106
    assert len(page.all('#word li [aria-pressed="true"]')) == 1
    assert len(page.all("#stage .arc.lit")) == 1
    assert len(page.all("#stage .node.lit")) == 2


def test_next_best_trees(page):
    page.type("tafo zondos kunzangu nultorpel.")
    seen = set()
    choices = len(page.all("#choices button"))
    assert choices == 8
    for i in range(choices):
        page.all("#choices button")[i].click()
        assert page.all("#choices button")[i].get_attribute("aria-checked") == "true"
        seen.add(tuple(label.split(" of ")[1].split(",")[0] for label in page.labels))
    assert len(seen) == choices
    page.press(Keys.ARROW_RIGHT)
    assert page.all("#choices button")[0].get_attribute("aria-checked") == "true"
    assert page.driver.switch_to.active_element == page.all("#choices button")[0]


def test_the_heat_map(page):
    page.type("tafo zondos kunzangu.")
    page.one("#heat summary").click()
    page.wait(lambda: len(page.all("#map tbody tr")) == 5)
    assert len(page.all("#map tbody td")) == 5 * 4
    assert len(page.all("#map td.chosen")) == 4
    told = [cell.get_attribute("title") for cell in page.all("#map tbody td")]
    assert sum(bool(re.fullmatch(r"\S+ → \S+: [<>]?\d+%", title)) for title in told) == 4 * 4
    colours = {cell.value_of_css_property("background-color") for cell in page.all("#map tbody td")}
    assert len(colours) > 3
    page.one("#heat summary").click()


def head_of(page, word):
    return page.labels[word - 1].split(" of ")[1]


def test_dragging_corrects_a_head(page):
    page.type("tafo zondos kunzangu nultorpel.")
    before = page.labels
    wanted = next(w for w in (1, 2, 3) if not head_of(page, 4).startswith(page.forms[w - 1]))
    page.drag(4, wanted)
    page.wait(lambda: "now depends on" in page.status)
    assert head_of(page, 4) == f"{page.forms[wanted - 1]}, pinned by you"
    assert len(page.all("#stage .arc.kept")) == 1
    assert "You pinned this head" in page.one("#word").text
    page.drag(1, 0)
    page.wait(lambda: head_of(page, 1) == "ROOT, pinned by you")
    assert len(page.all("#stage .arc.kept")) == 2
    for _ in range(2):
        page.one("#undo").click()
        page.wait(lambda: page.status == "Undone.")
        page.run("document.getElementById('status').textContent = ''")
    assert page.labels == before
    assert not page.one("#undo").is_enabled()
    page.drag(4, 4)  # onto itself: nothing
    assert page.labels == before


def test_keys_alone_correct_a_head(page):
    page.type("tafo zondos kunzangu nultorpel.")
    page.run("document.querySelector('#stage [tabindex=\"0\"]').focus()")
    page.press(Keys.END)
    assert page.one("#word h2").text == "."
    page.press(Keys.ARROW_LEFT)
    assert page.one("#word h2").text == "nultorpel"
    page.press(Keys.ENTER)
    assert "Arrow keys change it" in page.status
    page.press(Keys.ESCAPE)
    page.wait(lambda: page.status == "Nothing changed.")
    page.press(Keys.ENTER, Keys.HOME, Keys.ARROW_RIGHT, Keys.ENTER)
    page.wait(lambda: "now depends on" in page.status)
    assert head_of(page, 4) == "tafo, pinned by you"
    assert page.driver.switch_to.active_element == page.node(4)
    page.press(Keys.DELETE)
    page.wait(lambda: "unpinned" in page.status)
    assert "fixed" not in "".join(page.labels)
    page.press(Keys.ENTER, "0", Keys.ENTER)
    page.wait(lambda: head_of(page, 4) == "ROOT, pinned by you")
    # Every control is reached by Tab, in the order in which it stands.
    page.one("#text").click()
    names = []
    for _ in range(9):
        page.press(Keys.TAB)
        names.append(page.driver.switch_to.active_element.get_attribute("id"))
    assert [n for n in names if n] == ["parse", "open", "undo", "release", "save-conllu", "save-svg"]


def test_labels_change_by_mouse_and_keys(page):
    page.type("tafo zondos kunzangu nultorpel.")
    page.run("document.querySelector('#stage [tabindex=\"0\"]').focus()")
    page.press(Keys.HOME, "l")
    page.wait(lambda: page.all(".picker li"))
    shares = [each.text for each in page.all(".picker li .share")]
    assert shares[0].endswith("%")
    assert page.one(".picker li.current .what").text == label_of(page, 1)
    page.press(Keys.ESCAPE)
    assert not page.all(".picker")
    assert page.driver.switch_to.active_element == page.node(1)
    wanted = next(label for label in ("obj", "nsubj") if label != label_of(page, 1))
    page.press("l", wanted, Keys.ENTER)
    page.wait(lambda: label_of(page, 1) == wanted)
    page.settle()
    assert "pinned by you" in page.labels[0]
    page.all("#stage .label")[1].click()
    page.wait(lambda: page.all(".picker li"))
    page.all(".picker li")[2].click()
    page.settle()
    assert sum("pinned by you" in label for label in page.labels) == 2
    page.press("l", "my:own", Keys.ENTER)  # a label of the user's own
    page.wait(lambda: "my:own" in "".join(page.labels))


def label_of(page, word):
    return page.labels[word - 1].split(", ")[2].split(" of ")[0]


def test_impossible_heads_show_an_error(page):
    page.type("tafo zondos kunzangu.")
    page.drag(1, 2)
    page.wait(lambda: head_of(page, 1) == "zondos, pinned by you")
    before = page.labels
    page.drag(2, 1)
    page.wait(lambda: "tafo → zondos → tafo" in page.status)
    assert page.labels == before
    page.drag(2, 0)
    page.wait(lambda: head_of(page, 2) == "ROOT, pinned by you")
    page.drag(3, 0)
    page.wait(lambda: "“zondos” and “kunzangu”" in page.status)


def test_a_file_and_its_trees(page, treebank):
    page.open_file(treebank)
    assert "3 sentences" in page.status
    buttons = page.all("#sentences button")
    assert [b.find_element(By.CSS_SELECTOR, ".what").text for b in buttons] == [s.text for s in SENTENCES]
    buttons[1].click()
    page.settle()
    page.wait(lambda: page.forms == list(SENTENCES[1].forms))
    page.settle()
    assert page.all("#choices button")[0].text == "From the file"
    assert page.all("#choices button")[1].text.startswith("Best")
    assert heads_of(page) == named_heads(SENTENCES[1])


def heads_of(page):
    return [label.split(" of ")[1].split(",")[0] for label in page.labels]


def named_heads(sentence):
    return [sentence.forms[head - 1] if head else "ROOT" for head in sentence.heads]


def test_trees_of_a_file_are_saved_as_they_are(page, treebank):
    page.open_file(treebank)
    page.one("#save-conllu").click()
    assert saved(page, "trees.conllu") == treebank.read_text()


def test_a_correction_changes_one_arc_of_the_file(page, treebank):
    page.open_file(treebank)
    word = next(w for w, head in enumerate(SENTENCES[0].heads, start=1) if head == 0)
    other = next(w for w, head in enumerate(SENTENCES[0].heads, start=1) if head == word)
    page.drag(word, other)  # onto a dependent
    names = [SENTENCES[0].forms[w - 1] for w in sorted((word, other))]
    page.wait(lambda: " → ".join([*names, names[0]]) in page.status)
    leaf = next(w for w in range(1, len(SENTENCES[0]) + 1) if w not in SENTENCES[0].heads)
    head = next(w for w in range(1, len(SENTENCES[0]) + 1) if w not in (leaf, SENTENCES[0].heads[leaf - 1]))
    page.drag(leaf, head)
    page.wait(lambda: "now depends on" in page.status)
    page.settle()
    expected = named_heads(SENTENCES[0])
    expected[leaf - 1] = SENTENCES[0].forms[head - 1]
    assert heads_of(page) == expected
    page.one("#undo").click()
    assert heads_of(page) == named_heads(SENTENCES[0])


def test_partial_trees_are_completed_around_the_file(page, tmp_path):
    path = tmp_path / "partial.conllu"
    sentence = SENTENCES[0]
    keep = len(sentence) // 2
    heads = [*sentence.heads[:keep], *[-1] * (len(sentence) - keep)]
    path.write_text(replace(sentence, heads=tuple(heads)).to_conllu())
    page.open_file(path)
    assert heads_of(page)[:keep] == named_heads(sentence)[:keep]
    assert page.one("#choices button").text.startswith("Completed")
    page.one("#save-conllu").click()
    (found,) = parse_text(saved(page, "trees.conllu"), "conllu").sentences()
    assert found.heads[:keep] == sentence.heads[:keep]
    assert -1 not in found.heads


def test_multiword_tokens_are_drawn(page, tmp_path):
    path = tmp_path / "mwt.conllu"
    path.write_text(HEBREW.replace("2\tקראה", "2-3\tקראהספר" + "\t_" * 8 + "\n2\tקראה", 1))
    page.open_file(path)
    assert [token.text for token in page.all("#stage .token")] == ["קראהספר"]


def saved(page, name):
    path = page.downloads / name
    page.wait(path.exists)
    page.wait(lambda: path.stat().st_size)
    text = path.read_text()
    path.unlink()
    return text


def test_export(page, treebank):
    page.open_file(treebank)
    page.drag(1, 3)
    page.wait(lambda: "now depends on" in page.status or "cannot be" in page.status)
    page.one("#save-conllu").click()
    found = list(parse_text(saved(page, "trees.conllu"), "conllu").sentences())
    assert [s.forms for s in found] == [s.forms for s in SENTENCES]
    assert [s.heads for s in found[1:]] == [s.heads for s in SENTENCES[1:]]
    page.one("#save-svg").click()
    picture = saved(page, "tree.svg")
    assert picture.lstrip().startswith("<")
    assert all(form in picture for form in SENTENCES[0].forms)


def test_light_and_dark(page):
    colours = {}
    for scheme in ("light", "dark"):
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        colours[scheme] = page.one("body").value_of_css_property("background-color")
    assert colours["light"] != colours["dark"]
    page.one("#theme").click()
    assert page.one("#theme").text == "Theme: light"
    assert page.one("body").value_of_css_property("background-color") == colours["light"]
    page.one("#theme").click()
    page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    assert page.one("body").value_of_css_property("background-color") == colours["dark"]
    page.one("#theme").click()
    assert page.one("#theme").text == "Theme: auto"


def test_right_to_left(page, tmp_path):
    path = tmp_path / "he.conllu"
    path.write_text(HEBREW)
    page.open_file(path)
    places = [page.node(i).rect["x"] for i in range(1, 4)]
    assert places == sorted(places, reverse=True)
    page.run("document.querySelector('#stage [tabindex=\"0\"]').focus()")
    page.press(Keys.HOME, Keys.ARROW_LEFT)  # the way the text runs
    assert page.one("#word h2").text == "קראה"
    bar = "getComputedStyle(document.querySelector('.shares button'), '::before')"
    assert page.run(f"return {bar}.right") == "0px"  # bars grow from the right
    page.type("tafo zondos kunzangu nultorpel.")
    assert page.run(f"return {bar}.left") == "0px"


def test_long_sentences_wrap(page):
    page.type(" ".join(["tafo zondos kunzangu nultorpel"] * 12))
    fits = "const stage = document.getElementById('stage'); return stage.scrollWidth <= stage.clientWidth"
    assert page.run(fits)
    rows = [round(page.node(word).rect["y"]) for word in range(1, 49)]
    assert rows == sorted(rows)
    assert len(set(rows)) > 2
    before = len(set(rows))
    with page.on_a_phone():
        page.wait(lambda: len({round(page.node(word).rect["y"]) for word in range(1, 49)}) > before)
        assert page.run(fits)
        assert page.run("return document.documentElement.scrollWidth <= window.innerWidth")
    page.run("document.querySelector('#stage [tabindex=\"0\"]').focus()")
    page.press(
        Keys.END, Keys.ENTER, Keys.HOME, Keys.ARROW_RIGHT, Keys.ENTER
    )  # from the last row to the first
    page.wait(lambda: "now depends on “tafo”" in page.status)


def test_labels_of_roots_stay_in_the_picture_and_apart(page, tmp_path):
    path = tmp_path / "roots.conllu"
    rows = [
        f"{i}\t{form}\t_\tX\t_\t_\t0\troot:a-very-long-subtype\t_\t_\n" for i, form in ((1, "a"), (2, "b"))
    ]
    path.write_text(
        "".join(rows) + "\n" + HEBREW.replace("_\t_\t_\t_\t_", "_\t_\t0\troot:long\t_", 1) + "\n\n"
    )
    page.open()
    page.open_file(path)
    box = "const box = each.getBoundingClientRect(); return [box.left, box.right]"
    boxes = f"return Array.from(document.querySelectorAll(arguments[0]), (each) => {{ {box} }})"
    ((left, right),) = page.run(boxes, "#stage svg")
    (_, first), (second, _) = labels = sorted(page.run(boxes, "#stage .label"))
    assert left <= min(map(min, labels)) <= max(map(max, labels)) <= right
    assert first <= second
    page.all("#sentences button")[1].click()
    page.settle()
    ((left, right),) = page.run(boxes, "#stage svg")
    assert left <= min(map(min, page.run(boxes, "#stage .label")))
    assert right >= max(map(max, page.run(boxes, "#stage .label")))


def test_touch_drags_and_does_not_scroll(page):
    with page.on_a_phone():
        page.type("tafo zondos kunzangu nultorpel.")
        page.run("document.getElementById('stage').scrollIntoView()")
        wanted = next(w for w in (1, 2, 3) if not head_of(page, 4).startswith(page.forms[w - 1]))
        assert page.touch('[data-node="4"]', f'[data-node="{wanted}"]') == 0
        page.wait(lambda: "now depends on" in page.status)
        assert head_of(page, 4) == f"{page.forms[wanted - 1]}, pinned by you"
        page.settle()
        page.run("document.getElementById('stage').scrollIntoView()")
        page.touch('[data-node="1"]', '[data-node="0"]')
        page.wait(lambda: head_of(page, 1) == "ROOT, pinned by you")
        # Without dragging: a tap on the word, on the button and on the head.
        page.settle()
        page.run("document.getElementById('release').click()")
        page.wait(lambda: "fixed" not in "".join(page.labels))
        page.settle()
        page.tap('[data-node="2"]')
        page.wait(lambda: page.one("#word h2").text == "zondos")
        page.run("document.querySelector('#word button').click()")
        page.tap('[data-node="3"]')
        page.wait(lambda: head_of(page, 2) == "kunzangu, pinned by you")


def test_missing_lists_are_explained(page):
    page.type("tafo " * 101)
    assert "at most 100" in page.one("#why").text
    assert "at most 100" not in page.one("#map").text
    page.type("tafo zondos.")
    assert page.one("#why").text == ""


def test_errors_are_shown(page):
    page.open()
    page.one("#parse").click()
    assert page.status == "There is no text yet."
    page.run("document.getElementById('text').value = 'tafo '.repeat(301)")
    page.one("#parse").click()
    page.wait(lambda: "at most 300 words" in page.status)
    assert "bad" in page.one("#status").get_attribute("class")
    page.driver.get_log("browser")  # that refusal is in there
