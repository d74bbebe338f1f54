"""sandbox::fs::grep and sed."""
import pytest

from fnclient import Functions, fn, sb  # noqa: F401
from test_fn_files import fs  # noqa: F401


@pytest.fixture
def tree(fs):
    fs.sh("""mkdir -p /w/sub/deep /w/.git; cd /w; printf 'Alpha beta\\nbeta gamma\\r\\nlast beta' >a.txt; printf 'beta\\n' >sub/b.py
    printf 'beta\\n' >sub/deep/c.py; printf 'beta\\000x\\n' >bin; printf 'be\\377ta\\nbeta\\n' >latin; ln -s /w/a.txt link; printf beta >.git/x; ln -s /w /wlink""")
    return fs


def found(answer):
    return [(m["path"], m["line"], m["content"]) for m in answer["matches"]]


def test_grep_a_tree(tree):
    answer = tree("grep", path="/w", pattern="^beta|BETA$")
    assert found(answer) == [("/w/.git/x", 1, "beta"), ("/w/a.txt", 2, "beta gamma"), ("/w/latin", 2, "beta"),
                             ("/w/sub/b.py", 1, "beta"), ("/w/sub/deep/c.py", 1, "beta")]
    assert answer["truncated"] is False and answer["matches"][0]["line_no"] == 1


def test_grep_a_file_and_a_link_to_a_folder(tree):
    assert found(tree("grep", path="/w/a.txt", pattern="BETA", ignore_case=True, recursive=False))[2] == ("/w/a.txt", 3, "last beta")
    assert ("/wlink/sub/b.py", 1, "beta") in found(tree("grep", path="/wlink", pattern="beta"))


@pytest.mark.parametrize("include, exclude, names", [
    (["*.py"], [], ["sub/b.py", "sub/deep/c.py"]), (["sub/*.py"], [], ["sub/b.py"]), (["**/*.py"], [], ["sub/b.py", "sub/deep/c.py"]),
    (["**"], [".git/*", "latin", "a.*"], ["sub/b.py", "sub/deep/c.py"]), (["?.txt"], [], ["a.txt"]), (["*.py"], ["sub/deep/**"], ["sub/b.py"]),
])
def test_globs(tree, include, exclude, names):
    answer = tree("grep", path="/w", pattern="beta", include_glob=include, exclude_glob=exclude)
    assert sorted({m["path"][3:] for m in answer["matches"]}) == names


def test_globs_apply_to_a_single_file(tree):
    assert tree("grep", path="/w/a.txt", pattern="beta", include_glob=["*.py"])["matches"] == []


def test_limits(tree):
    answer = tree("grep", path="/w", pattern="beta", max_matches=2)
    assert len(answer["matches"]) == 2 and answer["truncated"] is True
    assert len(tree("grep", path="/w", pattern="beta", max_matches=0)["matches"]) == 7
    tree("write", path="/long", content="é" * 3000 + "\nshort\n")
    line = tree("grep", path="/long", pattern=".")["matches"][0]["content"]
    assert line == "é" * 2048 + "…"
    assert tree("grep", path="/long", pattern="é", max_line_bytes=3)["matches"][0]["content"] == "é…"
    assert tree("grep", path="/long", pattern="é", max_line_bytes=0)["matches"][0]["content"] == "é" * 3000


def test_grep_faults(tree):
    tree.fault("grep", "S210", path="/w", pattern="x", recursive=False)
    tree.fault("grep", "S211", path="/none", pattern="x")
    for pattern in ("(", "[", "a)", "*", r"(a)\1", "(?=a)", "(?<!a)", "a{2,1}", r"\k"):
        assert pattern in tree.fault("grep", "S217", path="/w", pattern=pattern)["message"]
    tree.fault("grep", "S001", path="/w")
    tree.fault("grep", "S001", path="/w", pattern="x", max_matches=-1)


def test_sed_a_tree(tree):
    answer = tree("sed", path="/w", pattern="b(e)(?P<rest>ta)", replacement="<$1-${rest}-$$-$none>", include_glob=["*.py", "a.txt"])
    assert answer == {"results": [{"path": "/w/a.txt", "replacements": 3, "success": True}, {"path": "/w/sub/b.py", "replacements": 1, "success": True},
                                  {"path": "/w/sub/deep/c.py", "replacements": 1, "success": True}], "total_replacements": 5}
    assert tree("read", path="/w/a.txt")["body"] == "Alpha <e-ta-$->\n<e-ta-$-> gamma\r\nlast <e-ta-$->"


def test_sed_files_first_only_literal_and_case(tree):
    tree("write", path="/s", content="a.a A.a\na.a\n", mode="0640")
    answer = tree("sed", files=["/s", "/none", "/w/latin"], pattern="a.a", replacement="$1", regex=False, first_only=True, ignore_case=True)
    assert [(r["path"], r["replacements"], r["success"]) for r in answer["results"]] == [("/s", 2, True), ("/none", 0, False), ("/w/latin", 0, False)]
    assert "UTF-8" in answer["results"][2]["error"]
    assert (tree("read", path="/s")["body"], tree("stat", path="/s")["mode"]) == ("$1 A.a\n$1\n", "0640")


def test_sed_writes_through_links_and_leaves_the_rest_alone(tree):
    before = tree.sh("stat -c %i /w/sub/b.py")
    answer = tree("sed", files=["/w/link", "/w/sub/b.py"], pattern="^Alpha", replacement="Omega")
    assert [r["replacements"] for r in answer["results"]] == [1, 0]
    assert tree("stat", path="/w/link")["is_symlink"] is True
    assert tree("read", path="/w/a.txt")["body"].startswith("Omega beta\n")
    assert tree.sh("stat -c %i /w/sub/b.py") == before


def test_sed_ends_and_empty_matches(tree):
    tree("write", path="/e", content="ab\ncd\n")
    tree("sed", path="/e", pattern="$", replacement=";")
    assert tree("read", path="/e")["body"] == "ab;\ncd;\n"
    tree("sed", path="/e", pattern="x*", replacement="-")
    assert tree("read", path="/e")["body"] == "-a-b-;-\n-c-d-;-\n"


def test_sed_faults(tree):
    some = {"pattern": "a", "replacement": "b"}
    tree.fault("sed", "S210", **some)
    tree.fault("sed", "S210", files=["/a"], path="/w", **some)
    tree.fault("sed", "S210", path="/w", recursive=False, **some)
    tree.fault("sed", "S210", path="/w", pattern="", replacement="b", regex=False)
    tree.fault("sed", "S211", path="/none", **some)
    tree.fault("sed", "S217", path="/w", pattern="(", replacement="b")
    tree.fault("sed", "S001", path="/w", pattern="a")
    body = tree.fn.fault("fs::sed", "S210", sandbox_id="00000000-0000-4000-8000-000000000000", **some)
    assert "files" in body["message"], "what is asked is checked before the sandbox"
