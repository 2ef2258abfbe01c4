#!/usr/bin/env bash
# Creates .venv, installs kbserver with what the tests need, and runs them all. Arguments go to pytest.
set -euo pipefail
cd "$(dirname "$0")"
. tools/venv.sh
prepare_venv '.[compile,emulate,dev]'
# KB_TEST_TORCH names a PyTorch for the tests that compare with it; without one they are skipped and say so.
if [ -n "${KB_TEST_TORCH:-}" ]; then
  "$VENV/bin/python" -m pip install --quiet --disable-pip-version-check "$KB_TEST_TORCH"
fi
"$VENV/bin/ruff" check .
"$VENV/bin/ruff" format --check .
# Two processes finish in about half the time; more than eight would fill the memory of a laptop with compilers.
jobs=${KB_TEST_JOBS:-$(nproc)}
exec "$VENV/bin/python" -m pytest -n "$((jobs > 8 ? 8 : jobs))" --dist loadfile "$@"
