"""The table as it is served: small, kept as long as it is true, and bound to this server alone."""

import gzip
import re

from service.table import RELEASE
from tests.client import refused

POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; "


def first_paint(client):
    """Return the page and everything that it loads before it is drawn."""
    page = client.get("/")
    links = re.findall(r'(?:src|href)="(table/[^"]+)"', page.text)
    return page, {link: client.get(f"/{link}") for link in links}


def test_the_page_is_small(client):
    page, files = first_paint(client)
    assert len(files) >= 8
    assert all(file.status_code == 200 for file in files.values())
    assert sum(len(answer.data) for answer in (page, *files.values())) < 100_000


def test_the_page_loads_all_that_its_first_modules_import(client):
    _, files = first_paint(client)
    modules = {link.rpartition("/")[2]: file.text for link, file in files.items() if link.endswith(".js")}
    for name, text in modules.items():
        for imported in re.findall(r"^import .*from '\./(.+)';$", text, re.MULTILINE):
            assert imported in modules, f"{name} waits for {imported}"


def test_nothing_is_inline_and_nothing_leads_out(client):
    page, files = first_paint(client)
    assert page.headers["Content-Security-Policy"].startswith(POLICY)
    assert "unsafe" not in page.headers["Content-Security-Policy"]
    assert not re.search(r"<style|<script(?![^>]* src=)| style=| on\w+=|javascript:", page.text)
    addresses = re.findall(r'(?:src|href)="([^"#]+)', page.text)
    assert not [address for address in addresses if address.startswith(("/", "http", "//"))], "links are relative"
    for link, file in files.items():
        assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", file.text), link


def test_files_are_kept_for_ever_under_a_name_of_their_own(client):
    _, files = first_paint(client)
    for file in files.values():
        assert file.headers["Cache-Control"] == "public, max-age=31536000, immutable"
        assert file.headers["X-Content-Type-Options"] == "nosniff"
    refused(client.get("/table/another/main.js"), 404, "not_found")
    refused(client.get(f"/table/{RELEASE}/none.js"), 404, "not_found")
    refused(client.get(f"/table/{RELEASE}/../templates/table.html"), 404, "not_found")


def test_what_can_be_packed_is_packed(client):
    page, files = first_paint(client)
    for link, plain in {"": page, **files}.items():
        if len(plain.data) < 4096:
            continue  # one packet either way
        packed = client.get(f"/{link}", headers={"Accept-Encoding": "gzip, br"})
        assert packed.headers["Content-Encoding"] == "gzip"
        assert gzip.decompress(packed.data) == plain.data
        assert "Content-Encoding" not in plain.headers
        assert plain.headers["Vary"] == packed.headers["Vary"] == "Accept-Encoding"


def test_the_page_itself_is_asked_for_again(client):
    page = client.get("/")
    assert page.headers["Cache-Control"] == "no-cache"
    again = client.get("/", headers={"If-None-Match": page.headers["ETag"]})
    assert (again.status_code, again.data) == (304, b"")
    packed = client.get("/", headers={"Accept-Encoding": "gzip"})
    known = {"Accept-Encoding": "gzip", "If-None-Match": packed.headers["ETag"]}
    assert client.get("/", headers=known).status_code == 304
