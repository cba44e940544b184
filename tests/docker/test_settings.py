import pytest

from gate.docker.settings import filled
from gate.errors import RetrieverFailed
from gate.retrievers.container import NOBODY
from gate.secret_text import SecretText
from tests.configs import SNAPSHOT, problems, read

IMAGE = "ghcr.io/acme/search@sha256:" + "1" * 64
HTTP = '{url: /search, body: {q: "{query}"}}'


def container(more: str = "", image: str = IMAGE, http: str = HTTP, port: str = "8080") -> str:
    return f"golden: g.jsonl\n{SNAPSHOT}retriever:\n  kind: container\n  image: {image}\n  port: {port}\n  http: {http}\n{more}"


def test_a_container_is_asked_at_its_port_by_the_options_of_kind_http():
    settings = read(container("  concurrency: 4\n  command: [serve, --shards, '2', --replicas, '2']\n")).retriever
    options = settings.options
    assert settings.concurrency == 4 and not settings.needs_snapshot
    assert options.container.command == ("serve", "--shards", "2", "--replicas", "2")
    assert (options.container.image, options.container.port, options.container.mount) == (IMAGE, 8080, "/snapshot")
    assert options.http.service.address.text == "http://127.0.0.1:8080/search" and options.http.method == "POST"


@pytest.mark.parametrize("image", ["sha256:" + "a" * 64, "localhost:5000/a/b@sha256:" + "a" * 64, "a/b:v1.2@sha256:" + "a" * 64])
def test_an_image_is_named_by_its_digest_or_its_id(image):
    assert read(container(image=image)).retriever.options.container.image == image


@pytest.mark.parametrize("image", ["acme/search", "acme/search:v1", "acme/search@sha256:abc", "a" * 64, "-x@sha256:" + "a" * 64,
                                   "acme/search@sha256:" + "A" * 64])
def test_any_other_name_of_an_image_is_a_fault_that_says_what_to_write(image):
    found, = problems(container(image=image))
    assert found.startswith("c.yml:5: `image` is ") and "name@sha256:…" in found and "docker pull NAME" in found


def test_every_fault_is_named_with_its_line_at_once():
    text = container("  env: {A: true, 'B C': x, D: '${GITHUB_TOKEN}'}\n  user: 'a b'\n  mount: /proc\n  command: serve\n  imge: x\n",
                     image="x:1", http="{url: 'http://elsewhere/search', body: {q: '{query}'}, reties: 1, health: 'http://a/b'}", port="0")
    found = problems(text)
    for words in ("c.yml:5: `image`", "c.yml:6: `port`", "c.yml:7: `url` must be a path", "unknown key `reties`", "`health` must be a path",
                  "c.yml:8: `A` must be text or a number", "has the name 'B C'", "asks for GITHUB_TOKEN", "c.yml:9: `user`",
                  "c.yml:10: `mount`", "c.yml:11: `command` must be a list of words", "c.yml:12: unknown key `imge`"):
        assert any(words in problem for problem in found), (words, found)


@pytest.mark.parametrize("missing", ["image", "port", "http"])
def test_what_must_be_said_is_missed(missing):
    text = "".join(line for line in container().splitlines(keepends=True) if not line.startswith(f"  {missing}:"))
    assert any(f"`{missing}` is missing" in problem for problem in problems(text))


def test_asked_by_lines_it_needs_no_port_and_can_do_without_a_network():
    text = f"golden: g.jsonl\nretriever: {{kind: container, image: '{IMAGE}', stdio: true, network: none}}\n"
    options = read(text).retriever.options
    assert options.http is None and options.alone
    assert "nobody can ask it over HTTP" in problems(container("  network: none\n"))[0]
    found = problems(container("  stdio: true\n  concurrency: 2\n"))
    assert [words for words in ("`http` has no meaning", "`port` has no meaning", "one query is asked after another")
            if not any(words in problem for problem in found)] == []


def test_root_is_possible_only_when_it_is_asked_for():
    assert read(container()).retriever.options.container.user == "" and NOBODY == "65534:65534"
    assert read(container("  user: 0\n")).retriever.options.container.user == "0"


def test_secrets_are_put_in_when_they_are_used_and_remembered_so_that_they_can_be_hidden():
    env = (("KEY", SecretText("Bearer ${SEARCH_KEY}")), ("N", SecretText("7")))
    found = filled(env, {"SEARCH_KEY": "s3cret"}, "retriever.env")
    assert found == ({"KEY": "Bearer s3cret", "N": "7"}, ("s3cret",))
    with pytest.raises(RetrieverFailed, match=r"`retriever.env.KEY` needs the variable SEARCH_KEY"):
        filled(env, {}, "retriever.env")
