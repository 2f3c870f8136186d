#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Opens every page of the manual in headless Chromium, as wide as a desktop and as a phone, and says what does not fit.

usage: look.py MANUAL     the folder that `make doc` has written

A page is judged in a frame of that width: it must not scroll sideways, with its menu shut and open, its pictures must load, and its
script must not fail. The search is then tried from file://, without a server. The status is 1 if anything is wrong.
"""
import functools
import html
import http.server
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading

WIDTHS = (1280, 390)
SECONDS = 600  # for all pages; more than a loaded machine needs
SEARCHES = {"MPI_Send": "man/MPI_Send.3.html", "checkpoint": "checkpoint.html", "--hosts": "man/mpiexec.1.html"}
HARNESS = """<!doctype html><body><script>
const pages = %s, widths = %s, found = [];
const frame = document.createElement("iframe");
frame.height = 800;
document.body.append(frame);
const settled = () => new Promise((then) => requestAnimationFrame(() => setTimeout(then, 0)));

// The elements that stick out, but for those in a box that scrolls by itself.
function outside(doc) {
  const width = doc.scrollingElement.clientWidth;
  const scrolls = (e) => e && e !== doc.body && (/auto|scroll|hidden/.test(getComputedStyle(e).overflowX) || scrolls(e.parentElement));
  return [...doc.body.querySelectorAll("*")].filter((e) => e.getBoundingClientRect().right > width + 1 && !scrolls(e.parentElement))
    .slice(0, 3).map((e) => `<${e.tagName.toLowerCase()} class="${e.className}"> ${e.textContent.trim().slice(0, 60)}`);
}

async function look(page, width) {
  frame.width = width;
  await new Promise((then) => { frame.onload = then; frame.src = page; });
  await settled();
  const doc = frame.contentDocument, add = (what) => found.push([page, width, what]);
  for (const menu of [false, true]) {
    doc.body.classList.toggle("menu", menu);
    const e = doc.scrollingElement;
    if (e.scrollWidth > e.clientWidth) {
      add(`is ${e.scrollWidth} wide in ${e.clientWidth}${menu ? ", with the menu open" : ""}: ${outside(doc).join("; ")}`);
    }
  }
  doc.querySelectorAll("img").forEach((i) => { if (!i.complete || i.naturalWidth === 0) { add("does not show the picture " + i.src); } });
  if (!doc.querySelector("header .search .found")) {
    add("its script failed");
  }
}

(async () => {
  for (const page of pages) {
    for (const width of widths) {
      await look(page, width);
    }
  }
  await fetch("/done", { method: "POST", body: JSON.stringify(found) });
})();
</script>"""


class Server(http.server.SimpleHTTPRequestHandler):
    """The manual, the harness beside it, and the place to which the harness sends what it has found."""
    harness, found, done = "", [], threading.Event()

    def do_GET(self):
        if self.path != "/harness.html":
            super().do_GET()
            return
        body = Server.harness.encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        Server.found = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(204)
        self.end_headers()
        Server.done.set()

    def log_message(self, *args):
        pass


def chromium(profile, *words):
    binary = shutil.which("chromium") or sys.exit("look: there is no chromium; on Debian: apt-get install chromium")
    return [binary, "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
            f"--user-data-dir={profile}", *words]


def look_at_pages(manual, profile):
    pages = sorted(str(p.relative_to(manual)) for p in manual.rglob("*.html"))
    if not pages:
        sys.exit(f"look: there are no pages in {manual}; make doc writes them")
    Server.harness = HARNESS % (json.dumps(["/" + p for p in pages]), json.dumps(WIDTHS))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Server, directory=str(manual)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with subprocess.Popen(chromium(profile, "--window-size=1400,1000", f"http://127.0.0.1:{server.server_port}/harness.html"),
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as browser:
        is_done = Server.done.wait(SECONDS)
        browser.terminate()
    server.shutdown()
    if not is_done:
        sys.exit(f"look: the {len(pages)} pages were not all shown in {SECONDS} s")
    return pages, [f"{page} at {width} pixels {what}" for page, width, what in Server.found]


def search(manual, profile, words):
    """The addresses that the page of the search shows for these words, from file://."""
    r = subprocess.run(chromium(profile, "--virtual-time-budget=20000", "--dump-dom", f"{(manual / 'search.html').as_uri()}?q={words}"),
                       capture_output=True, text=True, timeout=120, check=False)
    results = re.search(r'<div id="results".*?</div>', r.stdout, re.DOTALL)
    return [html.unescape(a) for a in re.findall(r'href="([^"]*)"', results[0])] if results else []


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    manual = pathlib.Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory(prefix="manual-look-") as profile:
        pages, wrong = look_at_pages(manual, profile)
        for words, address in SEARCHES.items():
            found = search(manual, profile, words)
            if not any(a.split("#")[0].endswith(address) for a in found[:5]):
                wrong.append(f"a search for {words} without a server gives {found[:5]}, not {address}")
    print("\n".join(wrong + [f"look: {len(pages)} pages, {' and '.join(map(str, WIDTHS))} pixels wide, {len(SEARCHES)} searches: {len(wrong)} faults"]))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
