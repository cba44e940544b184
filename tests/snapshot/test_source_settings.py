"""`snapshot:` of a configuration: faults all at once, with their lines."""

import pytest

from gate.errors import InvalidInput
from gate.settings import parse_settings

DIGEST = "sha256:" + "0" * 64
HEX = "1" * 64
GOOD = {
    "git": "{url: 'https://github.com/acme/search', commit: '" + "a" * 40 + "', path: snapshots/main}",
    "https": "{url: 'https://example.com/s.tar.gz', sha256: '" + HEX + "', max_mb: 10}",
    "release": "{repository: acme/search, tag: v1, asset: s.tar.gz, sha256: '" + HEX + "'}",
    "artifact": "{name: snapshot, workflow: snapshot.yml}",
    "image": "{image: 'ghcr.io/acme/search@sha256:" + HEX + "'}",
}


def parsed(snapshot: str):
    return parse_settings(f"golden: g.jsonl\nretriever: {{kind: bm25}}\nsnapshot:\n{snapshot}".encode(), "c.yml", "c.yml").snapshot


def faults(snapshot: str) -> list[str]:
    with pytest.raises(InvalidInput) as caught:
        parsed(snapshot)
    return list(caught.value.problems)


def of(kind: str, body: str) -> list[str]:
    return faults(f"  digest: {DIGEST}\n  source:\n    {kind}: {body}\n")


@pytest.mark.parametrize("kind", GOOD)
def test_every_kind_is_read(kind):
    found = parsed(f"  digest: {DIGEST}\n  source:\n    {kind}: {GOOD[kind]}\n")
    assert found.path is None and found.source.kind == kind and found.source.options.shown


@pytest.mark.parametrize("kind", GOOD)
def test_a_misspelt_key_is_named_with_its_line(kind):
    body = GOOD[kind].replace("{", "{nmae: x, ", 1)
    problem, = of(kind, body)
    assert problem.startswith("c.yml:6: unknown key `nmae`")


def test_all_faults_come_at_once():
    told = of("https", "{url: 'ftp://x/y', sha256: abc, max_mb: 0, headers: {Host: x, Key: '${GITHUB_TOKEN}'}}")
    assert len(told) == 5 and all(line.startswith("c.yml:6: ") for line in told)


@pytest.mark.parametrize(("source", "words"), [
    ("{}", "exactly one of git, https, release, artifact, image, and there is none"),
    ("{ftp: {}}", "unknown key `ftp`"),
    ("[]", "must be a mapping"),
    ("{git: 3}", "`git` must be a mapping"),
    ("{git: " + GOOD["git"] + ", https: " + GOOD["https"] + "}", "exactly one of git, https, release, artifact, image, not git and https"),
])
def test_a_source_is_one_of_the_kinds(source, words):
    assert any(words in line for line in faults(f"  digest: {DIGEST}\n  source: {source}\n"))


def test_path_and_source_together_are_a_fault_and_neither_is_too():
    assert "not both" in faults(f"  path: s\n  digest: {DIGEST}\n  source: {{git: {GOOD['git']}}}\n")[0]
    assert "`path` is missing" in faults(f"  digest: {DIGEST}\n")[0]


def test_a_source_needs_the_digest_of_the_snapshot_as_well():
    assert "`digest` must be the snapshot's tree digest" in faults(f"  source: {{git: {GOOD['git']}}}\n")[0]


@pytest.mark.parametrize("commit", ["main", "v1.0", "abc1234", "A" * 40, "a" * 41])
def test_what_can_move_is_no_commit(commit):
    told, = of("git", f"{{url: 'https://x.example/r', commit: '{commit}'}}")
    assert "`commit` must be 40 hex digits" in told and "git ls-remote" in told


@pytest.mark.parametrize("url", ["git@github.com:acme/search.git", "http://example.com/r", "git://example.com/r", "ext::sh -c id",
                                 "https://", "--upload-pack=x", "https://exa mple/r", "https://x.example/\u202e", "ssh://-oProxyCommand=id/r"])
def test_addresses_of_git_are_https_ssh_or_file(url):
    assert len(of("git", f"{{url: \"{url}\", commit: '{'a' * 40}'}}")) == 1


@pytest.mark.parametrize("url", ["https://x.example/r", "ssh://git@x.example/r", "file:///srv/r.git", "http://127.0.0.1:9/r", "http://[::1]/r"])
def test_good_addresses_of_git(url):
    assert parsed(f"  digest: {DIGEST}\n  source: {{git: {{url: '{url}', commit: '{'a' * 40}'}}}}\n").source.options.url == url


@pytest.mark.parametrize("url", ["https://user:pa55@x.example/r", "https://pa55@x.example/r"])
def test_credentials_in_an_address_are_refused_and_not_repeated(url):
    told, = of("git", f"{{url: '{url}', commit: '{'a' * 40}'}}")
    assert "holds credentials" in told and "pa55" not in told


@pytest.mark.parametrize("path", ["../x", "/x", "-x", "a/../../b", "a\\\\b"])
def test_a_path_stays_in_the_repository(path):
    assert "inside of the repository" in of("git", f"{{url: 'https://x.example/r', commit: '{'a' * 40}', path: \"{path}\"}}")[0]


@pytest.mark.parametrize("image", ["acme/search:latest", "acme/search", "acme/search@sha256:abc", "@sha256:" + HEX, "-x@sha256:" + HEX])
def test_an_image_is_named_by_its_digest(image):
    assert "a tag can be moved" in of("image", f"{{image: '{image}'}}")[0]


@pytest.mark.parametrize("path", ["/", "snapshot", "/a/../b"])
def test_a_folder_of_an_image_is_absolute_and_not_all_of_it(path):
    assert "absolute path" in of("image", f"{{image: 'x@sha256:{HEX}', path: '{path}'}}")[0]


@pytest.mark.parametrize("body", ["{name: s}", "{name: s, run_id: 3, workflow: w.yml}"])
def test_an_artifact_is_of_one_run_or_of_the_newest_of_a_workflow(body):
    assert "exactly one of `run_id` and `workflow`" in of("artifact", body)[0]


def test_a_branch_belongs_to_a_workflow():
    assert "`branch` belongs to `workflow`" in of("artifact", "{name: s, run_id: 3, branch: main}")[0]


@pytest.mark.parametrize("repository", ["acme", "acme/../x", "acme/..", "acme/a/b", "https://github.com/acme/search"])
def test_a_repository_is_owner_and_name(repository):
    assert "owner/name" in of("release", f"{{repository: '{repository}', tag: v, asset: a, sha256: '{HEX}'}}")[0]


@pytest.mark.parametrize("kind", ["git", "release", "artifact"])
def test_the_jobs_own_token_cannot_be_asked_for_by_name(kind):
    told = of(kind, GOOD[kind].replace("{", "{token: '${GITHUB_TOKEN}', ", 1))
    assert "belongs to the gate or the runner" in told[0]
