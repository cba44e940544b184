"""Releases, their assets, and the archive of a commit."""

from __future__ import annotations

import io
import tarfile
from typing import TYPE_CHECKING

from . import render
from .http_types import Answer, Request, Urls, iso, not_found
from .render import Json, node_id, repo_url
from .routes import CONTENTS_READ, find_repo, route
from .state import Asset, Release, Repo

if TYPE_CHECKING:
    from .fake import FakeGitHub

R = "/repos/{owner}/{repo}"


def _asset(item: Asset, of: Release, repo: Repo, urls: Urls) -> Json:
    return {
        "url": f"{repo_url(repo, urls)}/releases/assets/{item.id}",
        "browser_download_url": f"{urls.html}/{repo.full_name}/releases/download/{of.tag}/{item.name}",
        "id": item.id,
        "node_id": node_id("ReleaseAsset", item.id),
        "name": item.name,
        "label": None,
        "state": item.state,
        "content_type": "application/octet-stream",
        "size": len(item.data),
        "digest": item.digest,
        "download_count": 0,
        "created_at": iso(item.created_at),
        "updated_at": iso(item.created_at),
        "uploader": render.user(item.uploader, urls),
    }


def _release(item: Release, repo: Repo, urls: Urls) -> Json:
    api = f"{repo_url(repo, urls)}/releases/{item.id}"
    return {
        "url": api,
        "html_url": f"{urls.html}/{repo.full_name}/releases/tag/{item.tag}",
        "assets_url": f"{api}/assets",
        "upload_url": f"{api}/assets{{?name,label}}",
        "tarball_url": f"{repo_url(repo, urls)}/tarball/{item.tag}",
        "zipball_url": f"{repo_url(repo, urls)}/zipball/{item.tag}",
        "id": item.id,
        "node_id": node_id("Release", item.id),
        "tag_name": item.tag,
        "target_commitish": item.target,
        "name": item.tag,
        "body": None,
        "draft": item.draft,
        "prerelease": False,
        "created_at": iso(item.created_at),
        "published_at": iso(item.created_at),
        "author": render.user(item.author, urls),
        "assets": [_asset(asset, item, repo, urls) for asset in item.assets],
    }


@route("GET", R + "/releases/tags/{tag}", CONTENTS_READ)
def by_tag(fake: FakeGitHub, request: Request) -> Answer:
    repo = find_repo(fake, request)
    found = repo.releases.get(request.params["tag"])
    if found is None or found.draft:
        raise not_found()
    return Answer(json=_release(found, repo, request.links))


@route("GET", R + "/releases/assets/{asset_id}", CONTENTS_READ)
def get_asset(fake: FakeGitHub, request: Request) -> Answer:
    repo, wanted = find_repo(fake, request), int(request.params["asset_id"])
    for release in repo.releases.values():
        for asset in release.assets:
            if asset.id == wanted:
                if request.accept == "application/octet-stream":
                    return Answer(302, headers={"Location": fake.blobs.offer(asset.data, asset.name, request.links.blob)})
                return Answer(json=_asset(asset, release, repo, request.links))
    raise not_found()


@route("GET", R + "/tarball/{ref}", CONTENTS_READ)
def tarball(fake: FakeGitHub, request: Request) -> Answer:
    """As git makes it: a comment with the commit first, everything in one folder."""
    repo, ref = find_repo(fake, request), request.params["ref"]
    commit = repo.network.commits.get(repo.branches.get(ref, ref))
    if commit is None:
        raise not_found()
    folder, out = f"{repo.full_name.replace('/', '-')}-{commit.sha[:7]}", io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz", format=tarfile.PAX_FORMAT, pax_headers={"comment": commit.sha}) as archive:
        top = tarfile.TarInfo(folder)
        top.type, top.mode = tarfile.DIRTYPE, 0o755
        archive.addfile(top)
        for path, data in sorted(commit.files.items()):
            entry = tarfile.TarInfo(f"{folder}/{path}")
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return Answer(302, headers={"Location": fake.blobs.offer(out.getvalue(), f"{folder}.tar.gz", request.links.blob)})
