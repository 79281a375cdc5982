"""A headless browser for tests of pages. Importing this module skips the tests where there is none."""

import re
import shutil
import subprocess
import sys
import time
from contextlib import contextmanager

import pytest

pytest.importorskip("uvicorn", reason="the page needs uvicorn (extra: serve)")
webdriver = pytest.importorskip("selenium.webdriver", reason="needs selenium (extra: browser)")
BROWSER = shutil.which("chromium") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
if BROWSER is None or DRIVER is None:
    pytest.skip("needs chromium and chromedriver on the PATH", allow_module_level=True)

from selenium.webdriver.common.action_chains import ActionChains  # noqa: E402
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402

FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--window-size=1200,900",
)
PHONE = {"width": 390, "height": 844, "deviceScaleFactor": 2, "mobile": True}


@contextmanager
def browsing(folder):
    """A browser that puts downloads and its profile below `folder`."""
    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    for argument in (*FLAGS, f"--user-data-dir={folder / 'profile'}"):
        options.add_argument(argument)
    options.add_experimental_option("prefs", {"download.default_directory": str(folder / "downloads")})
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    try:
        yield driver
    finally:
        driver.quit()


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

    def touch(self, word, head):
        """Drag a word onto a head with a finger; returns by how much the page scrolled."""
        (x, y), (to_x, to_y) = (self.middle(selector) for selector in (word, head))
        before = self.run("return scrollY")
        self._finger("touchStart", x, y)
        for i in range(1, 9):
            self._finger("touchMove", x + (to_x - x) * i / 8, y + (to_y - y) * i / 8)
        scrolled = self.run("return scrollY") - before
        self._finger("touchEnd")
        return scrolled

    def tap(self, selector):
        self._finger("touchStart", *self.middle(selector))
        self._finger("touchEnd")

    def middle(self, selector):
        box = "const box = document.querySelector(arguments[0]).getBoundingClientRect();"
        return self.run(f"{box} return [box.x + box.width / 2, box.y + box.height / 2]", selector)

    def _finger(self, kind, *place):
        points = [dict(zip(("x", "y"), place, strict=True))] if place else []
        self.driver.execute_cdp_cmd("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    @contextmanager
    def on_a_phone(self):
        """A narrow screen with touch."""
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", PHONE)
        self.driver.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": True})
        try:
            yield
        finally:
            self.driver.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": False})
            self.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


@contextmanager
def serving(*options):
    """The address of a server (`arbora serve`, `arbora annotate`) that ends with the block."""
    command = [sys.executable, "-m", "arbora", *map(str, options), "--port", "0", "-q"]
    server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        yield re.search(r"http://\S+", server.stderr.readline())[0]
    finally:
        server.terminate()
        server.wait(20)
        server.stderr.close()
