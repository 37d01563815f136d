"""Starts a program as on a system without Landlock on which nobody may make namespaces.

Usage: without_walls.py WALLS PROGRAM ARGUMENT…; WALLS are letters of what is taken away: f (Landlock), n (namespaces).
"""

import ctypes
import os
import platform
import struct
import sys

PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS, SECCOMP_MODE_FILTER = 22, 38, 2
LOAD, JUMP_IF_EQUAL, RETURN = 0x20, 0x15, 0x06
ALLOW, FAIL = 0x7FFF0000, 0x00050000
EPERM, ENOSYS = 1, 38
LANDLOCK_CREATE_RULESET = 444
UNSHARE = {"x86_64": 272, "aarch64": 97}[platform.machine()]


class Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p)]


def main():
    failures = []
    if "f" in sys.argv[1]:
        failures.append((LANDLOCK_CREATE_RULESET, ENOSYS))
    if "n" in sys.argv[1]:
        failures.append((UNSHARE, EPERM))
    instructions = [struct.pack("=HBBI", LOAD, 0, 0, 0)]
    for call, error in failures:
        instructions.append(struct.pack("=HBBI", JUMP_IF_EQUAL, 0, 1, call))
        instructions.append(struct.pack("=HBBI", RETURN, 0, 0, FAIL | error))
    instructions.append(struct.pack("=HBBI", RETURN, 0, 0, ALLOW))
    program = Program(len(instructions), b"".join(instructions))
    libc = ctypes.CDLL(None, use_errno=True)
    for arguments in (
        (PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0),
        (PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(program)),
    ):
        if libc.prctl(*arguments) != 0:
            raise OSError(ctypes.get_errno(), "prctl")
    os.execv(sys.argv[2], sys.argv[2:])


main()
