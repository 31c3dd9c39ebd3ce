"""Starts a program and tells what it cost: python -I -S launcher.py SECONDS PROGRAM ARGUMENTS.

A process of its own because the peak of memory that the kernel tells of a child counts from
what its parent held. Prints one JSON object: wall and processor seconds (of the program and of
the children that it waited for), peak of resident memory in bytes, exit code (null: it was
stopped because it took more than SECONDS of processor time; or twenty times as long by the
clock).
"""

import json
import os
import resource
import signal
import sys
import time


def main() -> None:
    limit, command = float(sys.argv[1]), sys.argv[2:]
    out = os.dup(1)
    began = time.monotonic()
    child = os.fork()
    if not child:
        os.setsid()
        quiet = os.open(os.devnull, os.O_RDWR)
        for number in (0, 1):
            os.dup2(quiet, number)
        most = int(limit) + 1
        resource.setrlimit(resource.RLIMIT_CPU, (most, most))
        os.execvp(command[0], command)
    stopped = []

    def stop(*_: object) -> None:
        stopped.append(True)
        os.killpg(child, signal.SIGKILL)

    signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, 20 * limit)
    _, status, used = os.wait4(child, 0)
    wall = time.monotonic() - began
    code = os.waitstatus_to_exitcode(status)
    told = {
        "wall": wall,
        "cpu": used.ru_utime + used.ru_stime,
        "peak": used.ru_maxrss * 1024,
        "code": None if stopped or used.ru_utime + used.ru_stime >= limit else code,
    }
    os.write(out, json.dumps(told).encode())


if __name__ == "__main__":
    main()
