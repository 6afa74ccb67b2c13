# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
Debian's kernel packages of several releases and machines. apt gets lists and settings of its own,
in the user's cache directory, so that nothing of this machine's is changed.

Invariant: every suite is checked against the key of its release, from debian-archive-keyring.
"""
import glob
import os
import re
import subprocess
import tempfile
import time

CACHE = os.path.join(
    os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "clew", "vm")
KEYS = "/usr/share/keyrings"
ARCHITECTURES = ["amd64", "arm64"]
LISTS_AGE = 24 * 3600  # seconds


class Unavailable(RuntimeError):
    """The packages cannot be had here."""


def version_key(package):
    return [int(number) for number in re.findall(r"\d+", package)]


def configured_stanzas():
    """(address, suites) of all package sources that this machine has."""
    found = []
    for path in glob.glob("/etc/apt/sources.list.d/*.sources"):
        with open(path, encoding="utf-8") as file:
            for stanza in re.split(r"\n\s*\n", file.read()):
                fields = dict(re.findall(r"^(URIs|Suites):\s*(.+)$", stanza, re.M))
                for address in fields.get("URIs", "").split():
                    found.append((address, fields.get("Suites", "").split()))
    for path in ["/etc/apt/sources.list", *glob.glob("/etc/apt/sources.list.d/*.list")]:
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                for match in re.finditer(r"^deb\s+(?:\[[^]]*\]\s+)?(\S+)\s+(\S+)", file.read(),
                                         re.M):
                    found.append((match.group(1), [match.group(2)]))
    return found


def address_of(suite):
    for address, suites in configured_stanzas():
        if suite in suites:
            return address
    raise Unavailable("no configured package source has %s" % suite)


def stanza(address, suites, key):
    return "Types: deb\nURIs: %s\nSuites: %s\nComponents: main\nSigned-By: %s\n" % (
        address, suites, os.path.join(KEYS, key))


class Archive:
    """apt with Debian 12 and the backports of Debian 13."""

    def __init__(self):
        self.place = os.path.join(CACHE, "apt")
        self.config = os.path.join(self.place, "apt.conf")
        self.ready = False

    def _run(self, *command, directory=None):
        return subprocess.run(command,
                              cwd=directory,
                              env=dict(os.environ, APT_CONFIG=self.config, LC_ALL="C"),
                              capture_output=True,
                              text=True,
                              check=False)

    def _prepare(self):
        if self.ready:
            return
        for name in ("lists/partial", "archives/partial"):
            os.makedirs(os.path.join(self.place, name), exist_ok=True)
        address = address_of("bookworm")
        sources = os.path.join(self.place, "kernels.sources")
        with open(sources, "w", encoding="utf-8") as out:
            out.write("\n".join([
                stanza(address, "bookworm bookworm-updates", "debian-archive-keyring.gpg"),
                stanza(address_of("bookworm-security"), "bookworm-security",
                       "debian-archive-keyring.gpg"),
                stanza(address, "trixie-backports", "debian-archive-trixie-automatic.gpg")
            ]))
        # As root apt would like to download as a user of its own, who cannot write here.
        with open(self.config, "w", encoding="utf-8") as out:
            out.write('Dir::State::lists "%s/lists";\nDir::Cache "%s";\n'
                      'Dir::State::status "/dev/null";\nDir::Etc::sourcelist "%s";\n'
                      'Dir::Etc::sourceparts "-";\nAPT::Sandbox::User "";\n'
                      'APT::Architectures { %s };\n' %
                      (self.place, self.place, sources, " ".join('"%s";' % name
                                                                 for name in ARCHITECTURES)))
        stamp = os.path.join(self.place, "updated")
        if not os.path.exists(stamp) or time.time() - os.stat(stamp).st_mtime > LISTS_AGE:
            got = self._run("apt-get", "update", "-q", "-o", "APT::Update::Error-Mode=any")
            if got.returncode:
                raise Unavailable("the lists of packages cannot be downloaded: %s" %
                                  (got.stderr.strip().splitlines() or ["no reason given"])[-1])
            with open(stamp, "w", encoding="ascii"):
                pass
        self.ready = True

    def newest(self, pattern, architecture):
        """The newest package whose name matches, None if there is none."""
        self._prepare()
        out = self._run("apt-cache", "-o", "APT::Architecture=" + architecture, "search",
                        "--names-only", "^%s$" % pattern).stdout
        found = [
            name for name in (line.split()[0] for line in out.splitlines() if line)
            if re.fullmatch(pattern, name)
        ]
        return max(found, key=version_key) if found else None

    def download(self, package, architecture, directory):
        """Returns the path of the package's file."""
        self._prepare()
        inside = os.path.join(directory, package)
        os.makedirs(inside)
        got = self._run("apt-get",
                        "download",
                        "-q",
                        "%s:%s" % (package, architecture),
                        directory=inside)
        files = glob.glob(os.path.join(inside, "*.deb"))
        if got.returncode or not files:
            raise Unavailable("%s cannot be downloaded: %s" %
                              (package,
                               (got.stderr.strip().splitlines() or ["no reason given"])[-1]))
        return files[0]


    def unpack_all(self, packages, architecture, root):
        """Unpacks packages, with all that they need, to a folder. Nothing of them runs."""
        self._prepare()
        with tempfile.TemporaryDirectory(dir=CACHE) as place:
            os.makedirs(os.path.join(place, "archives", "partial"))
            got = self._run("apt-get", "install", "--download-only", "-q", "-y",
                            "--no-install-recommends", "-o", "APT::Architecture=" + architecture,
                            "-o", "Dir::Cache=" + place, "-o", "Debug::NoLocking=1", *packages)
            files = glob.glob(os.path.join(place, "archives", "*.deb"))
            if got.returncode or not files:
                raise Unavailable("packages of %s cannot be downloaded: %s" %
                                  (architecture,
                                   (got.stderr.strip().splitlines() or ["no reason given"])[-1]))
            for file in files:
                subprocess.run(["dpkg", "-x", file, root], check=True)


ARCHIVE = Archive()


def kernel_packages(series, flavour, architecture):
    """
    The packages that have the kernel image and the modules of a series, the newest there is.
    `flavour`: "", "cloud-", "rt-". Since 7.0 or so an image's package is only a name for others.
    """
    version = r"%s[.][0-9][0-9.+~a-z]*(-[0-9]+)?" % re.escape(series)
    for kind in ("binary", "image"):
        name = ARCHIVE.newest("linux-%s-%s-%s%s" % (kind, version, flavour, architecture),
                              architecture)
        if name:
            others = [name.replace("-binary-", "-modules-")] if kind == "binary" else []
            return [name] + others
    raise Unavailable("no package has a %s kernel for %s%s" % (series, flavour, architecture))
