# The image of the action. The runner builds it with `docker build .` and no arguments.
#
# To pin the base by digest, read the digest of the tag where a registry can be reached and append it here:
#   docker buildx imagetools inspect python:3.13-slim-trixie --format '{{.Manifest.Digest}}'
#   ARG PYTHON_IMAGE=python:3.13-slim-trixie@sha256:…
ARG PYTHON_IMAGE=python:3.13-slim-trixie

FROM ${PYTHON_IMAGE} AS build
WORKDIR /opt/retrieval-gate
COPY requirements/runtime.txt /tmp/runtime.txt
# What numpy ships for its own tests and for building extensions against it is half of its files. Compiled code is
# never checked against its source again ("unchecked"): nothing in an image changes.
RUN pip install --no-cache-dir --no-compile --only-binary :all: --require-hashes --target lib -r /tmp/runtime.txt \
    && rm -rf lib/bin lib/numpy/f2py lib/numpy/_core/include lib/numpy/_core/lib lib/numpy/_core/_simd.* \
        lib/numpy/random/lib lib/numpy/random/_examples lib/numpy/_pyinstaller \
    && find lib -type d \( -name tests -o -name __pycache__ \) -prune -exec rm -rf {} + \
    && find lib -type f \( -name '*.pyi' -o -name '*.pxd' -o -name '*.pyx' -o -name '*.h' -o -name '*.c' \) -delete \
    && python -m compileall -q -j 0 --invalidation-mode unchecked-hash lib
COPY entrypoint.py ./
COPY gate ./gate
COPY templates ./templates
RUN python -m compileall -q -j 0 --invalidation-mode unchecked-hash gate entrypoint.py

FROM ${PYTHON_IMAGE}
LABEL org.opencontainers.image.title="Retrieval Gate" \
    org.opencontainers.image.description="Gates pull requests on retrieval quality"
COPY --from=build /opt/retrieval-gate/lib /opt/retrieval-gate/lib
# 1. The user that the pull request's retriever runs as. The gate itself stays root: the runner's mounts demand it.
# 2. Every Python of the image finds the libraries and the gate, so the retriever may use numpy and bm25s.
# 3. Official images carry no compiled standard library, and a container that is removed can never keep what it
#    compiles: without this every start compiles json, re, argparse and the rest again.
RUN groupadd --gid 10001 retriever \
    && useradd --uid 10001 --gid 10001 --no-log-init --no-create-home --home-dir /nonexistent \
        --shell /usr/sbin/nologin retriever \
    && python -c 'import pathlib, sysconfig; site = pathlib.Path(sysconfig.get_path("purelib")); \
site.mkdir(parents=True, exist_ok=True); \
(site / "retrieval-gate.pth").write_text("/opt/retrieval-gate/lib\n/opt/retrieval-gate\n")' \
    && python -m compileall -q -j 0 --invalidation-mode unchecked-hash \
        -x '/(site-packages|dist-packages|test|idlelib|tkinter|turtledemo|ensurepip|pydoc_data)/' \
        "$(python -c 'import sysconfig; print(sysconfig.get_path("stdlib"))')"
COPY --from=build /opt/retrieval-gate/entrypoint.py /opt/retrieval-gate/
COPY --from=build /opt/retrieval-gate/templates /opt/retrieval-gate/templates
COPY --from=build /opt/retrieval-gate/gate /opt/retrieval-gate/gate
# Executed directly, never through a shell: sh drops variables such as INPUT_MIN-QUERIES. -I: see entrypoint.py.
ENTRYPOINT ["/usr/local/bin/python", "-I", "-u", "-X", "utf8", "/opt/retrieval-gate/entrypoint.py"]
