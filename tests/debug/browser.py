"""A real Chromium, driven through its own driver by plain HTTP (the W3C WebDriver protocol)."""
from __future__ import annotations

import base64
import http.client
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
DRIVER = shutil.which("chromedriver")
HERE = CHROMIUM is not None and DRIVER is not None
if os.environ.get("CLAYGRAD_BROWSER") and not HERE:
    raise RuntimeError("no Chromium with its driver here: apt-get install chromium chromium-driver")
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"         # the protocol's own name for a reference


class Browser:
    def __init__(self, folder: Path, width: int = 1300, height: int = 900) -> None:
        self.process = subprocess.Popen([DRIVER, "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        try:
            lines = (re.search(r"started successfully on port (\d+)", line) for line in self.process.stdout)
            found = next(filter(None, lines), None)
            if found is None:
                raise RuntimeError(f"{DRIVER} ended before it listened, with code {self.process.wait(20)}")
            self.port = int(found[1])
            options = {"binary": CHROMIUM, "args": ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                                                    f"--user-data-dir={folder}", f"--window-size={width},{height}"]}
            wanted = {"browserName": "chrome", "goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}
            self.session = self.ask("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})["sessionId"]
        except BaseException:
            self.process.kill()
            raise

    def ask(self, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request(method, path, None if body is None else json.dumps(body), {"Content-Type": "application/json"})
            answer = connection.getresponse()
            text = answer.read().decode()
        finally:
            connection.close()
        if answer.status != 200:
            raise RuntimeError(text)
        return json.loads(text)["value"]

    def here(self, method, path, body=None):
        return self.ask(method, f"/session/{self.session}{path}", body)

    def open(self, page: Path) -> None:
        self.here("POST", "/url", {"url": page.as_uri()})

    def run(self, script, *args):
        """What a script returns."""
        return self.here("POST", "/execute/sync", {"script": script, "args": list(args)})

    def find(self, css):
        return self.here("POST", "/element", {"using": "css selector", "value": css})[ELEMENT]

    def click(self, css) -> None:
        self.here("POST", f"/element/{self.find(css)}/click", {})

    def type(self, css, text) -> None:
        self.here("POST", f"/element/{self.find(css)}/value", {"text": text})

    def text(self, css):
        return self.here("GET", f"/element/{self.find(css)}/text")

    def resize(self, width, height) -> None:
        self.here("POST", "/window/rect", {"width": width, "height": height})

    def complaints(self):
        """What the page wrote to its console, warnings and errors, since the last time."""
        return [entry["message"] for entry in self.here("POST", "/se/log", {"type": "browser"})
                if entry["level"] in ("SEVERE", "WARNING")]

    def picture(self, path: Path) -> None:
        path.write_bytes(base64.b64decode(self.here("GET", "/screenshot")))

    def close(self) -> None:
        try:
            self.here("DELETE", "")
        finally:
            self.process.kill()
            self.process.wait()
            self.process.stdout.close()
