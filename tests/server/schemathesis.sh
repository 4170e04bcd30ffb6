#!/bin/bash
# Sends thousands of requests that follow /openapi.json, or just do not, to a server around the fake engine, and checks
# every answer against it. schemathesis is fetched from PyPI into a folder that is kept.
#   tests/server/schemathesis.sh [PROGRAM [EXAMPLES [SEED]]]    default: build/dev/tests/gesso_fake, 100 an operation, any
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
program=$(realpath "${1:-$root/build/dev/tests/gesso_fake}")
clients=$("$root/tools/install_clients.sh")

folder=$(mktemp -d)
trap 'kill "$server" 2>/dev/null || true; wait "$server" 2>/dev/null || true; rm -rf "$folder"' EXIT
mkdir "$folder/models"
for name in demo vae; do echo "a model" >"$folder/models/$name.safetensors"; done
cd "$folder"
"$program" serve --port 0 --models models --no-model --queue 1000 >log 2>&1 &
server=$!
for ((i = 0; i < 100; ++i)); do
  address=$(grep -oE 'http://[^ ]+' log || true)
  [[ -n $address ]] && break
  sleep 0.1
done
"$clients/bin/schemathesis" --config-file "$here/schemathesis.toml" run "${address}openapi.json" --max-examples "${2:-100}" \
  ${3:+--seed "$3"} --no-color --warnings off
kill -0 "$server"  # it lives
