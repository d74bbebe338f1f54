"""Certificates for tests, made by the openssl command: an authority, and what it signs."""
import os
import subprocess

import harness


def openssl(*args):
    subprocess.run(["openssl", *map(str, args)], check=True, capture_output=True, timeout=harness.DEADLINE_S)


def new_key(path):
    openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", path)
    os.chmod(path, 0o600)
    return path


class Authority:
    """Signs; keeps everything in one folder."""

    def __init__(self, folder, name="test authority"):
        self.folder, self.count = folder, 0
        folder.mkdir(parents=True, exist_ok=True)
        self.key, self.cert = new_key(folder / "ca.key"), folder / "ca.pem"
        openssl("req", "-x509", "-new", "-key", self.key, "-subj", f"/CN={name}", "-days", 2, "-out", self.cert)

    def issue(self, name, alt="DNS:localhost,IP:127.0.0.1", days=2):
        """(certificate, key) for a name."""
        self.count += 1
        stem = self.folder / f"{self.count}"
        key, cert = new_key(f"{stem}.key"), f"{stem}.pem"
        extensions = self.folder / f"{self.count}.ext"
        extensions.write_text(f"subjectAltName={alt}\n")
        openssl("req", "-new", "-key", key, "-subj", f"/CN={name}", "-out", f"{stem}.csr")
        openssl("x509", "-req", "-in", f"{stem}.csr", "-CA", self.cert, "-CAkey", self.key, "-set_serial", self.count,
                "-days", days, "-extfile", extensions, "-out", cert)
        return cert, key
