"""/docs: the server's own pages, and the addresses of errors that lead to them."""
import gzip
import html.parser
import re
import urllib.parse

import pytest

import harness
from fnclient import UNKNOWN, Functions, fn  # noqa: F401

PAGES = sorted(path.stem for path in (harness.ROOT / "docs").glob("*.md"))


@pytest.fixture
def web(server):
    with harness.Client(server.port, prefix="") as made:
        yield made


class Page(html.parser.HTMLParser):
    """What a page refers to, and what it can be referred to by."""

    def __init__(self, text):
        super().__init__()
        self.ids, self.links, self.tags = set(), [], set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.tags.add(tag)
        assert not {"src", "style", "onclick", "onload"} & set(attrs), (tag, attrs)
        self.ids.update(value for value in (attrs.get("id"),) if value)
        if "href" in attrs:
            self.links.append(attrs["href"])


def read(web, path):
    reply = web.get(path)
    assert reply.status == 200, path
    return Page(reply.body.decode())


def test_every_page_is_there_and_every_link_leads_somewhere(web):
    pages = {"/docs" if name == "README" else f"/docs/{name}": None for name in PAGES}
    for path in pages:
        pages[path] = read(web, path)
        assert not pages[path].tags & {"script", "img", "iframe", "link", "form"}
    for path, page in pages.items():
        for link in page.links:
            where = urllib.parse.urlsplit(urllib.parse.urljoin(path, link))
            if where.scheme:
                continue
            assert where.path in pages, f"{path} links to {link}"
            assert not where.fragment or where.fragment in pages[where.path].ids, f"{path} links to {link}"
    assert len(pages["/docs"].links) >= len(PAGES) - 1


def test_markdown_for_programs(web):
    for name in ("errors", "README", "sdk-python"):
        text = (harness.ROOT / "docs" / f"{name}.md").read_bytes()
        for reply in (web.get(f"/docs/{name}.md"), web.get(f"/docs/{name}", headers={"Accept": "text/markdown, */*;q=0.1"})):
            assert reply.headers["content-type"].startswith("text/markdown") and reply.body == text
    assert web.get("/docs", headers={"Accept": "text/html,*/*"}).headers["content-type"].startswith("text/html")


def test_compressed_and_known_pages(web):
    plain = web.get("/docs/functions")
    packed = web.get("/docs/functions", headers={"Accept-Encoding": "br, gzip"})
    assert packed.headers["content-encoding"] == "gzip" and gzip.decompress(packed.body) == plain.body
    assert "content-encoding" not in plain.headers and len(packed.body) < len(plain.body) / 2
    assert "content-encoding" not in web.get("/docs/functions", headers={"Accept-Encoding": "gzip;q=0"}).headers
    assert plain.headers["etag"] != packed.headers["etag"] and "Accept" in plain.headers["vary"]
    again = web.get("/docs/functions", headers={"If-None-Match": f'"x", {plain.headers["etag"]}'})
    assert again.status == 304 and not again.body and again.headers["etag"] == plain.headers["etag"]
    assert web.get("/docs/functions", headers={"If-None-Match": '"x"'}).status == 200


def test_a_browser_may_load_nothing_else(web):
    policy = web.get("/docs").headers["content-security-policy"]
    assert policy.startswith("default-src 'none'") and "unsafe" not in policy and "http" not in policy
    assert re.search(r"style-src 'sha256-[\w+/=]+'", policy) and "frame-ancestors 'none'" in policy
    assert web.get("/docs").headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("path", ["/docs/nowhere", "/docs/../etc/passwd", "/docs/errors.md.md", "/docsx", "/docs/.md", "/docs/errors/x"])
def test_other_paths_are_not_pages(web, path):
    assert web.get(path).status in (401, 404)
    assert web.call("POST", "/docs/errors").status in (401, 404, 405)


def test_the_address_in_an_error_leads_to_its_code(server, web, fn):  # noqa: F811
    body = fn.fault("exec", "S002", sandbox_id=UNKNOWN, cmd="true")
    where = urllib.parse.urlsplit(body["docs_url"])
    assert (where.scheme, where.netloc, where.path, where.fragment) == ("http", f"127.0.0.1:{server.port}", "/docs/errors", "S002")
    assert where.fragment in read(web, where.path).ids


@pytest.mark.parametrize("host, shown", [("localhost:7", "localhost"), ("[::1]:7", "[::1]"), ("[::1]", "[::1]"),
                                         ("[::1", "127.0.0.1"), ('x"<', "127.0.0.1")])
def test_the_address_is_the_one_that_the_client_uses(host, shown):
    """A server with tokens answers to every name: its clients prove who they are."""
    with harness.Server(env={"III_AUTH_TOKEN": "secret"}, token="secret") as server:
        made = Functions(server.engine_port, headers={"Authorization": "Bearer secret", "Host": host})
        url = made.fault("exec", "S002", sandbox_id=UNKNOWN, cmd="true")["docs_url"]
        assert url == f"http://{shown}:{server.port}/docs/errors#S002"
        made.close()


def test_pages_are_public():
    with harness.Server(env={"III_AUTH_TOKEN": "secret"}, token="secret") as server, harness.Client(server.port, prefix="") as web:
        assert web.get("/docs").status == 200 and web.get("/docs/errors.md").status == 200
        assert web.get("/sandbox/sandboxes").status == 401


def test_the_prefix_docs_belongs_to_the_api():
    with harness.Server(env={"III_API_PREFIX": "docs"}) as server, harness.Client(server.port, prefix="/docs") as client:
        assert client.ok("GET", "/volumes")["volumes"] == []
