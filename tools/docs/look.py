"""Look at the built site in Chromium: every page on a wide and a narrow screen, light and dark.

    make docs && python tools/docs/look.py            # needs `chromium` on the path; pictures in build/screens

Fails if a page is wider than the screen, shows a broken picture, logs an error, or asks the network for something; and
if the search finds nothing. Chromium is driven by its own protocol, over a pipe.
"""

from __future__ import annotations

import argparse
import base64
import itertools
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
SITE, SCREENS = ROOT / "build" / "site", ROOT / "build" / "screens"
SIZES = {"wide": (1400, 1000), "narrow": (390, 844)}
PICTURED = ("index", "quickstart", "questions/data", "tutorials/digits", "reference/nn-functional", "benchmarks",
            "mistakes")
# What sticks out of the screen and cannot be scrolled to inside of its own box.
WIDER = """(() => {
  const out = [...document.querySelectorAll(".md-content *")].filter(e => {
    if (e.getBoundingClientRect().right <= innerWidth + 1) return false
    for (let p = e.parentElement; p && !p.classList.contains("md-content"); p = p.parentElement)
      if (getComputedStyle(p).overflowX != "visible") return false
    return true
  })
  return out.slice(0, 3).map(e => e.tagName + " " + (e.innerText || "").slice(0, 40)).join("; ")
})()"""
BROKEN = """(async () => {
  const pictures = [...document.images]
  await Promise.all(pictures.map(p => p.decode().catch(() => {})))
  return pictures.filter(p => !p.naturalWidth).map(p => p.getAttribute("src")).join("; ")
})()"""
SEARCH = """(async () => {
  const input = document.querySelector(".md-search__input"), wait = ms => new Promise(done => setTimeout(done, ms))
  input.focus()
  for (let i = 0; i < 40 && typeof __index == "undefined"; i++) await wait(250)
  await wait(1000)
  input.value = "scaled_dot_product"
  input.dispatchEvent(new Event("keyup", {bubbles: true}))
  for (let i = 0; i < 40; i++) {
    await wait(250)
    const found = document.querySelector(".md-search-result__list").innerText
    if (found) return found
  }
  return ""
})()"""


class Browser:
    """A headless Chromium with one page."""

    def __init__(self, program: str) -> None:
        self.profile = tempfile.mkdtemp()
        to_read, self.write = os.pipe()
        read, to_write = os.pipe()
        # Chromium reads file 3 and writes file 4; the shell puts the pipes there.
        shell = f'exec "$0" "$@" 3<&{to_read} 4>&{to_write}'
        self.process = subprocess.Popen(
            ["sh", "-c", shell, program, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
             "--remote-debugging-pipe", "--allow-file-access-from-files", f"--user-data-dir={self.profile}",
             "about:blank"],
            pass_fds=(to_read, to_write), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_read)
        os.close(to_write)
        self.read = os.fdopen(read, "rb", 0)
        self.rest, self.numbers = b"", itertools.count(1)
        self.wrong: list[str] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.ask(f"{domain}.enable")
        # A page remembers light or dark from the page before.
        self.ask("Page.addScriptToEvaluateOnNewDocument", source="try { localStorage.clear() } catch (e) {}")

    def call(self, method: str, session: str | None = None, **params: Any) -> dict[str, Any]:
        number = next(self.numbers)
        message = {"id": number, "method": method, "params": params} | ({"sessionId": session} if session else {})
        os.write(self.write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.message()
            if answer.get("id") == number:
                return answer.get("result", answer)
            self.notice(answer.get("method", ""), answer.get("params", {}))

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        return self.call(method, self.session, **params)

    def message(self) -> dict[str, Any]:
        while b"\0" not in self.rest:
            piece = self.read.read(1 << 16)
            if not piece:
                raise EOFError("chromium has ended")
            self.rest += piece
        first, _, self.rest = self.rest.partition(b"\0")
        found: dict[str, Any] = json.loads(first)
        return found

    def notice(self, event: str, params: dict[str, Any]) -> None:
        if event == "Network.requestWillBeSent":
            address = params["request"]["url"]
            if not address.startswith(("file:", "data:", "blob:", "about:")):
                self.wrong.append(f"asks the network for {address}")
        elif event == "Log.entryAdded" and params["entry"]["level"] == "error":
            self.wrong.append(params["entry"]["text"])
        elif event == "Runtime.exceptionThrown":
            self.wrong.append(params["exceptionDetails"].get("text", "an exception"))

    def value(self, expression: str) -> str:
        answer = self.ask("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        return str(answer.get("result", {}).get("value", ""))

    def open(self, page: Path, size: tuple[int, int], scheme: str) -> None:
        self.wrong.clear()
        self.ask("Emulation.setDeviceMetricsOverride", width=size[0], height=size[1], deviceScaleFactor=1, mobile=False)
        self.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.ask("Page.navigate", url=page.as_uri())
        for _ in range(40):
            time.sleep(0.1)
            if self.value("document.readyState") == "complete":
                break

    def close(self) -> None:
        self.call("Browser.close")
        self.process.wait(20)
        os.close(self.write)
        self.read.close()
        shutil.rmtree(self.profile, ignore_errors=True)


def look(browser: Browser) -> int:
    """Look at all pages; how many are not as they should be."""
    bad = 0
    pages = [page for page in sorted(SITE.rglob("*.html")) if page.name != "404.html"]      # that one is for servers
    for page in pages:
        name = page.relative_to(SITE).with_suffix("").as_posix()
        for (size, extent), scheme in itertools.product(SIZES.items(), ("light", "dark")):
            if scheme == "dark" and name not in PICTURED:
                continue
            browser.open(page, extent, scheme)
            if wider := browser.value(WIDER):
                browser.wrong.append(f"is wider than the screen: {wider}")
            if broken := browser.value(BROKEN):
                browser.wrong.append(f"pictures that are not drawn: {broken}")
            for what in browser.wrong:
                print(f"{name}, {size}, {scheme}: {what}", file=sys.stderr)
                bad += 1
            if name in PICTURED:
                picture = browser.ask("Page.captureScreenshot", format="png")["data"]
                (SCREENS / f"{name.replace('/', '-')}-{size}-{scheme}.png").write_bytes(base64.b64decode(picture))
    browser.open(SITE / "index.html", SIZES["wide"], "light")
    if "scaled_dot_product_attention" not in browser.value(SEARCH):
        print("the search does not find scaled_dot_product_attention", file=sys.stderr)
        bad += 1
    print(f"{len(pages)} pages looked at, {bad} complaints; pictures in {SCREENS.relative_to(ROOT)}")
    return bad


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--browser", default="chromium")
    program = shutil.which(parser.parse_args().browser)
    if program is None:
        sys.exit("there is no chromium on the path; Debian has it in a package of that name")
    if not SITE.exists():
        sys.exit("there is no site: `make docs` builds it")
    SCREENS.mkdir(parents=True, exist_ok=True)
    browser = Browser(program)
    try:
        return 1 if look(browser) else 0
    finally:
        browser.close()


if __name__ == "__main__":
    sys.exit(main())
