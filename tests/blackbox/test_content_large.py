"""Four GiB up and down; test_content.py does the same with one."""
import test_content
from test_content import content  # noqa: F401 (a fixture)


def test_four_gib_there_and_back(server, content):  # noqa: F811
    test_content.there_and_back(server, content, 4096 * test_content.MIB)
