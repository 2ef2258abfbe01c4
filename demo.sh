#!/usr/bin/env bash
# Creates .venv, installs kbserver with a compiler, and runs the main job through a real MCP client session.
set -euo pipefail
cd "$(dirname "$0")"
. tools/venv.sh
prepare_venv '.[compile,emulate]'
exec "$VENV/bin/kb" demo
