"""An archive at an address: cut, resumed, slow, replaced, redirected, too large; and secrets that stay with one host."""

import hashlib
import json
import time

import pytest

from gate.errors import InvalidInput, SnapshotUnavailable
from gate.snapshot import download
from gate.snapshot.download import Download, Wanted
from gate.snapshot.verify import verify
from tests.snapshot.sources import Host, Naps, digest_of, files_of, obtained, settings_of, tar_bytes


@pytest.fixture
def packed(snapshot):
    return tar_bytes(files_of(snapshot, "snapshot/"))


def https(snapshot, data: bytes, host, path="/s.tar.gz", **more):
    return settings_of(digest_of(snapshot), https={"url": host.url + path, "sha256": hashlib.sha256(data).hexdigest(), **more})


def refused(kind, *arguments, **more):
    with pytest.raises(kind) as caught:
        obtained(*arguments, **more)
    assert caught.value.exit_code == (2 if kind is InvalidInput else 3)
    return caught.value


def test_an_archive_is_fetched_verified_and_kept_under_its_digest(snapshot, packed, host, tmp_path):
    host.put("/s.tar.gz", packed)
    found = obtained(https(snapshot, packed, host), tmp_path / "c")
    assert found.how == "fetched" and found.path == tmp_path / "c" / "snapshots" / digest_of(snapshot)[7:]
    assert files_of(found.path) == files_of(snapshot) and verify(found.path, digest_of(snapshot))
    assert not list((tmp_path / "c" / "snapshots" / "downloads").iterdir())


def test_a_second_run_and_another_configuration_do_not_ask_again(snapshot, packed, host, tmp_path):
    host.put("/s.tar.gz", packed)
    obtained(https(snapshot, packed, host), tmp_path / "c")
    assert obtained(https(snapshot, packed, host, "/elsewhere"), tmp_path / "c").how == "cache" and len(host.asked) == 1


@pytest.mark.parametrize("folder", ["", "a/", "./"])
def test_one_folder_around_everything_is_taken_off(snapshot, host, tmp_path, folder):
    data = tar_bytes(files_of(snapshot, folder))
    host.put("/s.tar.gz", data)
    assert files_of(obtained(https(snapshot, data, host), tmp_path / "c").path) == files_of(snapshot)


def test_a_download_that_is_cut_goes_on_where_it_was(snapshot, packed, host, tmp_path):
    shelf, naps = host.put("/s.tar.gz", packed, cuts=[300, 200]), Naps()
    assert obtained(https(snapshot, packed, host), tmp_path / "c", naps).how == "fetched"
    assert [headers.get("range") for _, headers in host.asked] == [None, "bytes=300-", "bytes=500-"]
    assert {headers.get("if-range") for _, headers in host.asked[1:]} == {shelf.etag} and naps == [1.0, 1.0]


def test_a_server_that_hands_out_less_than_the_rest_is_asked_for_more(snapshot, packed, host, tmp_path):
    host.put("/s.tar.gz", packed, cuts=[300, len(packed), 300], most=max(400, len(packed) // 3))
    assert obtained(https(snapshot, packed, host), tmp_path / "c").how == "fetched"
    assert [headers.get("range") for _, headers in host.asked][:2] == [None, "bytes=300-"] and 3 <= len(host.asked) <= 6


def test_what_another_run_had_got_is_used_by_the_next(snapshot, packed, host, tmp_path):
    shelf = host.put("/s.tar.gz", packed, cuts=[1000, 0, 0, 0, 0, 0])
    settings = https(snapshot, packed, host)
    error = refused(SnapshotUnavailable, settings, tmp_path / "c")
    assert "broke off after 1000 bytes" in error.problems[0]
    host.asked.clear()
    shelf.cuts.clear()
    obtained(settings, tmp_path / "c")
    assert host.asked[0][1]["range"] == "bytes=1000-"


def test_a_file_that_was_replaced_meanwhile_is_fetched_from_the_start(snapshot, packed, host, tmp_path):
    shelf = host.put("/s.tar.gz", b"x" * len(packed), cuts=[1000])
    naps = Naps()

    def replaced(seconds):
        naps.append(seconds)
        shelf.data, shelf.etag = packed, '"v2"'

    assert obtained(https(snapshot, packed, host), tmp_path / "c", replaced).how == "fetched" and len(host.asked) == 2


def test_a_server_that_calls_two_versions_the_same_is_asked_once_more_for_the_whole(snapshot, packed, host, tmp_path):
    shelf = host.put("/s.tar.gz", b"x" * len(packed), cuts=[1000])

    def replaced(seconds):
        shelf.data = packed

    assert obtained(https(snapshot, packed, host), tmp_path / "c", replaced).how == "fetched"
    assert [headers.get("range") for _, headers in host.asked] == [None, "bytes=1000-", None]


@pytest.mark.parametrize("etag", [None, 'W/"weak"'])
def test_without_a_strong_version_nothing_is_resumed(snapshot, packed, host, tmp_path, etag):
    host.put("/s.tar.gz", packed, cuts=[1000], etag=etag)
    obtained(https(snapshot, packed, host), tmp_path / "c")
    assert [headers.get("range") for _, headers in host.asked] == [None, None]


def test_another_file_is_named_with_both_digests(snapshot, packed, host, tmp_path):
    host.put("/s.tar.gz", packed + b"\0")
    error = refused(InvalidInput, https(snapshot, packed, host), tmp_path / "c")
    assert hashlib.sha256(packed).hexdigest() in error.text() and hashlib.sha256(packed + b"\0").hexdigest() in error.text()
    assert len(host.asked) == 1 and not (tmp_path / "c" / "snapshots" / digest_of(snapshot)[7:]).exists()


def test_another_snapshot_in_the_right_archive_is_named_with_both_digests(snapshot, packed, host, tmp_path):
    host.put("/s.tar.gz", packed)
    pin = "sha256:" + "0" * 64
    settings = settings_of(pin, https={"url": f"{host.url}/s.tar.gz", "sha256": hashlib.sha256(packed).hexdigest()})
    error = refused(InvalidInput, settings, tmp_path / "c")
    assert f"{host.url}/s.tar.gz: is snapshot {digest_of(snapshot)}, but the configuration pins {pin}" in error.text()
    assert str(tmp_path) not in error.text()


def test_a_file_that_differs_from_the_manifest_is_named_by_where_it_came_from(snapshot, host, tmp_path):
    files = files_of(snapshot, "s/")
    files["s/units.jsonl"] += b"\n"
    data = tar_bytes(files)
    host.put("/s.tar.gz", data)
    error = refused(InvalidInput, https(snapshot, data, host), tmp_path / "c")
    assert f"{host.url}/s.tar.gz, units.jsonl: differs from the manifest" in error.text() and str(tmp_path) not in error.text()


def test_an_archive_without_a_snapshot_says_so(snapshot, host, tmp_path):
    data = tar_bytes({"a/readme": b"x", "b/readme": b"x"})
    host.put("/s.tar.gz", data)
    assert "has no manifest.json at its top" in refused(InvalidInput, https(snapshot, data, host), tmp_path / "c").text()


def test_a_server_in_trouble_is_asked_again_with_growing_pauses(snapshot, packed, host, tmp_path):
    host.put("/s.tar.gz", packed, statuses=[(503, {}), (429, {"Retry-After": "7"}), (403, {"Retry-After": "9"}),
                                                 (502, {})])
    naps = Naps()
    obtained(https(snapshot, packed, host), tmp_path / "c", naps)
    assert naps == [2.0, 7.0, 9.0, 16.0]


def test_a_server_that_stays_in_trouble_cannot_decide(snapshot, packed, host, tmp_path):
    host.put("/s.tar.gz", packed, statuses=[(503, {})] * 9)
    assert "answered 503" in refused(SnapshotUnavailable, https(snapshot, packed, host), tmp_path / "c").text() and len(host.asked) == 5


@pytest.mark.parametrize(("status", "words"), [(404, "see that it is still there"), (403, "credentials"), (418, "address")])
def test_a_refusal_is_not_asked_again(snapshot, packed, host, tmp_path, status, words):
    host.put("/s.tar.gz", packed, statuses=[(status, {})])
    error = refused(SnapshotUnavailable, https(snapshot, packed, host), tmp_path / "c")
    assert f"answered {status}" in error.text() and words in error.cure and len(host.asked) == 1


def test_nobody_there_cannot_decide(snapshot, packed, host, tmp_path):
    settings = https(snapshot, packed, host)
    host.stop()
    assert "no answer from 127.0.0.1" in refused(SnapshotUnavailable, settings, tmp_path / "c").text()


def test_a_length_that_promises_more_than_comes_cannot_decide(snapshot, packed, host, tmp_path):
    host.put("/s.tar.gz", packed, promise=10, ranges=False)
    assert "broke off" in refused(SnapshotUnavailable, https(snapshot, packed, host), tmp_path / "c").text()


def test_a_length_that_promises_less_gives_another_file(snapshot, packed, host, tmp_path):
    host.put("/s.tar.gz", packed, promise=-10)
    assert hashlib.sha256(packed[:-10]).hexdigest() in refused(InvalidInput, https(snapshot, packed, host), tmp_path / "c").text()


def test_without_a_length_a_cut_is_noticed_by_the_digest_and_asked_for_once_more(snapshot, packed, host, tmp_path):
    host.put("/s.tar.gz", packed, length=False, cuts=[1000])
    assert obtained(https(snapshot, packed, host), tmp_path / "c").how == "fetched" and len(host.asked) == 2


@pytest.mark.parametrize("length", [True, False])
def test_more_than_is_allowed_is_refused_before_or_while_it_comes(snapshot, host, tmp_path, length):
    data = b"\0" * (2 * 1024**2)
    host.put("/s.tar.gz", data, length=length)
    error = refused(InvalidInput, https(snapshot, data, host, max_mb=1), tmp_path / "c")
    assert "is larger than `max_mb` allows (1 MB)" in error.text() and not list((tmp_path / "c/snapshots/downloads").iterdir())


def test_a_server_that_trickles_is_given_up_and_what_came_is_kept(host, tmp_path):
    host.put("/s", b"x" * 100, piece=10, pause=0.02)
    ticks = iter(range(0, 100_000, 1000))
    with pytest.raises(SnapshotUnavailable, match="has not come within 60 minutes"):
        Download(Wanted(f"{host.url}/s", "s", 10_000), tmp_path / "part", sleep=Naps(), clock=lambda: float(next(ticks))).run()
    assert 0 < len((tmp_path / "part").read_bytes()) < 100


class TestSecrets:
    def settings(self, snapshot, packed, host, **more):
        return https(snapshot, packed, host, headers={"Authorization": "Bearer ${STORE_KEY}", "X-Team": "search"}, **more)

    def test_headers_are_sent_with_their_secrets(self, snapshot, packed, host, tmp_path):
        host.put("/s.tar.gz", packed)
        obtained(self.settings(snapshot, packed, host), tmp_path / "c", variables={"STORE_KEY": "s3cr3t"})
        assert host.asked[0][1]["authorization"] == "Bearer s3cr3t" and host.asked[0][1]["x-team"] == "search"

    def test_a_redirect_within_the_host_keeps_them_and_one_to_another_does_not(self, snapshot, packed, host, tmp_path):
        other = Host()
        try:
            other.put("/end.tar.gz", packed)
            host.put("/s.tar.gz", b"", statuses=[(302, {"Location": "/moved"})])
            host.put("/moved", b"", statuses=[(307, {"Location": f"{other.url}/end.tar.gz?sig=abc"})])
            obtained(self.settings(snapshot, packed, host), tmp_path / "c", variables={"STORE_KEY": "s3cr3t"})
            assert host.asked[1][1]["authorization"] == "Bearer s3cr3t"
            assert "authorization" not in other.asked[0][1] and "x-team" not in other.asked[0][1]
        finally:
            other.stop()

    def test_they_do_not_come_back_when_the_other_host_sends_back(self, snapshot, packed, host, tmp_path):
        other = Host()
        try:
            host.put("/s.tar.gz", b"", statuses=[(302, {"Location": f"{other.url}/back"})])
            other.put("/back", b"", statuses=[(302, {"Location": f"{host.url}/end"})])
            host.put("/end", packed)
            obtained(self.settings(snapshot, packed, host), tmp_path / "c", variables={"STORE_KEY": "s3cr3t"})
            assert host.asked[-1][0] == "/end" and "authorization" not in host.asked[-1][1]
        finally:
            other.stop()

    def test_a_missing_secret_cannot_decide_and_nothing_is_asked(self, snapshot, packed, host, tmp_path):
        with pytest.raises(Exception, match="needs the variable STORE_KEY") as caught:
            obtained(self.settings(snapshot, packed, host), tmp_path / "c")
        assert caught.value.exit_code == 3 and not host.asked

    def test_one_that_no_header_can_hold_is_not_shown(self, snapshot, packed, host, tmp_path):
        with pytest.raises(SnapshotUnavailable) as caught:
            obtained(self.settings(snapshot, packed, host), tmp_path / "c", variables={"STORE_KEY": "a\nb-s3cr3t"})
        assert "s3cr3t" not in caught.value.text() and not host.asked

    def test_a_netrc_is_not_read(self, snapshot, packed, host, tmp_path, monkeypatch):
        (tmp_path / "netrc").write_text("machine 127.0.0.1 login a password b\n")
        monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
        host.put("/s.tar.gz", packed)
        obtained(https(snapshot, packed, host), tmp_path / "c")
        assert "authorization" not in host.asked[0][1]

    def test_the_query_of_an_address_is_in_no_message(self, snapshot, packed, host, tmp_path):
        error = refused(SnapshotUnavailable, https(snapshot, packed, host, "/none?sig=s3cr3t"), tmp_path / "c")
        assert "s3cr3t" not in error.text() and f"{host.url}/none: the server answered 404" in error.text()


@pytest.mark.parametrize("target", ["http://example.invalid/x", "file:///etc/passwd", "ftp://127.0.0.1/x", "//", "http://[", ""])
def test_only_https_and_this_machine_are_followed(snapshot, packed, host, tmp_path, target):
    host.put("/s.tar.gz", packed, statuses=[(302, {"Location": target})] * 7)
    error = refused(SnapshotUnavailable, https(snapshot, packed, host), tmp_path / "c")
    assert "only https is followed" in error.text() or "redirects more than" in error.text()


def test_the_body_of_a_redirect_is_not_read(snapshot, packed, host, tmp_path):
    host.put("/s.tar.gz", b"", statuses=[(302, {"Location": "/moved", "Content-Length": str(10**12)})])
    host.put("/moved", packed)
    began = time.monotonic()
    assert obtained(https(snapshot, packed, host), tmp_path / "c").how == "fetched" and time.monotonic() - began < 20


def test_a_circle_of_redirects_ends(snapshot, packed, host, tmp_path):
    host.put("/s.tar.gz", packed, statuses=[(302, {"Location": "/s.tar.gz"})] * 20)
    assert "redirects more than 5 times" in refused(SnapshotUnavailable, https(snapshot, packed, host), tmp_path / "c").text()


def test_an_https_address_never_leads_to_http(tmp_path):
    class Answer:
        status_code, headers = 302, {"Location": "http://127.0.0.1/x"}

        def close(self):
            pass

    class Session:
        def get(self, url, **how):
            assert url == "https://example.invalid/s"
            return Answer()

    with pytest.raises(SnapshotUnavailable, match="redirects to http://127.0.0.1, and only https is followed"):
        Download(Wanted("https://example.invalid/s", "s", 10), tmp_path / "part", sleep=Naps(), session=Session()).run()


def test_content_that_the_server_says_it_has_packed_is_taken_as_it_travels(snapshot, packed, host, tmp_path):
    host.put("/s.tar.gz", packed, headers={"Content-Encoding": "gzip"})
    assert obtained(https(snapshot, packed, host), tmp_path / "c").how == "fetched"


@pytest.mark.parametrize("note", [b"", b"[]", b"{", b'{"etag": 3}', b'{"etag": "v1"}', b'{"etag": "\\"v1\\"\\r\\nX: y"}'])
def test_a_strange_note_beside_a_partial_download_means_a_new_start(snapshot, packed, host, tmp_path, note):
    downloads = tmp_path / "c" / "snapshots" / "downloads"
    downloads.mkdir(parents=True)
    (downloads / f"{digest_of(snapshot)[7:]}.part").write_bytes(b"zzz")
    (downloads / f"{digest_of(snapshot)[7:]}.part.json").write_bytes(note)
    host.put("/s.tar.gz", packed)
    assert obtained(https(snapshot, packed, host), tmp_path / "c").how == "fetched" and "range" not in host.asked[0][1]


def test_a_link_in_the_place_of_a_partial_download_is_not_followed(snapshot, packed, host, tmp_path):
    downloads = tmp_path / "c" / "snapshots" / "downloads"
    downloads.mkdir(parents=True)
    victim = tmp_path / "victim"
    victim.write_text("mine")
    part = downloads / f"{digest_of(snapshot)[7:]}.part"
    part.symlink_to(victim)
    part.with_name(part.name + ".json").write_text(json.dumps({"etag": '"v1"'}))
    host.put("/s.tar.gz", packed)
    obtained(https(snapshot, packed, host), tmp_path / "c")
    assert victim.read_text() == "mine"


def test_a_full_disk_cannot_decide(snapshot, packed, host, tmp_path, monkeypatch):
    def full(*arguments, **more):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(download, "open", full, raising=False)
    host.put("/s.tar.gz", packed)
    error = refused(SnapshotUnavailable, https(snapshot, packed, host), tmp_path / "c")
    assert "No space left on device" in error.text() and "RETRIEVAL_GATE_CACHE" in error.cure
