"""A headless Chromium, driven through its pipe: messages of the DevTools protocol, each ended by a zero."""
import base64
import json
import os
import select
import shutil
import subprocess
import time


class Browser:
    """With `with`: one page, without a network. `complaints` are the console's errors and whatever left the file."""

    def __init__(self, folder):
        self.complaints = []
        self._events = []
        self._rest = b""
        self._number = 0
        self._session = None
        to_browser, self._to = os.pipe()
        self._from, from_browser = os.pipe()
        # Its descriptors are 3 and 4, whatever ours are.
        script = f'exec "$@" 3<&{to_browser} 4>&{from_browser}'
        program = [shutil.which("chromium"), "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe",
                   "--no-first-run", "--disable-dev-shm-usage", f"--user-data-dir={folder}/profile"]
        self._log = open(f"{folder}/chromium.txt", "w")
        self._process = subprocess.Popen(["bash", "-c", script, "bash"] + program, pass_fds=(to_browser, from_browser),
                                         stdout=self._log, stderr=self._log)
        os.close(to_browser)
        os.close(from_browser)

    def __enter__(self):
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{domain}.enable")
        self.ask("Network.emulateNetworkConditions", offline=True, latency=0, downloadThroughput=0, uploadThroughput=0)
        return self

    def __exit__(self, *_):
        self._process.terminate()
        self._process.wait()
        os.close(self._to)
        os.close(self._from)
        self._log.close()

    def ask(self, method, **parameters):
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        answer = self._wait(lambda got: got.get("id") == self._number, method)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']['message']}")
        return answer["result"]

    def open(self, path, width, height):
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                 mobile=width < 600)
        self.ask("Page.navigate", url=f"file://{path}")
        self._wait(lambda got: got.get("method") == "Page.loadEventFired", "loading the page")

    def evaluate(self, expression):
        answer = self.ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def click(self, selector):
        """In the middle of the element, as a hand would: what lies over it gets the click."""
        place = self.evaluate(f"""(() => {{ const one = document.querySelector({json.dumps(selector)});
            one.scrollIntoView({{block: 'center', inline: 'center'}});
            const box = one.getBoundingClientRect(); return [box.x + box.width / 2, box.y + box.height / 2]; }})()""")
        for kind in ("mousePressed", "mouseReleased"):
            self.ask("Input.dispatchMouseEvent", type=kind, x=place[0], y=place[1], button="left", clickCount=1)
        self.settle()

    def type(self, selector, text):
        self.click(selector)
        self.ask("Input.insertText", text=text)
        self.settle()

    def settle(self):
        self.evaluate("new Promise(done => requestAnimationFrame(() => setTimeout(done, 20)))")

    def screenshot(self, path):
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.ask("Page.captureScreenshot", format="png")["data"]))

    def _wait(self, is_wanted, what, seconds=60):
        for seen in self._events:
            if is_wanted(seen):
                self._events.remove(seen)
                return seen
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if not select.select([self._from], [], [], 1)[0]:
                continue
            piece = os.read(self._from, 1 << 20)
            if not piece:
                raise RuntimeError(f"{what}: chromium has ended; {self._log.name} says why")
            *whole, self._rest = (self._rest + piece).split(b"\0")
            for text in whole:
                self._note(json.loads(text))
            for seen in self._events:
                if is_wanted(seen):
                    self._events.remove(seen)
                    return seen
        raise RuntimeError(f"{what}: chromium gives no answer within {seconds} s")

    def _note(self, got):
        method, about = got.get("method", ""), got.get("params", {})
        if method == "Runtime.exceptionThrown":
            self.complaints.append(f"exception: {about['exceptionDetails']}")
        elif method == "Runtime.consoleAPICalled" and about["type"] in ("error", "warning", "assert"):
            self.complaints.append(f"console: {about['args']}")
        elif method == "Log.entryAdded" and about["entry"]["level"] in ("error", "warning"):
            self.complaints.append(f"log: {about['entry']['text']}")
        elif method == "Network.requestWillBeSent" and not about["request"]["url"].startswith(("file:", "data:")):
            self.complaints.append(f"asks the network for {about['request']['url']}")
        else:
            self._events.append(got)
