#!/usr/bin/env bash
# Creates .venv, installs kbserver with what the tests need, and runs them all. Arguments go to pytest.
set -euo pipefail
cd "$(dirname "$0")"
. tools/venv.sh
prepare_venv '.[compile,emulate,dev]'
"$VENV/bin/ruff" check .
"$VENV/bin/ruff" format --check .
exec "$VENV/bin/python" -m pytest "$@"
