"""Real applications at their preview addresses, in Debian's Chromium: Vite with hot reload, Flask with cookies; two sandboxes side by side."""
import pytest

import harness
import nodekit
import pipkit
import webapps

VITE, FLASK = "5.4.21", "3.1.2"

PAGE = """<!doctype html><link rel="icon" href="data:,"><link rel="stylesheet" href="/style.css"><p id="app"></p><script type="module" src="/src/main.js"></script>"""
MAIN = """import { text } from '/src/text.js'
const show = (text) => { document.querySelector('#app').textContent = text }
show(text)
import.meta.hot.accept('/src/text.js', (changed) => show(changed.text))
"""
SITE = """
import flask
app = flask.Flask(__name__)
@app.get("/")
def home(): return "<!doctype html><link rel='icon' href='data:,'>home"
@app.get("/login/<name>")
def login(name):
    reply = flask.redirect("/")
    reply.set_cookie("user", name)
    reply.set_cookie("wide", name, domain="localhost")
    return reply
@app.get("/cookies")
def cookies(): return flask.request.cookies.to_dict()
@app.get("/worker.js")
def worker(): return flask.Response(WORKER, mimetype="text/javascript")
WORKER = '''
self.addEventListener('install', () => self.skipWaiting())
self.addEventListener('activate', (e) => e.waitUntil(self.clients.claim()))
self.addEventListener('fetch', (e) => { if (new URL(e.request.url).pathname === '/of-the-worker') e.respondWith(new Response('from the worker')) })
'''
app.run(host="127.0.0.1", port=5000)
"""


@pytest.fixture(scope="module")
def home():
    return webapps.browser()


@pytest.fixture(scope="module")
def own():
    with harness.Server(env={"III_AUTH_TOKEN": webapps.TOKEN}) as server, server.client(token=webapps.TOKEN) as client:
        yield server, client


@pytest.fixture
def two(own):
    """Starts the same application in two sandboxes, and runs a scenario with both."""
    server, client = own
    made = []

    def run(home, scenario, port, command, archive):
        for mark in ("a", "b"):
            made.append((webapps.start(client, archive(mark), command, port), mark))
        webapps.run(home, scenario, apps=[{"link": webapps.link(client, sid, port), "id": sid, "mark": mark} for sid, mark in made],
                    api=f"http://127.0.0.1:{server.port}/sandbox", token=webapps.TOKEN)

    yield run
    for sid, _ in made:
        client.ok("DELETE", f"/sandboxes/{sid}")


def test_vite_with_hot_reload(home, two):
    modules = nodekit.install("vite", VITE, nodekit.HOME.parent / "node-vite") / "node_modules"

    def archive(mark):
        return webapps.pack(modules, "node_modules", {"index.html": PAGE, "public/style.css": "body { color: rgb(1, 2, 3) }", "src/main.js": MAIN,
                                                      "src/text.js": f"export const text = 'first {mark}'\n"})

    two(home, "vite", 5173, "exec node node_modules/vite/bin/vite.js --host 127.0.0.1 --port 5173 --strictPort", archive)


def test_flask_with_cookies_and_a_service_worker(home, two):
    packages = pipkit.install("flask", FLASK)
    two(home, "flask", 5000, "PYTHONPATH=/workspace/packages exec python3 site_of_flask.py", lambda mark: webapps.pack(packages, "packages", {"site_of_flask.py": SITE}))
