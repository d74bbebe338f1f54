"""JupyterLab from PyPI at its preview address, in Debian's Chromium. With `./dev test --all`: the package is large."""
import harness
import pipkit
import webapps

JUPYTER, PORT = "4.4.10", 8888
COMMAND = ("HOME=/workspace PYTHONPATH=/workspace/packages JUPYTERLAB_DIR=/workspace/packages/share/jupyter/lab JUPYTER_PATH=/workspace/packages/share/jupyter "
           "JUPYTER_CONFIG_PATH=/workspace/packages/etc/jupyter exec python3 -m jupyterlab --no-browser --allow-root --ip=127.0.0.1 --port=8888 "
           "--ServerApp.port_retries=0 --IdentityProvider.token='' --LabApp.news_url=None --LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate")


def test_a_notebook_of_jupyter():
    home = webapps.browser()
    packages = pipkit.install("jupyterlab", JUPYTER)
    with harness.Server(env={"III_AUTH_TOKEN": webapps.TOKEN}) as server, server.client(token=webapps.TOKEN) as client:
        box = webapps.start(client, webapps.pack(packages, "packages"), COMMAND, PORT, memory=2048)
        webapps.run(home, "jupyter", link=webapps.link(client, box, PORT, rewriteHost=True))
        client.ok("DELETE", f"/sandboxes/{box}")
