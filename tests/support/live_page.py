"""The live page in headless Chromium, driven by selenium: clicks, keys, inserted text.

Waiting ends when the page reports that it is ready.
"""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from pathlib import Path
from threading import Thread
from typing import Any, TypeVar

from selenium.webdriver import ActionChains, Chrome, ChromeOptions, Keys
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.select import Select
from selenium.webdriver.support.wait import WebDriverWait

Found = TypeVar("Found")
PATIENCE = 600
"""Time limit for an event in seconds, far above the time on a slow machine."""

BROWSER, DRIVER = "chromium", "chromedriver"
DATA = "return [...document.querySelectorAll(arguments[0])].map((found) => ({...found.dataset}))"
SCRUB = """
const [scrub, cycle] = arguments;
scrub.value = cycle;
scrub.dispatchEvent(new Event("input"));
"""
READ = """
const [code, ...more] = arguments;
const [scrub, read] = [document.getElementById("scrub"), new Function(code)];
const show = (cycle) => {
  scrub.value = cycle;
  scrub.dispatchEvent(new Event("input"));
};
const { style } = document.documentElement;
style.display = "none";
const found = Array.from({ length: +scrub.max + 1 }, (_, cycle) => {
  show(cycle);
  return read(...more);
});
style.display = "";
show(scrub.max);
return found;
"""
"""Read the text of the page in each cycle, without layout, which would take most of the time.

Then the last cycle is displayed.
"""
PINS = """
return Object.fromEntries([...document.querySelectorAll(arguments[0])].map((pin) =>
  [pin.dataset.pin, pin.querySelector(".level").textContent]));
"""
TEXT = "return document.querySelector(arguments[0]).textContent"
DROP = """
const [name, bytes] = arguments, files = new DataTransfer();
files.items.add(new File([Uint8Array.from(bytes)], name));
const event = { dataTransfer: files, bubbles: true, cancelable: true };
document.body.dispatchEvent(new DragEvent("drop", event));
"""


class FolderHandler(SimpleHTTPRequestHandler):
    """Serves a folder under a prefix, and its 404.html, if any, instead of missing pages."""

    error_content_type = "text/html"

    def __init__(self, *arguments: Any, folder: Path, prefix: str) -> None:
        self.prefix = prefix
        if (missing := folder / "404.html").exists():
            self.error_message_format = missing.read_text().replace("%", "%%")
        super().__init__(*arguments, directory=str(folder))

    def translate_path(self, path: str) -> str:
        inside = path.startswith(self.prefix)
        return super().translate_path(path.removeprefix(self.prefix) if inside else "/missing")

    def log_message(self, *_: Any) -> None:
        """Print nothing."""


@contextmanager
def served(folder: Path, prefix: str = "/") -> Iterator[str]:
    """The address at which a folder is served on the loopback interface."""
    handler = partial(FolderHandler, folder=folder, prefix=prefix)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}{prefix}"
        finally:
            server.shutdown()


@contextmanager
def browser() -> Iterator[Chrome]:
    """The installed browser; nothing is downloaded."""
    options = ChromeOptions()
    options.binary_location = shutil.which(BROWSER) or BROWSER
    for option in ("headless=new", "no-sandbox", "disable-dev-shm-usage", "window-size=1200,900"):
        options.add_argument(f"--{option}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = Chrome(options, Service(shutil.which(DRIVER)))
    try:
        driver.set_page_load_timeout(PATIENCE)
        driver.set_script_timeout(PATIENCE)
        if config := getattr(driver.command_executor, "client_config", None):
            config.timeout = PATIENCE  # of a command; older releases of Selenium have no limit
        yield driver
    finally:
        driver.quit()


class LivePage:
    """The page in a browser. Each action returns when the page is ready again."""

    loads = count()

    def __init__(self, driver: Chrome, address: str) -> None:
        self.driver = driver
        self.address = address

    def open(self, link: str = "") -> None:
        """Load the page again, with the setting of a link."""
        # Without a new query, only the part after # would change.
        self.driver.get(f"{self.address}?{next(self.loads)}#{link}")
        self.settle()

    def follow(self, link: str) -> None:
        """Change the link in the same page."""
        self.script("document.body.dataset.ready = 'false'; location.hash = arguments[0]", link)
        self.settle()

    def settle(self) -> None:
        """Wait until the page shows the current setting."""
        self.wait_for(lambda: self.script("return document.body?.dataset.ready") == "true")

    def wait_for(self, condition: Callable[[], Found]) -> Found:
        """Wait until a condition is true, and return its value."""
        return WebDriverWait(self.driver, PATIENCE, 0.02).until(lambda _: condition())

    def script(self, code: str, *arguments: Any) -> Any:
        return self.driver.execute_script(code, *arguments)

    def element(self, selector: str) -> WebElement:
        return self.driver.find_element("css selector", selector)

    def elements(self, selector: str) -> list[WebElement]:
        return self.driver.find_elements("css selector", selector)

    def said(self, selector: str) -> str:
        return self.element(selector).text

    def data(self, selector: str) -> list[dict[str, str]]:
        """The `data-` attributes of elements, in the order of the page."""
        return self.script(DATA, selector)

    def click(self, *selectors: str) -> None:
        for selector in selectors:
            self.element(selector).click()
            self.settle()

    def choose(self, selector: str, value: str) -> None:
        options = Select(self.element(selector)).options
        next(each for each in options if each.get_attribute("value") == value).click()
        self.settle()

    def keys(self, *keys: str) -> None:
        """Press keys, one after the other, at the focus."""
        for key in keys:
            ActionChains(self.driver).send_keys(key).perform()
            self.settle()

    def type(self, selector: str, text: str) -> None:
        """Replace the content of a field with any characters, as an input method does."""
        field = self.element(selector)
        field.click()
        field.send_keys(Keys.CONTROL, "a")
        if text:
            self.driver.execute_cdp_cmd("Input.insertText", {"text": text})
        else:
            field.send_keys(Keys.DELETE)
        self.settle()

    def scrub(self, cycle: int) -> None:
        self.script(SCRUB, self.element("#scrub"), cycle)
        self.settle()

    def drop(self, name: str, data: bytes) -> None:
        """Drop a file onto the page."""
        self.script(f"document.body.dataset.ready = 'false'; {DROP}", name, list(data))
        self.settle()

    @property
    def cycle(self) -> int:
        return int(self.said("#cycle"))

    def tokens(self) -> list[dict[str, str]]:
        """The tokens until this cycle."""
        return self.data("#tokens [data-offset]")

    def all_tokens(self) -> list[dict[str, str]]:
        self.click("#last")
        return self.tokens()

    def in_each_cycle(self, code: str, *arguments: Any) -> list[Any]:
        """The result of a script in each cycle."""
        return self.script(READ, code, *arguments)

    def data_in_each_cycle(self, selector: str) -> list[list[dict[str, str]]]:
        return self.in_each_cycle(DATA, selector)

    def pins(self, table: str = "#pins") -> list[dict[str, str]]:
        """The levels of the pins in each cycle, as the page shows them."""
        return self.in_each_cycle(PINS, f"{table} [data-pin]")

    def texts(self, selector: str) -> list[str]:
        """The text of an element in each cycle."""
        return self.in_each_cycle(TEXT, selector)

    def agrees(self) -> str:
        return self.element("#opinion").get_attribute("data-agrees")

    def complaints(self) -> list[str]:
        """The errors in the console since the last call."""
        log = self.driver.get_log("browser")
        return [entry["message"] for entry in log if entry["level"] == "SEVERE"]
