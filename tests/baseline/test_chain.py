"""How one baseline came to follow the other: ``baseline show`` for several records, a folder, and a branch."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.baseline.chain import chain
from gate.baseline.record import Provenance, Record, pack
from gate.cli import main
from gate.runs import Ranking


def record(text="a", parent="", kind="approved", created="2026-01-01T00:00:00Z"):
    provenance = Provenance(kind, 7, "maria", f"because of {text}") if kind == "approved" else Provenance(kind)
    return Record("default", {"q": Ranking([text])}, "sha256:g", commit=(text * 40)[:40], created=created, parent=parent,
                  provenance=provenance)


FIRST = record("a", kind="bootstrap")
SECOND = record("b", FIRST.digest, created="2026-02-01T00:00:00Z")
THIRD = record("c", SECOND.digest, created="2026-03-01T00:00:00Z")


def texts(links):
    return [link.record.rankings["q"].docs[0] for link in links]


@given(st.permutations([FIRST, SECOND, THIRD]))
def test_whatever_the_order_they_are_given_in_each_comes_behind_the_one_it_replaced(records):
    links = chain([(str(i), r) for i, r in enumerate(records)])
    assert texts(links) == ["a", "b", "c"] and not any(link.gap or link.fork for link in links)


def test_a_record_that_is_found_twice_is_one_link_with_both_places():
    (link,) = chain([("x", FIRST), ("y", FIRST)])
    assert link.where == ("x", "y")


def test_a_missing_record_is_a_gap_that_names_its_digest():
    links = chain([("x", THIRD), ("y", FIRST)])
    assert texts(links) == ["a", "c"] and [link.gap for link in links] == ["", SECOND.digest]


def test_two_records_that_replaced_the_same_one_are_a_fork():
    other = record("d", FIRST.digest, created="2026-02-02T00:00:00Z")
    links = chain([(r.commit, r) for r in (other, THIRD, SECOND, FIRST)])
    assert texts(links) == ["a", "b", "c", "d"] and [link.fork for link in links] == [False, True, False, True]


def test_what_main_retrieved_without_being_approved_is_no_link():
    assert chain([("x", replace(FIRST, provenance=Provenance("latest")))]) == []


@pytest.fixture
def folder(tmp_path):
    for name, item in (("one.json.gz", FIRST), ("three.json.gz", THIRD), ("deep/two.json.gz", SECOND)):
        path = tmp_path / "records" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(pack(item))
    (tmp_path / "records" / "report.json").write_text("{}")
    return tmp_path / "records"


def test_a_folder_of_records_is_printed_as_a_chain_with_who_and_why(folder, capsys):
    assert main(["baseline", "show", str(folder)]) == 0
    out = capsys.readouterr().out
    assert "3 baselines" in out and out.index("bootstrapped") < out.index("because of b") < out.index("because of c")
    assert "missing" not in out and "three.json.gz" in out


def test_several_files_with_one_missing_between_them_name_the_gap(folder, capsys):
    assert main(["baseline", "show", str(folder / "three.json.gz"), str(folder / "one.json.gz")]) == 0
    assert f"missing: {SECOND.digest}" in capsys.readouterr().out


def test_one_record_is_printed_whole_as_before(folder, capsys):
    assert main(["baseline", "show", str(folder / "one.json.gz")]) == 0
    assert "provenance   bootstrapped" in capsys.readouterr().out


def test_what_belongs_to_a_part_of_the_retriever_is_shown_as_its(tmp_path, capsys):
    made = replace(FIRST, retriever={"kind": "hybrid", "leg 1": {"kind": "dense", "embedding": {"kind": "snapshot", "revision": ""}}})
    (tmp_path / "one.json.gz").write_bytes(pack(made))
    assert main(["baseline", "show", str(tmp_path / "one.json.gz")]) == 0
    assert "leg 1.embedding.kind: snapshot, leg 1.embedding.revision: none, leg 1.kind: dense\n" in capsys.readouterr().out


@pytest.mark.parametrize("argv, words", [
    ([], "takes records, or --repository"), (["x.json.gz", "--repository", "a/b"], "one of the two"),
    (["--repository", "nonsense"], "is not OWNER/NAME"), (["."], "holds no record")])
def test_what_cannot_be_shown_is_exit_2(argv, words, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["baseline", "show", *argv]) == 2
    assert words in capsys.readouterr().err


def test_records_of_several_gates_are_no_chain(tmp_path, capsys):
    for name, item in (("a.json.gz", FIRST), ("b.json.gz", replace(FIRST, gate="other"))):
        (tmp_path / name).write_bytes(pack(item))
    assert main(["baseline", "show", str(tmp_path)]) == 2 and "several gates" in capsys.readouterr().err


def test_a_branchs_history_is_read_with_a_token_and_says_who_wrote_each(fake, repo, monkeypatch, capsys):
    files, parent = {"README.md": b"x"}, ()
    for item in (FIRST, SECOND):
        files = {**files, "default/baseline.json.gz": pack(item)}
        made = fake.store_commit(repo, files, parent, "x", fake.actions_bot)
        made.signed = item is FIRST
        carried = fake.store_commit(repo, {**files, "default/manifest.json": item.commit.encode()}, (made.sha,), "x", "ada")
        parent = (carried.sha,)
    fake.set_branch(repo, "baselines", parent[0])
    monkeypatch.setenv("GITHUB_TOKEN", fake.job_token)
    monkeypatch.setenv("GITHUB_API_URL", fake.url)
    assert main(["baseline", "show", "--repository", repo.full_name, "--branch", "baselines"]) == 0
    out = capsys.readouterr().out
    assert "2 baselines" in out and "by github-actions[bot], signed" in out and "because of b" in out and "by ada" not in out
    assert main(["baseline", "show", "--repository", repo.full_name]) == 2
    assert "has no branch retrieval-gate-baselines" in capsys.readouterr().err
    assert main(["baseline", "show", "--repository", repo.full_name, "--branch", "baselines", "--gate", "other"]) == 2
