"""The C files of src/ that differ from the branch main, committed or not; on main: from the commit before."""
import subprocess
import sys


def since(root, base=None):
    """Names relative to root. base: another commit than where this branch left main."""
    def git(*words):
        return subprocess.run(["git", *words], cwd=root, capture_output=True, text=True, check=False)

    if not base:
        head, main = (git("rev-parse", name).stdout.strip() for name in ("HEAD", "main"))
        base = git("merge-base", "HEAD", "main").stdout.strip() if main and main != head else "HEAD~"
    listings = git("diff", "--name-only", "--diff-filter=d", base, "--", "src"), git("ls-files", "--others", "--exclude-standard", "--", "src")
    for listing in listings:
        if listing.returncode:
            sys.exit(f"git cannot compare with {base}: {listing.stderr.strip()}; there must be a branch main, or a commit before this one")
    return sorted({name for listing in listings for name in listing.stdout.splitlines() if name.endswith(".c")})
