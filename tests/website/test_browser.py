"""The site in a real browser: search, scenes, no error in the console, phones, light and dark, keyboard."""

import functools
import http.server
import itertools
import re
import shutil
import tempfile
import threading
import time
from pathlib import Path

import pytest

from docs.website.links import Outline, check

SITE = Path(__file__).parents[2] / "site"
FLAGS = "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking"
FLAGS += " --disable-component-update --disable-sync --enable-unsafe-swiftshader"
PAGES = ["index", "start/scan", "overview", "smoother", "choose", "coming_from", "theory/03_minimiser", "gallery/index"]
PAGES += ["gallery/surfaces", "gallery/smoothing", "reference/index", "reference/seminorm.SVC", "results", "fields"]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not (SITE / "index.html").exists(), reason="there is no site/: run `make docs` first."),
]


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *arguments):
        pass


@pytest.fixture(scope="module")
def address():
    handler = functools.partial(Quiet, directory=str(SITE))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture(scope="module")
def browser():
    selenium = pytest.importorskip("selenium.webdriver", reason="the tests of the site need selenium.")
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not chromium or not driver:
        pytest.skip("no Chromium with its driver is installed (Debian: chromium, chromium-driver).")
    options = selenium.ChromeOptions()
    options.binary_location = chromium
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        for flag in [*FLAGS.split(), f"--user-data-dir={profile}"]:
            options.add_argument(flag)
        window = selenium.Chrome(options=options, service=selenium.ChromeService(driver))
        window.set_page_load_timeout(60)
        yield window
        window.quit()


def sized(browser, width, height=800):
    settings = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", settings)


def until(condition, seconds=20):
    end = time.monotonic() + seconds
    while not (answer := condition()):
        assert time.monotonic() < end, "the page did not get there"
        time.sleep(0.1)
    return answer


def test_links_lead_somewhere_and_nothing_comes_from_elsewhere():
    assert check(SITE) == []


PATHS = {
    "smooth a CSV": ("start/measurements.html", "Smooth a CSV in Python"),
    "classify with a rotation invariance": ("gallery/rotation.html", "Rotation()"),
    "mesh a LAS file": ("start/scan.html", "seminorm reconstruct flight.laz"),
    "what alpha means": ("gallery/what_alpha_means.html", "Alpha is the price of roughness"),
    "add a kernel": ("contributing.html", "all_kernels"),
}


@pytest.mark.parametrize("task", PATHS)
def test_short_paths_take_at_most_three_clicks(task):
    target, words = PATHS[task]
    near = {SITE / "index.html"}
    for _ in range(3):
        if SITE / target in near:
            break
        links = [(page, link) for page in near for link in Outline(page.read_text(encoding="utf-8")).links]
        places = [(page.parent / link.partition("#")[0]).resolve() for page, link in links if "://" not in link]
        near |= {place for place in places if place.suffix == ".html" and "_modules" not in place.parts}
    assert SITE / target in near
    assert words in re.sub(r"<[^>]+>", "", (SITE / target).read_text(encoding="utf-8"))


@pytest.mark.parametrize(("words", "page"), [("SVC", "reference/seminorm.SVC"), ("thin plate", "kernels")])
def test_search_finds(browser, address, words, page):
    sized(browser, 1280)
    browser.get(f"{address}/search.html?q={words.replace(' ', '+')}")
    script = "return [...document.querySelectorAll('#search-results a')].map(a => a.getAttribute('href'))"
    until(lambda: any(page in (link or "") for link in browser.execute_script(script)))


@pytest.mark.parametrize("page", PAGES)
def test_pages_fit_a_phone_and_are_silent(browser, address, page):
    sized(browser, 375)
    browser.get_log("browser")
    browser.get(f"{address}/{page}.html")
    assert browser.execute_script("return document.documentElement.scrollWidth") <= 375
    errors = [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"]
    assert errors == []


@pytest.mark.parametrize("page", PAGES)
def test_pages_can_be_read_by_all(browser, address, page):
    sized(browser, 1280)
    browser.get(f"{address}/{page}.html")
    assert browser.execute_script("return document.documentElement.lang") == "en"
    assert browser.execute_script("return document.querySelectorAll('main h1').length") == 1
    script = "return [...document.querySelectorAll('main img')].filter(i => i.getAttribute('alt') === null).length"
    assert browser.execute_script(script) == 0
    levels = browser.execute_script(
        "return [...document.querySelectorAll('main :is(h1,h2,h3,h4,h5,h6)')].map(h => +h.tagName[1])"
    )
    assert all(b - a <= 1 for a, b in itertools.pairwise(levels)), levels
    unnamed = "return [...document.querySelectorAll('main a, main button')].filter(e => !e.textContent.trim() && "
    unnamed += "!e.getAttribute('aria-label') && !e.title && !e.querySelector('img[alt]:not([alt=\"\"])')).length"
    assert browser.execute_script(unnamed) == 0


CONTRAST = """
const parse = c => c.match(/[\\d.]+/g).map(Number);
const lum = c => { const [r, g, b] = c.slice(0, 3).map(v => { v /= 255;
  return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; }); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
const ground = e => { for (; e; e = e.parentElement) { const c = parse(getComputedStyle(e).backgroundColor);
  if (c.length < 4 || c[3] === 1) return c; } return parse(getComputedStyle(document.body).backgroundColor); };
const low = [];
for (const e of document.querySelectorAll('main p, main li, main a, main code, main td, main th, main h1, main span')) {
  if (![...e.childNodes].some(n => n.nodeType === 3 && n.data.trim()) || !e.offsetParent) continue;
  if (e.closest('svg, figure.scene button')) continue;
  const [a, b] = [lum(parse(getComputedStyle(e).color)), lum(ground(e))].sort((x, y) => y - x);
  if ((a + 0.05) / (b + 0.05) < 4.5) low.push(e.tagName + '.' + e.className + ': ' + e.textContent.trim().slice(0, 40));
}
return low;
"""


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("page", ["index", "smoother", "gallery/smoothing", "reference/seminorm.Smoother", "choose"])
def test_contrast_suffices(browser, address, page, theme):
    sized(browser, 1280)
    browser.get(f"{address}/index.html")
    browser.execute_script(f"localStorage.setItem('mode', '{theme}'); localStorage.setItem('theme', '{theme}')")
    browser.get(f"{address}/{page}.html")
    assert browser.execute_script("return document.documentElement.dataset.theme") == theme
    assert browser.execute_script(CONTRAST) == []


def test_a_scene_loads_on_a_click_and_turns(browser, address):
    keys = pytest.importorskip("selenium.webdriver.common.keys").Keys
    sized(browser, 1280)
    browser.get(f"{address}/gallery/holes.html")
    find = functools.partial(browser.find_elements, "css selector")
    assert find("figure.scene img") and not find("iframe")
    (button,) = find("figure.scene button")
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'}); arguments[0].focus()", button)
    button.send_keys(keys.ENTER)
    (frame,) = until(lambda: find("figure.scene iframe"))
    browser.switch_to.frame(frame)
    canvas = until(lambda: browser.find_elements("css selector", "canvas"))[0]
    time.sleep(1)
    before = canvas.screenshot_as_png
    for _ in range(6):
        canvas.send_keys(keys.ARROW_LEFT)
    time.sleep(0.5)
    assert browser.find_element("id", "message").get_attribute("hidden") is not None
    assert canvas.screenshot_as_png != before
    browser.switch_to.default_content()


def test_formulas_are_marked_up(browser, address):
    browser.get(f"{address}/theory/03_minimiser.html")
    assert browser.execute_script("return document.querySelectorAll('main math').length") > 5
    assert (
        browser.execute_script("return document.querySelector('main div.formula math').getBoundingClientRect().width")
        > 80
    )
