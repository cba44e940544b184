#!/bin/sh
# make_venv.sh DIRECTORY [PYTHON]: a virtual environment made with PYTHON, or with the first Python >= 3.11 found.
set -eu
directory=$1
shift

new_enough() {
    "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1
}

python=
for candidate in "${@:-python3}" python3.13 python3.12 python3.11 python3.14 python; do
    if new_enough "$candidate"; then
        python=$candidate
        break
    fi
    if [ $# -gt 0 ]; then
        echo "PYTHON=$1 is not a Python 3.11 or newer." >&2
        exit 1
    fi
done
if [ -z "$python" ]; then
    echo "No Python 3.11 or newer was found. Install one, or name it: make PYTHON=/path/to/python3" >&2
    exit 1
fi

# Debian ships Python without ensurepip; `-m venv` then leaves half an environment behind.
if "$python" -c 'import ensurepip' >/dev/null 2>&1; then
    exec "$python" -m venv --clear "$directory"
fi
if "$python" -m virtualenv --version >/dev/null 2>&1; then
    exec "$python" -m virtualenv --quiet --clear "$directory"
fi
echo "$("$python" --version) here can make no virtual environment. Install its venv module" \
    "(Debian, Ubuntu: apt-get install python3-venv) or virtualenv, then try again." >&2
exit 1
