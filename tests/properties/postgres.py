"""A private PostgreSQL server, as tests/http/harness/postgres.rs starts one: a cluster in a temporary directory, which
listens on a free port of loopback and ends with the process. With HEDDLE_TEST_POSTGRES=postgres://user@host it is that
server instead."""

import atexit
import os
import shutil
import socket
import subprocess
import tempfile
import uuid
from pathlib import Path

# Between choosing a free port and listening there, another program may take it.
STARTS_MAX = 3


def tool(name):
    """A program of PostgreSQL, or None: Debian keeps those of the server outside the path."""
    found = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    return str(found[-1]) if found else shutil.which(name)


def is_there():
    return "HEDDLE_TEST_POSTGRES" in os.environ or tool("initdb") is not None


class Server:
    """A server on which each round gets a new database."""

    def __init__(self):
        given = os.environ.get("HEDDLE_TEST_POSTGRES")
        self.url = given.rstrip("/") if given else self._start()

    def database(self):
        """The URL of a new, empty database."""
        name = f"heddle_{uuid.uuid4().hex}"
        subprocess.run([tool("psql"), "-q", "-d", f"{self.url}/postgres", "-c", f"create database {name}"], check=True)
        return f"{self.url}/{name}"

    def _start(self):
        self.dir = Path(tempfile.mkdtemp(prefix="heddle-postgres-"))
        atexit.register(self._stop)
        if os.geteuid() == 0:
            shutil.chown(self.dir, "postgres")
        self._as_postgres("initdb", "-A", "trust", "-U", "heddle", "--no-sync", check=True)
        for start in range(STARTS_MAX):
            with socket.socket() as chosen:
                chosen.bind(("127.0.0.1", 0))
                port = chosen.getsockname()[1]
            options = f"-c listen_addresses=127.0.0.1 -p {port} -c unix_socket_directories='' -c fsync=off"
            last = start == STARTS_MAX - 1
            result = self._as_postgres("pg_ctl", "-w", "-o", options, "-l", self.dir / "log", "start", check=last)
            if result.returncode == 0:
                return f"postgres://heddle@127.0.0.1:{port}"

    def _stop(self):
        self._as_postgres("pg_ctl", "-m", "immediate", "stop", check=False)
        shutil.rmtree(self.dir, ignore_errors=True)

    def _as_postgres(self, name, *arguments, check):
        """PostgreSQL refuses to be root: then the package's own user starts it."""
        command = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
        command += [tool(name), "-D", self.dir / "data", *arguments]
        # The server inherits what it is given: a pipe would stay open for as long as it lives.
        return subprocess.run(command, cwd="/", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=check)
