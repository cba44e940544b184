from __future__ import annotations

import http.server
import subprocess
import sys
import threading
import traceback

import pytest

from gate.errors import GitHubError, InvalidInput
from gate.github import failures
from gate.github.transport import Transport

ME = "/repos/acme/search"


def test_every_request_says_who_asks_and_which_api_it_means(fake, repo, connect):
    connect().get(ME)
    headers = fake.requests[-1].headers
    assert headers["user-agent"].startswith("retrieval-gate/")
    assert headers["accept"] == "application/vnd.github+json"
    assert headers["x-github-api-version"] == "2022-11-28"
    assert headers["authorization"].startswith("Bearer ")


def test_all_pages_are_read_by_following_the_link(fake, repo, connect):
    pr = fake.open_pr(repo, "ann", {"a": "1"})
    for number in range(230):
        fake.comment(pr, "ann", f"comment {number}")
    found = list(connect().pages(f"{ME}/issues/{pr.number}/comments"))
    assert [item["body"] for item in found] == [f"comment {number}" for number in range(230)]
    assert len(fake.sent("GET", "/comments")) == 3


def test_a_list_longer_than_the_cap_is_an_error_not_a_short_list(fake, repo, connect):
    pr = fake.open_pr(repo, "ann", {"a": "1"})
    for number in range(101):
        fake.comment(pr, "ann", str(number))
    with pytest.raises(failures.TooMany, match="more than 100 items"):
        list(connect().pages(f"{ME}/issues/{pr.number}/comments", max_pages=1))


def test_the_next_page_is_asked_of_our_host_whatever_host_the_link_names(fake, repo, connect):
    pr = fake.open_pr(repo, "ann", {"a": "1"})
    fake.comment(pr, "ann", "second page")
    link = {"Link": '<https://evil.example/repositories/1/issues/1/comments?per_page=100&page=1>; rel="next"'}
    fake.fail_next("GET", "/comments", 200, headers=link, body=[{"body": "first page"}])
    assert [item["body"] for item in connect().pages(f"{ME}/issues/{pr.number}/comments")] == ["first page", "second page"]


@pytest.mark.parametrize("status", [500, 502, 503, 504])
def test_a_server_error_is_asked_again_with_growing_pauses(fake, repo, connect, naps, status):
    fake.fail_next("GET", ME, status, times=3)
    assert connect().get(ME)["full_name"] == "acme/search"
    assert naps == [1, 2, 4]


def test_a_server_error_that_stays_is_reported_after_five_attempts(fake, repo, connect, naps):
    fake.fail_next("GET", ME, 502, times=5)
    with pytest.raises(failures.ServerTrouble) as caught:
        connect().get(ME)
    assert caught.value.status == 502 and len(naps) == 4
    assert caught.value.cure


def test_a_dropped_connection_and_half_an_answer_are_asked_again(fake, repo, connect):
    fake.fail_next("GET", ME, drop=True)
    fake.fail_next("GET", ME, truncate=True)
    assert connect().get(ME)["full_name"] == "acme/search"


@pytest.mark.parametrize("status", [403, 429])
def test_retry_after_is_obeyed(fake, repo, connect, naps, status):
    fake.secondary_limit("GET", ME, retry_after=7, status=status)
    connect().get(ME)
    assert naps == [7]


def test_a_used_up_hour_is_waited_for_until_its_reset(fake, repo, connect, naps):
    headers = {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1030"}
    fake.fail_next("GET", ME, 403, headers=headers, body={"message": "API rate limit exceeded"})
    connect(clock=lambda: 1000.0).get(ME)
    assert naps == [31]


def test_a_secondary_limit_without_a_time_is_waited_for_a_minute_and_longer_each_time(fake, repo, connect, naps):
    fake.secondary_limit("GET", ME, retry_after=None, times=2)
    connect(max_wait=1000).get(ME)
    assert naps == [60, 120]


def test_a_limit_longer_than_the_patience_is_an_error_at_once(fake, repo, connect, naps):
    fake.secondary_limit("GET", ME, retry_after=3600)
    with pytest.raises(failures.RateLimited) as caught:
        connect().get(ME)
    assert caught.value.wait == 3600 and not naps


def test_the_patience_is_for_all_requests_together(fake, repo, connect, naps):
    transport = connect(max_wait=100)
    fake.secondary_limit("GET", ME, retry_after=60)
    transport.get(ME)
    fake.secondary_limit("GET", ME, retry_after=60)
    with pytest.raises(failures.RateLimited):
        transport.get(ME)
    assert naps == [60]


@pytest.mark.parametrize(
    "headers", [{}, {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "99"}], ids=["plain", "with the last request of the hour"]
)
def test_a_missing_permission_is_no_limit_and_is_not_asked_again(fake, repo, connect, naps, headers):
    accepted = {"X-Accepted-GitHub-Permissions": "contents=read"}
    fake.fail_next("GET", ME, 403, headers=headers | accepted, body={"message": "Resource not accessible by integration"})
    with pytest.raises(failures.Forbidden) as caught:
        connect().get(ME)
    assert not naps and len(fake.requests) == 1
    assert "contents=read" in caught.value.text()


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (401, failures.Unauthorized),
        (404, failures.NotFound),
        (409, failures.Conflict),
        (410, failures.Gone),
        (422, failures.Unprocessable),
        (501, failures.ServerTrouble),
    ],
)
def test_what_no_waiting_changes_is_a_typed_error_at_once(fake, repo, connect, naps, status, kind):
    fake.fail_next("GET", ME, status, body={"message": "no"})
    with pytest.raises(kind) as caught:
        connect().get(ME)
    assert isinstance(caught.value, GitHubError) and caught.value.status == status and not naps


def test_the_errors_of_a_422_are_told(fake, repo, connect):
    errors = [{"resource": "IssueComment", "code": "unprocessable", "field": "data", "message": "Body is too long"}, "plain text"]
    fake.fail_next("GET", ME, 422, body={"message": "Validation Failed", "errors": errors})
    with pytest.raises(failures.Unprocessable, match="Body is too long") as caught:
        connect().get(ME)
    assert caught.value.errors[1] == "plain text"


def test_a_post_is_not_repeated_when_it_may_have_taken_effect(fake, repo, connect, naps):
    pr = fake.open_pr(repo, "ann", {"a": "1"})
    path = f"{ME}/issues/{pr.number}/comments"
    for fault in ({"status": 502}, {"drop": True}):
        fake.fail_next("POST", path, **fault)
        with pytest.raises(failures.ServerTrouble) as caught:
            connect().request("POST", path, json={"body": "x"})
        assert caught.value.sent
    assert not naps and not pr.comments


def test_a_post_refused_by_a_limit_is_repeated(fake, repo, connect, naps):
    pr = fake.open_pr(repo, "ann", {"a": "1"})
    fake.secondary_limit("POST", "/comments", retry_after=3)
    connect().request("POST", f"{ME}/issues/{pr.number}/comments", json={"body": "x"})
    assert naps == [3] and len(pr.comments) == 1


def test_a_post_that_never_left_is_repeated(naps):
    transport = Transport("http://127.0.0.1:9", "t", sleep=naps, random=lambda: 0.0)
    with pytest.raises(failures.ServerTrouble) as caught:
        transport.request("POST", "/x", json={})
    assert not caught.value.sent and naps == [1, 2, 4, 8]


def test_something_that_is_not_json_is_trouble_with_a_cure(fake, repo, connect):
    fake.fail_next("GET", ME, 200, body="<html>log in</html>")
    with pytest.raises(failures.ServerTrouble, match="not JSON"):
        connect().get(ME)


def test_an_endless_answer_is_cut_off(fake, repo, connect, naps):
    fake.fail_next("GET", ME, 200, body=b"x" * 5000)
    with pytest.raises(failures.ServerTrouble, match="larger than the gate reads"):
        connect().request("GET", ME, limit=1000)
    assert not naps


# -- the token ----------


def test_the_token_is_in_no_repr_error_or_traceback(fake, repo):
    secret = "ghs_verySecretValue123"
    fake.token(secret, permissions={})
    transport = Transport(fake.url, secret, sleep=lambda _: None)
    fake.fail_next("GET", "/x", 403, body={"message": f"echo {secret}"})
    texts = [repr(transport), repr(vars(transport))]
    for path in ("/x", "/nothing"):
        try:
            transport.get(path)
        except GitHubError as error:
            texts += [str(error), repr(error), error.text(), "".join(traceback.format_exception(error))]
    assert len(texts) > 4 and not any(secret in text for text in texts)
    fake.unexpected.clear()


@pytest.mark.parametrize("token", ["two\nlines", "a b", "kä", "x\x7f"])
def test_a_token_that_cannot_be_one_is_refused_without_being_shown(token):
    with pytest.raises(InvalidInput) as caught:
        Transport("https://api.github.com", token)
    assert token not in caught.value.text()


def test_blanks_around_the_token_do_not_matter(fake, repo):
    assert Transport(fake.url, f" {fake.job_token}\n").get(ME)


def test_a_netrc_file_does_not_replace_the_token(fake, repo, connect, tmp_path, monkeypatch):
    (tmp_path / ".netrc").write_text("machine 127.0.0.1 login a password b\n")
    monkeypatch.setenv("NETRC", str(tmp_path / ".netrc"))
    connect().get(ME)
    assert fake.requests[-1].headers["authorization"].startswith("Bearer")


@pytest.fixture
def elsewhere():
    """Another host that notes what headers reach it."""
    seen = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            seen.append(dict(self.headers))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *args):
            pass

    server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", seen
    server.shutdown()
    server.server_close()


def test_a_redirect_to_another_host_is_not_followed(fake, repo, connect, elsewhere):
    url, seen = elsewhere
    fake.fail_next("GET", ME, 302, headers={"Location": f"{url}/x"})
    with pytest.raises(failures.Redirected):
        connect().get(ME)
    assert not seen


def test_a_redirect_on_the_same_host_is_followed(fake, repo, connect):
    fake.fail_next("GET", "/repos/acme/old", 301, headers={"Location": f"/repositories/{repo.id}"})
    assert connect().get("/repos/acme/old")["full_name"] == "acme/search"


def test_an_address_of_another_host_is_never_asked(connect, elsewhere):
    url, seen = elsewhere
    with pytest.raises(failures.Redirected):
        connect().get(f"{url}/x")
    assert not seen


@pytest.mark.parametrize("url", ["", "ftp://x", "https://user:pass@host", "api.github.com"])
def test_an_api_address_that_is_none_is_refused(url):
    with pytest.raises(InvalidInput, match="GITHUB_API_URL"):
        Transport(url, "t")


def test_importing_the_client_does_not_import_requests():
    modules = "gate.github.transport, gate.github.comments, gate.github.artifact_upload"
    code = f"import sys, {modules}; sys.exit('requests' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
