#!/usr/bin/env bash
# Size and time of the base install (no extras) in an empty environment: sh benchmarks/install.sh
set -euo pipefail
cd "$(dirname "$0")/.."
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
before=$(du -sm "$folder/env" | cut -f1)
start=$(date +%s.%N)
"$folder/env/bin/python" -m pip install --quiet --disable-pip-version-check .
end=$(date +%s.%N)
after=$(du -sm "$folder/env" | cut -f1)
echo "base install: $((after - before)) MB beside pip's own $before MB, $(echo "$end - $start" | bc) s"
"$folder/env/bin/python" -m pip list --format=freeze --disable-pip-version-check
