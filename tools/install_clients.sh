#!/bin/bash
# Fetches the clients of other projects that the server is tested with, at the versions below, into a folder of their
# own, and prints it. Nothing happens, quickly, when they are there.
#   tools/install_clients.sh [FOLDER]    default: build/clients of this checkout
set -euo pipefail
versions=(openai==3.57.0 webuiapi==0.9.17 schemathesis==4.32.5)

folder=${1:-$(cd "$(dirname "$0")/.." && pwd)/build/clients}
if [[ $(cat "$folder/installed" 2>/dev/null) != "${versions[*]}" ]]; then
  python3 -m venv "$folder" >&2
  "$folder/bin/pip" install --quiet --disable-pip-version-check "${versions[@]}" >&2
  echo "${versions[*]}" >"$folder/installed"
fi
echo "$folder"
