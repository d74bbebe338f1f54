"""A file tree as JSON: treelist.py FOLDER, or treelist.py --overlay LOWER:LOWER… in a mount namespace of its own."""
import hashlib
import json
import os
import stat
import subprocess
import sys
import tempfile


def describe(path, links):
    st = os.lstat(path)
    row = {"mode": oct(st.st_mode), "owner": [st.st_uid, st.st_gid], "mtime": int(st.st_mtime),
           "xattrs": {k: os.getxattr(path, k, follow_symlinks=False).hex() for k in sorted(os.listxattr(path, follow_symlinks=False))
                      if not k.startswith(("trusted.overlay", "user.overlay", "user.umoci", "security.selinux"))}}
    if stat.S_ISREG(st.st_mode):
        with open(path, "rb") as f:
            row["sha"] = hashlib.sha256(f.read()).hexdigest()
        row["same_as"] = links.setdefault((st.st_dev, st.st_ino), path) if st.st_nlink > 1 else None
    if stat.S_ISLNK(st.st_mode):
        row["target"] = os.readlink(path)
        del row["mtime"]
    return row


def listing(root):
    os.chdir(root)
    rows, links = {}, {}
    for folder, folders, files in os.walk("."):
        folders.sort()
        for name in sorted(folders + files):
            path = os.path.join(folder, name)
            rows[path] = describe(path, links)
    return rows


if __name__ == "__main__":
    if sys.argv[1] == "--overlay":
        with tempfile.TemporaryDirectory() as where:
            empty = os.path.join(where, "empty")
            merged = os.path.join(where, "merged")
            os.mkdir(empty)
            os.mkdir(merged)
            options = f"ro,lowerdir={sys.argv[2]}:{empty}" + ("" if os.environ.get("AS_ROOT") else ",userxattr")
            subprocess.run(["mount", "-t", "overlay", "-o", options, "overlay", merged], check=True)
            rows = listing(merged)
            os.chdir("/")
            subprocess.run(["umount", merged], check=True)
        print(json.dumps(rows))
    else:
        print(json.dumps(listing(sys.argv[1])))
