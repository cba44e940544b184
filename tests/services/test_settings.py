import pytest

from gate.asking import answer_key
from gate.docker.health import Health
from tests.configs import SNAPSHOT, problems, read

IMAGE = "pgvector/pgvector@sha256:" + "1" * 64


def services(lines: str, snapshot: str = SNAPSHOT) -> str:
    return f"golden: g.jsonl\nretriever: {{kind: python, function: 'a:b'}}\n{snapshot}services:\n{lines}"


def test_a_service_is_read_with_all_that_it_says():
    service, = read(services(f"""  db:
    image: {IMAGE}
    port: 5432
    env: {{POSTGRES_PASSWORD: "${{DB_PASSWORD}}", N: 3, discovery.type: single-node}}
    user: postgres
    data: /var/lib/postgresql/data
    copy: {{chroma/index: /data/}}
    health: {{command: [pg_isready, -h, 127.0.0.1]}}
    restore: [[pg_restore, -d, postgres, -d, postgres], "psql -c 'select 1' && true"]
    memory_mb: 512
    start_seconds: 5
    restore_seconds: 7
""")).services
    assert (service.name, service.container.image, service.container.port, service.memory_mb) == ("db", IMAGE, 5432, 512)
    assert service.health == Health(command=("pg_isready", "-h", "127.0.0.1")) and service.copy == (("chroma/index", "/data"),)
    assert service.restore == (("pg_restore", "-d", "postgres", "-d", "postgres"), ("sh", "-c", "psql -c 'select 1' && true"))
    assert {name: text.text for name, text in service.container.env} == {"POSTGRES_PASSWORD": "${DB_PASSWORD}", "N": "3",
                                                                         "discovery.type": "single-node"}
    assert (service.start_seconds, service.restore_seconds, service.data) == (5, 7, "/var/lib/postgresql/data")


@pytest.mark.parametrize(("lines", "said"), [
    ("  Db: {}", "service 'Db' must be called by"),
    ("  db:\n    image: x:1\n    port: 1", "`image` is 'x:1'"),
    (f"  db: {{image: '{IMAGE}'}}", "nobody could tell when the service is ready"),
    (f"  db: {{image: '{IMAGE}', port: 1, health: {{http: ready}}}}", "must be a path that begins with /"),
    (f"  db: {{image: '{IMAGE}', health: {{http: /ready}}}}", "`health.http` is asked there"),
    (f"  db: {{image: '{IMAGE}', port: 1, health: {{http: /a, command: [b]}}}}", "either `http` or `command`"),
    (f"  db: {{image: '{IMAGE}', port: 1, health: {{tcp: true}}}}", "unknown key `tcp`"),
    (f"  db: {{image: '{IMAGE}', port: 1, restore: 'psql'}}", "`restore` must be a list of commands"),
    (f"  db:\n    image: '{IMAGE}'\n    port: 1\n    restore:\n      - curl -H a: b", "text with `: ` in it has to be quoted"),
    (f"  db: {{image: '{IMAGE}', port: 1, copy: {{../x: /data}}}}", "must be a folder of the snapshot"),
    (f"  db: {{image: '{IMAGE}', port: 1, copy: {{x: data}}}}", "must be a folder in the container"),
    (f"  db: {{image: '{IMAGE}', port: 1, copy: {{x: /d/x}}, data: /d}}", "is in `data`, which is memory"),
    (f"  a: {{image: '{IMAGE}', port: 1}}\n  b: {{image: '{IMAGE}', port: 1}}", "port 1 is that of another service"),
    ("\n".join(f"  s{n}: {{image: '{IMAGE}', port: {n}}}" for n in range(1, 10)), "the gate starts at most 8"),
    ("  db: 7", "`db` must be a mapping"),
])
def test_a_fault_is_named_with_its_line(lines, said):
    found = problems(services(lines))
    assert any(said in problem and problem.startswith("c.yml:") for problem in found), found


@pytest.mark.parametrize("more", ["", ", health: {http: /ready}"])
def test_a_port_that_is_none_is_not_said_to_be_missing_as_well(more):
    found, = problems(services(f"  db: {{image: '{IMAGE}', port: 99999{more}}}"))
    assert "`port` must be a whole number from 1 to 65535" in found


@pytest.mark.parametrize("more", ["copy: {x: /data}", "mount: /frozen"])
def test_without_a_snapshot_there_is_nothing_to_mount_or_copy(more):
    found, = problems(services(f"  db: {{image: '{IMAGE}', port: 1, {more}}}", snapshot=""))
    assert "there is no snapshot to take it from" in found


def test_answers_of_an_interrupted_run_are_not_those_of_another_service():
    one, other = (read(services(f"  db: {{image: '{IMAGE[:-1]}{end}', port: 1}}")) for end in "12")
    assert answer_key(one) != answer_key(other) == answer_key(other)
