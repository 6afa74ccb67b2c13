# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
A guest: a kernel and one disk in QEMU without hardware help. Its console and what its tests print
go to files.
"""
import ctypes
import mmap
import os
import platform
import re
import socket
import subprocess
import threading
import time

PORT_ATTEMPTS = 10
CONSOLES = {"amd64": "ttyS0", "arm64": "ttyAMA0"}
EMULATORS = {
    "amd64": ["qemu-system-x86_64", "-cpu", "max"],
    # Signatures of addresses by an algorithm that the emulator is quick at.
    "arm64": ["qemu-system-aarch64", "-M", "virt", "-cpu", "max,pauth-impdef=on"]
}


class Outside:
    """
    Whom a guest finds outside one of its interfaces, by TCP and UDP at one port. Each
    message is "WHAT US KEY": `join` makes this the
    conversation of KEY; on `answer`, from wherever it comes, there is an answer for that
    after so many us, and on `call`
    a connection to the guest's CALLED port, which is `way_in` here.
    """
    CALLED = 7777

    def __init__(self, name, network):
        self.name, self.network = name, network
        self.conversations = {}
        self._listen()
        self.find_way_in()
        for serve in (self._accept, self._datagrams):
            threading.Thread(target=serve, daemon=True).start()

    def _listen(self):
        for attempt in range(PORT_ATTEMPTS):
            self.stream, self.datagram = socket.socket(), socket.socket(type=socket.SOCK_DGRAM)
            try:
                self.stream.bind(("127.0.0.1", 0))
                self.port = self.stream.getsockname()[1]
                self.datagram.bind(("127.0.0.1", self.port))
                break
            except OSError:
                # Somebody has the one port but not the other.
                self.close()
                if attempt == PORT_ATTEMPTS - 1:
                    raise
        self.stream.listen()

    def find_way_in(self):
        """A port that nobody has now: QEMU takes it, if nobody is faster."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.way_in = free.getsockname()[1]

    def devices(self):
        """QEMU's arguments."""
        return [
            "-netdev",
            "user,id=%s,net=%s.0/24,ipv6=off,hostfwd=tcp:127.0.0.1:%d-:%d" %
            (self.name, self.network, self.way_in, self.CALLED), "-device",
            "virtio-net-pci,netdev=%s,romfile=" % self.name
        ]

    def word(self):
        """What its guest is told: QEMU has this machine at that address."""
        return "clew_%s=%s.2:%d" % (self.name, self.network, self.port)

    def close(self):
        for end in (self.stream, self.datagram):
            # A thread that is in a call on the socket does not notice a close alone.
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            end.close()

    def _accept(self):
        try:
            while True:
                threading.Thread(target=self._talk, args=(self.stream.accept()[0], ),
                                 daemon=True).start()
        except OSError:
            pass

    def _talk(self, connection):
        with connection, connection.makefile("r", encoding="ascii") as lines:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            try:
                for line in lines:
                    self._obey(line, connection.sendall)
            except OSError:
                pass

    def _datagrams(self):
        try:
            while self.datagram.fileno() >= 0:
                text, sender = self.datagram.recvfrom(64)
                self._obey(text.decode("ascii"),
                           lambda data, to=sender: self.datagram.sendto(data, to))
        except OSError:
            pass

    def _obey(self, text, answer):
        what, delay, key = text.split() or ["", "0", ""]
        time.sleep(int(delay) / 1e6)
        if what == "call":
            socket.create_connection(("127.0.0.1", self.way_in)).close()
            return
        if what == "join":
            self.conversations[key] = answer
        if key in self.conversations:
            self.conversations[key](b"ball")


# rdtsc; shl rdx, 32; or rax, rdx; ret
READ_TSC = b"\x0f\x31\x48\xc1\xe2\x20\x48\x09\xd0\xc3"
TSC_TIME = 200_000_000  # ns to count for


def tsc_khz():
    """How often the host's time-stamp counter counts, in a thousandth of a second."""
    with mmap.mmap(-1, mmap.PAGESIZE,
                   prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC) as page:
        page.write(READ_TSC)
        place = (ctypes.c_char * len(READ_TSC)).from_buffer(page)
        read = ctypes.CFUNCTYPE(ctypes.c_uint64)(ctypes.addressof(place))

        def look():
            """(ns, count) of one moment: the attempt that took the shortest time."""
            found = []
            for _ in range(100):
                before, count, after = time.monotonic_ns(), read(), time.monotonic_ns()
                found.append((after - before, (before + after) // 2, count))
            return min(found)[1:]

        begin, first = look()
        time.sleep(TSC_TIME / 1e9)
        end, last = look()
        del place
    return (last - first) * 1_000_000 // (end - begin)


def clock_words(machine, more):
    """
    The emulated counter is the host's. A guest that measures it on a busy host is wrong by a factor of
    three at times, and its clock then goes three times as fast.
    """
    if machine != "amd64" or platform.machine() != "x86_64" or "-icount" in more:
        return ""
    return "tsc_early_khz=%d " % tsc_khz()


def ports(machine, log, output):
    """QEMU's arguments: the console goes to a file, and the port ttyS1 to another."""
    if machine == "amd64":
        return ["-serial", "file:" + log, "-serial", "file:" + output]
    return [
        "-serial", "file:" + log, "-chardev", "null,id=unused", "-device",
        "pci-serial,chardev=unused", "-chardev", "file,id=output,path=" + output, "-device",
        "pci-serial,chardev=output"
    ]


def boot(kernel,
         image,
         output,
         log,
         minutes,
         arguments,
         outside=(),
         first="/sbin/init",
         more=(),
         initrd=None,
         machine="amd64",
         cpus=2):
    """
    Runs a guest until it powers off; returns why it did not, or what its kernel complained of,
    or None. Its first process is `first`, which gets the arguments and what is outside. `more`:
    arguments of QEMU. `initrd`: see make_initrd(). `machine`: Debian's name of it. `cpus`: how
    many it has.
    """
    append = "root=/dev/nvme0n1 rw rootfstype=ext4 console=%s loglevel=5 panic=-1 tsc=reliable nvme.poll_queues=1 mitigations=off nokaslr %sinit=%s -- " % (
        CONSOLES[machine], clock_words(machine, more), first) + " ".join(
        arguments + [end.word() for end in outside])
    # One host thread for all CPUs: with one each, the emulator lets a CPU run
    # into a breakpoint that the other has already
    # patched away (clew switches the kernel's BPF statistics on and off, which
    # patches code), and the guest dies or hangs.
    command = [
        *EMULATORS[machine], "-accel", "tcg,thread=single", "-smp",
        str(cpus), "-m",
        "1536", "-kernel", kernel, "-append", append, "-drive",
        "file=%s,if=none,id=root,format=raw,cache=unsafe" % image, "-device",
        "nvme,drive=root,serial=clew", "-nodefaults", "-no-user-config",
        *(word for end in outside for word in end.devices()), "-display", "none", "-no-reboot",
        *ports(machine, log, output),
        *(["-initrd", initrd] if initrd else []),
        *more
    ]
    with open(output, "wb"):
        pass
    with subprocess.Popen(command,
                          stdin=subprocess.DEVNULL,
                          stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE,
                          text=True) as process:
        messages = []
        reader = threading.Thread(target=lambda: messages.append(process.stderr.read()))
        reader.start()
        try:
            process.wait(timeout=minutes * 60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            reader.join()
            return "the guest did not end within %g minutes" % minutes
        reader.join()
    if process.returncode:
        return "qemu: " + "".join(messages).strip()
    with open(log, "rb") as text:
        # A recorder may cause no warning, either: some machines are set to panic then.
        panic = re.search(rb"(Kernel panic|WARNING: |BUG: )[^\r\n]*", text.read())
    return panic.group(0).decode("utf-8", "replace") if panic else None
