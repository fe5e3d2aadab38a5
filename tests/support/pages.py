"""Pages that are one file, read as a browser reads them."""

import html
import json
import re
import shutil
import subprocess
from html.parser import HTMLParser

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome", "chrome-headless-shell")
BROWSER = next(filter(None, map(shutil.which, BROWSERS)), None)
VOID = {"meta", "link", "br", "img", "hr", "input"}


class Page(HTMLParser):
    """Elements of a page, after checking that every one is closed in its order."""

    def __init__(self, text):
        super().__init__()
        self.open, self.ids, self.loads, self.scripts, self.rows = [], [], [], [], []
        self.words = ""
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        assert len(given) == len(attrs), f"an attribute twice: {attrs}"
        self.ids += [given["id"]] if "id" in given else []
        names = ("src", "href", "xlink:href", "action", "data", "poster", "srcset")
        self.loads += [given[name] for name in names if name in given]
        self.scripts += [given.get("type", "")] if tag == "script" else []
        self.rows += [[]] if tag == "tr" else []
        if tag in ("td", "th"):
            self.rows[-1].append("")
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if {"script", "style"} & set(self.open):
            return
        self.words += data
        if {"td", "th"} & set(self.open):
            self.rows[-1][-1] += data


def data_of(text):
    """The JSON data of a page."""
    return json.loads(re.findall(r'<script type="application/json".*?>(.*?)</script>', text)[0])


def tried(text, path, script):
    """What a script sets as `found`, in a page that a browser opens."""
    ending = f"<script>{script}document.body.dataset.found = JSON.stringify(found);</script></body>"
    path.write_text(text.replace("</body>", ending), encoding="utf-8")
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"]
    call = [str(BROWSER), *flags, path.as_uri()]
    done = subprocess.run(call, capture_output=True, text=True, timeout=120, check=True)
    return json.loads(html.unescape(re.findall(r'data-found="(.*?)"', done.stdout)[0]))
