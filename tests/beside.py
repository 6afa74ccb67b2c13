# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A load beside tests: processes that compute, read and write files, and start others."""
import contextlib
import os
import subprocess
import sys
import tempfile
import time

SIZE = 4 << 20  # bytes of a file, more than a read-ahead
COMPUTE = 0.05  # seconds of each turn


def _turn(path):
    until = time.monotonic() + COMPUTE
    while time.monotonic() < until:
        pass
    with open(path, "r+b") as file:
        file.write(os.urandom(SIZE))
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        file.seek(0)
        while file.read(1 << 16):
            pass
    subprocess.run(["true"], check=True)


def _main(path, parent):
    with open(path, "wb"):
        pass
    while os.getppid() == parent:
        _turn(path)


@contextlib.contextmanager
def load(count):
    """So many processes, until the block ends; they end with this one, too."""
    with tempfile.TemporaryDirectory(prefix="clew-beside-", dir="/var/tmp") as directory:
        processes = [
            subprocess.Popen([
                sys.executable,
                os.path.abspath(__file__),
                os.path.join(directory, str(i)),
                str(os.getpid())
            ],
                             stdin=subprocess.DEVNULL) for i in range(count)
        ]
        try:
            yield
        finally:
            for process in processes:
                process.kill()
            for process in processes:
                process.wait()


if __name__ == "__main__":
    _main(sys.argv[1], int(sys.argv[2]))
