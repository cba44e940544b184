"""``services:`` with real engines: a PostgreSQL restored from the snapshot's dump, and what happens when a service fails."""

from __future__ import annotations

import dataclasses
import json
import socket
import subprocess
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from gate import jsonio
from gate.snapshot.files import measure, walk
from gate.snapshot.manifest import NAME, read_manifest
from tests.conftest import ROOT
from tests.e2e import engine
from tests.e2e.images import database_image, search_image
from tests.e2e.stories import RunnerStory, example_files, need_engine
from tests.e2e.test_container_retriever import containers, gate, started
from tests.fake_github import FakeGitHub

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]

DATABASE_SEARCH = '''import psycopg

ASK = """with asked as (select replace(plainto_tsquery('english', %s)::text, '&', '|')::tsquery as words)
select id from units, asked order by ts_rank_cd(to_tsvector('english', title || ' ' || text), words) desc,
vector_dims(embedding), id limit %s"""
connection = psycopg.connect("host=127.0.0.1 port=PORT user=postgres dbname=postgres", autocommit=True)


def retrieve(query, n):
    return [row[0] for row in connection.execute(ASK, (query, n))]
'''


@pytest.fixture(autouse=True)
def nothing_is_left():
    need_engine()
    before = containers()
    yield
    assert containers() - before == set()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def frozen(folder: Path, name: str, data: bytes) -> str:
    """Put one more file into a snapshot; its new digest."""
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_bytes(data)
    files = {path: measure(place) for path, place in walk(folder, []) if path != NAME}
    manifest = dataclasses.replace(read_manifest(folder), files=files)
    (folder / NAME).write_text(jsonio.pretty(manifest.to_json()), encoding="utf-8")
    return manifest.tree_digest


@pytest.fixture(scope="module")
def dump() -> bytes:
    """The example's units in a table with a vector column, dumped by the tool that everybody uses."""
    need_engine()

    def inside(*words: str, data: bytes = b"") -> bytes:
        return subprocess.run(["docker", "exec", "-i", box, *words], input=data, capture_output=True, check=True).stdout

    box = subprocess.run(["docker", "run", "-d", "--rm", database_image()], capture_output=True, text=True, check=True).stdout.strip()
    try:
        deadline = time.monotonic() + 60
        while subprocess.run(["docker", "exec", box, "pg_isready", "-h", "127.0.0.1", "-q"]).returncode:
            assert time.monotonic() < deadline
            time.sleep(0.1)
        units = [json.loads(line) for line in (ROOT / "examples/snapshot/units.jsonl").read_text().splitlines()]
        quote = {unit["id"]: [unit[key].replace("'", "''") for key in ("id", "title", "text")] for unit in units}
        rows = ",\n".join("('" + "','".join(values) + "','[1,2,3]')" for values in quote.values())
        table = "create extension vector; create table units (id text primary key, title text, text text, embedding vector(3));"
        inside("psql", "-h", "/tmp", "-U", "postgres", "-q", "-v", "ON_ERROR_STOP=1",
               data=f"{table} insert into units values {rows};".encode())
        return inside("pg_dump", "-h", "/tmp", "-U", "postgres", "-Fc", "postgres")
    finally:
        subprocess.run(["docker", "rm", "-f", box], capture_output=True)


def files_of(config: str, more: dict[str, bytes] | None = None) -> dict[str, bytes]:
    """The example with the first of its queries."""
    files = example_files()
    few = b"".join(files["golden.jsonl"].splitlines(keepends=True)[:40])
    return files | {"golden.jsonl": few, "retrieval-gate.yml": config.encode()} | (more or {})


def put(folder: Path, files: dict[str, bytes]) -> Path:
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    return folder


def database_project(folder: Path, dump: bytes, port: int, restore: str = "/snapshot/dump.pgc") -> Path:
    put(folder, files_of("", {"search/retriever.py": DATABASE_SEARCH.replace("PORT", str(port)).encode()}))
    digest = frozen(folder / "snapshot", "dump.pgc", dump)
    (folder / "retrieval-gate.yml").write_text(f"""golden: golden.jsonl
snapshot: {{path: snapshot, digest: "{digest}"}}
retriever: {{kind: python, function: "search.retriever:retrieve"}}
services:
  postgres:
    image: {database_image()}
    command: [sh, /start.sh, -p, "{port}"]
    env: {{PGPORT: {port}}}
    port: {port}
    data: /data
    health: {{command: [pg_isready, -q, -h, 127.0.0.1]}}
    restore:
      - [pg_restore, -h, /tmp, -U, postgres, -d, postgres, --exit-on-error, {restore}]
      - psql -h /tmp -U postgres -c 'vacuum analyze'
policy: {{metrics: ["recall@10"]}}
""")
    return folder


def test_a_database_is_restored_from_the_snapshot_and_asked_at_localhost(tmp_path, dump):
    code, log, report = gate(database_project(tmp_path, dump, free_port()))
    assert (code, report["verdict"]) == (0, "no-baseline"), log
    assert report["metrics"]["recall@10"]["candidate"] > 0.2 and report["excluded"]["errored"] == []
    assert report["metadata"]["retriever"]["services"] == {"postgres": database_image()}


def test_a_restore_that_fails_is_exit_3_with_what_it_printed(tmp_path, dump):
    code, log, report = gate(database_project(tmp_path, dump, free_port(), "/snapshot/units.jsonl"))
    problem = "\n".join(report["problems"])
    assert (code, report["verdict"]) == (3, "cannot-decide"), log
    assert "service postgres: restore command 1 of 2 ended with status 1" in problem
    assert "| pg_restore: error: input file does not appear to be a valid archive" in problem


class InAContainer(RunnerStory):
    """The gate in its image, as the runner starts it."""


def test_in_the_gates_image_the_retrievers_child_reaches_it_at_localhost_too(tmp_path, capsys, dump):
    with FakeGitHub(bind="0.0.0.0", start=datetime.now(UTC)) as fake:
        InAContainer.image = engine.build_action_image(ROOT)
        folder = database_project(tmp_path / "project", dump, 5432)
        files = {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        first = InAContainer(fake, tmp_path, capsys, files).on_push()
        assert (first.code, first.outputs["baseline-updated"]) == (0, "bootstrap"), first.log
        fake.assert_clean()


def search_config(port: int, more: str, mode: str = "", health: str = "{http: /}", repeat: int = 1) -> str:
    return f"""repeat: {repeat}
golden: golden.jsonl
snapshot: {{path: snapshot, digest: "{read_manifest(ROOT / 'examples/snapshot').tree_digest}"}}
retriever:
  kind: http
  url: http://127.0.0.1:{port}/search
  body: {{query: "{{query}}", n: "{{n}}"}}
  retries: 0
services:
  search:
    image: {search_image()}
    port: {port}
    env: {{PORT: {port}, MODE: "{mode}"}}
    health: {health}
{more}"""


def test_a_folder_of_the_snapshot_is_copied_to_where_the_service_may_change_it(tmp_path):
    port = free_port()
    more = """    user: nobody
    copy: {index: /app/index}
    restore:
      - test -s /app/index/$(ls /app/index | head -1)
      - touch /app/index/new && rm /app/index/$(ls /app/index | head -1)
"""
    before = {path: path.read_bytes() for path in (ROOT / "examples/snapshot/index").iterdir()}
    code, log, report = gate(put(tmp_path, files_of(search_config(port, more, repeat=2))))
    assert code == 0 and report["noise"]["repeats"] == 2, log  # for the second run it was copied anew
    assert {path: path.read_bytes() for path in (tmp_path / "snapshot/index").iterdir()}.keys() == \
        {tmp_path / "snapshot/index" / path.name for path in before}


def test_a_service_that_ends_in_the_middle_is_named_and_not_the_retriever_that_missed_it(tmp_path):
    folder = put(tmp_path, files_of(search_config(free_port(), "", "slow")))
    process = started(folder, 5)
    mine, = containers()
    subprocess.run(["docker", "kill", mine], check=True, capture_output=True)
    assert process.wait(60) == 3
    problem = json.loads((folder / "out" / "report.json").read_text())["problems"][0]
    assert problem.startswith("service search: ended with status 137")


@pytest.mark.parametrize(("more", "said"), [
    ("    restore: [[sleep, '60']]\n    restore_seconds: 0.5\n", "restore command 1 of 1 was not over within 0.5 s"),
    ("    copy: {nothing: /data}\n", "service search: the snapshot has no folder 'nothing' to copy"),
    ("    entrypoint: [/nowhere]\n", "service search: cannot be started"),
])
def test_a_service_that_cannot_be_made_ready_is_exit_3_and_says_why(tmp_path, more, said):
    code, log, report = gate(put(tmp_path, files_of(search_config(free_port(), more))))
    assert (code, report["verdict"]) == (3, "cannot-decide"), log
    assert said in report["problems"][0]


@pytest.mark.parametrize("health", ["{http: /}", "{command: ['true']}", "{command: [sh, -c, 'exit 3']}"])
def test_a_service_that_ends_before_it_is_ready_is_named_with_its_last_lines(tmp_path, health):
    code, _, report = gate(put(tmp_path, files_of(search_config(free_port(), "    restore: [[sleep, '9']]\n", "broken", health))))
    assert code == 3 and report["problems"][0].startswith("service search: ended ")
    assert "with status 1" in report["problems"][0] and "| no index at /nowhere" in report["problems"][0]


def test_a_port_that_is_in_use_is_named(tmp_path):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        code, _, report = gate(put(tmp_path, files_of(search_config(port, ""))))
    assert code == 3 and report["problems"] == [f"service search: port {port} is in use already"]
