"""The generated files of the SDKs are what docs/openapi.json makes."""
import subprocess
import sys

import sdkkit


def test_generated_files_are_current():
    done = subprocess.run([sys.executable, "tools/sdkgen", "--check"], cwd=sdkkit.ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
