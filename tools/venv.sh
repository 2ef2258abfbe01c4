# Sourced by demo.sh and test.sh: finds a Python >= 3.11, creates .venv and installs into it.

VENV=.venv

find_python() {
  local name
  for name in "${PYTHON:-}" python3 python3.14 python3.13 python3.12 python3.11; do
    [ -n "$name" ] || continue
    if command -v "$name" >/dev/null 2>&1 &&
      "$name" -c 'import sys; raise SystemExit(sys.version_info < (3, 11))' 2>/dev/null; then
      command -v "$name"
      return 0
    fi
  done
  echo "kbserver needs Python >= 3.11: apt install python3 python3-venv, or set PYTHON=/path/to/python3" >&2
  return 2
}

prepare_venv() {
  local wanted=$1 python stamp
  if [ ! -x "$VENV/bin/python" ]; then
    python=$(find_python)
    if ! "$python" -m venv "$VENV"; then
      rm -rf "$VENV"
      echo "could not create $VENV: on Debian and Ubuntu run apt install python3-venv" >&2
      return 2
    fi
  fi
  # Installing again is skipped when neither the wish nor pyproject.toml has changed.
  stamp="$wanted $(cksum <pyproject.toml)"
  if [ "$(cat "$VENV/.installed" 2>/dev/null)" != "$stamp" ]; then
    "$VENV/bin/python" -m pip install --quiet --disable-pip-version-check -e "$wanted"
    printf '%s' "$stamp" >"$VENV/.installed"
  fi
}
