"""The page in a headless browser: typing, pointing, dragging, keys."""

import re
import shutil
import subprocess
import sys
import time
from contextlib import contextmanager

import pytest
from serving_toys import parser

from arbora.data.columns import parse_text
from arbora.data.synthetic import generate

pytest.importorskip("uvicorn", reason="the page needs uvicorn (extra: serve)")
webdriver = pytest.importorskip("selenium.webdriver", reason="needs selenium (extra: browser)")
BROWSER = shutil.which("chromium") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
if BROWSER is None or DRIVER is None:
    pytest.skip("needs chromium and chromedriver on the PATH", allow_module_level=True)

from selenium.webdriver.common.action_chains import ActionChains  # noqa: E402
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402

SENTENCES = [sentence for sentence in generate(30, seed=9) if 5 <= len(sentence) <= 9][:3]
HEBREW = "\n".join(
    f"{i}\t{form}\t_\tNOUN\t_\t_\t_\t_\t_\t_" for i, form in enumerate(["הילדה", "קראה", "ספר"], start=1)
)


class Page:
    """What a user sees and does."""

    def __init__(self, driver, address, downloads):
        self.driver = driver
        self.address = address
        self.downloads = downloads

    def open(self):
        self.driver.get(self.address)
        self.wait(lambda: self.one("#model").text)

    def wait(self, condition, seconds=10):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if value := condition():
                return value
            time.sleep(0.02)
        raise AssertionError(f"not in {seconds} s; the page says: {self.status}")

    def one(self, selector):
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def all(self, selector):
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def run(self, script, *values):
        return self.driver.execute_script(script, *values)

    @property
    def status(self):
        return self.run("return document.getElementById('status').textContent")

    @property
    def forms(self):
        return self.of_words("node.querySelector('.form').textContent")

    @property
    def labels(self):
        return self.of_words("node.getAttribute('aria-label')")

    def of_words(self, value):
        """Read all at once: between two reads, the tree may be redrawn."""
        nodes = "document.querySelectorAll('#stage .node:not(.root)')"
        return self.run(f"return Array.from({nodes}, (node) => {value})")

    def settle(self):
        """Wait until no request is pending."""
        self.wait(lambda: self.one("#result").get_attribute("aria-busy") == "false")

    def type(self, text):
        box = self.one("#text")
        box.clear()
        box.send_keys(text)
        box.send_keys(Keys.CONTROL, Keys.ENTER)
        self.wait(lambda: self.status.startswith("Parsed"))
        self.settle()

    def open_file(self, path):
        self.one("#file").send_keys(str(path))
        self.wait(lambda: self.status.startswith(path.name))
        self.settle()

    def node(self, word):
        return self.one(f'#stage [data-node="{word}"]')

    def press(self, *keys):
        for key in keys:
            self.driver.switch_to.active_element.send_keys(key)

    def drag(self, word, head):
        chain = ActionChains(self.driver, duration=50)
        chain.click_and_hold(self.node(word)).move_by_offset(8, -20).move_to_element(
            self.node(head)
        ).release()
        chain.perform()


@contextmanager
def serving(*options):
    """The address of a server that ends with the block."""
    command = [sys.executable, "-m", "arbora", "serve", *map(str, options), "--port", "0", "-q"]
    server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        yield re.search(r"http://\S+", server.stderr.readline())[0]
    finally:
        server.terminate()
        server.wait(20)
        server.stderr.close()


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    folder = tmp_path_factory.mktemp("page")
    parser().save(folder / "toy.arbora")
    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1200,900"):
        options.add_argument(argument)
    options.add_experimental_option("prefs", {"download.default_directory": str(folder / "downloads")})
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    try:
        with serving("-m", folder / "toy.arbora") as address:
            made = Page(driver, address, folder / "downloads")
            made.open()
            yield made
    finally:
        driver.quit()


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
    with serving() as address:
        other = Page(page.driver, address, page.downloads)
        other.open()
        other.wait(lambda: other.one("#text").get_attribute("value"))
        assert "English" in other.one("#model").text
        assert other.status.startswith("Press Parse")
        other.one("#parse").click()
        other.wait(lambda: other.status.startswith("Parsed"))
        other.settle()
        assert other.forms == ["She", "saw", "the", "man", "with", "the", "telescope", "."]
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
    page.wait(lambda: "now hangs on" in page.status)
    assert head_of(page, 4) == f"{page.forms[wanted - 1]}, fixed by you"
    assert len(page.all("#stage .arc.kept")) == 1
    assert "You fixed this head" in page.one("#word").text
    page.drag(1, 0)
    page.wait(lambda: head_of(page, 1) == "ROOT, fixed by you")
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
    assert "Arrows change it" in page.status
    page.press(Keys.ESCAPE)
    assert page.status == "Nothing changed."
    page.press(Keys.ENTER, Keys.HOME, Keys.ARROW_RIGHT, Keys.ENTER)
    page.wait(lambda: "now hangs on" in page.status)
    assert head_of(page, 4) == "tafo, fixed by you"
    assert page.driver.switch_to.active_element == page.node(4)
    page.press(Keys.DELETE)
    page.wait(lambda: "free again" in page.status)
    assert "fixed" not in "".join(page.labels)
    page.press(Keys.ENTER, "0", Keys.ENTER)
    page.wait(lambda: head_of(page, 4) == "ROOT, fixed by you")
    # Every control is reached by Tab, in the order in which it stands.
    page.one("#text").click()
    names = []
    for _ in range(9):
        page.press(Keys.TAB)
        names.append(page.driver.switch_to.active_element.get_attribute("id"))
    assert [n for n in names if n] == ["parse", "open", "undo", "release", "save-conllu", "save-svg"]


def test_impossible_heads_show_an_error(page):
    page.type("tafo zondos kunzangu.")
    page.drag(1, 2)
    page.wait(lambda: head_of(page, 1) == "zondos, fixed by you")
    before = page.labels
    page.drag(2, 1)
    page.wait(lambda: page.status.startswith("That cannot be: the heads that are given hold a cycle"))
    assert page.labels == before


def test_a_file_and_its_trees(page, treebank):
    page.open_file(treebank)
    assert "3 sentences" in page.status
    buttons = page.all("#sentences button")
    assert [b.find_element(By.CSS_SELECTOR, ".what").text for b in buttons] == [s.text for s in SENTENCES]
    buttons[1].click()
    page.settle()
    page.wait(lambda: page.forms == list(SENTENCES[1].forms))
    page.settle()
    page.all("#choices button")[-1].click()
    assert page.all("#choices button")[-1].text == "From the file"
    heads = [0 if (h := label.split(" of ")[1]) == "ROOT" else h for label in page.labels]
    names = [0 if h == 0 else SENTENCES[1].forms[h - 1] for h in SENTENCES[1].heads]
    assert heads == names


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
    page.wait(lambda: "now hangs on" in page.status or "cannot be" in page.status)
    page.one("#save-conllu").click()
    found = list(parse_text(saved(page, "trees.conllu"), "conllu").sentences())
    assert [s.forms for s in found] == [s.forms for s in SENTENCES]
    assert found[0].heads[0] == 3
    assert "HeadProb=1.0000" in found[0].misc[0]
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


def test_right_to_left_and_narrow(page, tmp_path):
    path = tmp_path / "he.conllu"
    path.write_text(HEBREW)
    page.open_file(path)
    places = [page.node(i).rect["x"] for i in range(4)]
    assert places == sorted(places, reverse=True)
    page.run("document.querySelector('#stage [tabindex=\"0\"]').focus()")
    page.press(Keys.ARROW_LEFT)  # the way the text runs
    assert page.one("#word h2").text == "קראה"
    page.driver.set_window_size(400, 800)
    assert page.run("return document.documentElement.scrollWidth <= window.innerWidth")
    page.driver.set_window_size(1200, 900)


def test_errors_are_shown(page):
    page.open()
    page.one("#parse").click()
    assert page.status == "There is no text yet."
    page.run("document.getElementById('text').value = 'tafo '.repeat(301)")
    page.one("#parse").click()
    page.wait(lambda: "at most 300 words" in page.status)
    assert "bad" in page.one("#status").get_attribute("class")
    page.driver.get_log("browser")  # that refusal is in there
