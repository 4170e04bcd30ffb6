#!/bin/bash
# fuzz/run.sh FOLDER SECONDS [TARGET...]: each fuzz target in FOLDER (all, or those named) from its seeds for so long, as
# many at once as there are processors. Says how many inputs each tried; what a target finds is left in FOLDER/found, and
# the exit code is not 0. What it learns stays in FOLDER/corpus for the next time.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
folder=$1 seconds=$2; shift 2
[[ $# -gt 0 ]] || set -- safetensors gguf zip checkpoint imatrix picture server_request

seeds_of() {
  case $1 in
    zip | checkpoint) echo "$root/tests/data/checkpoints" ;;
    *) [[ ! -d $root/fuzz/seeds/$1 ]] || echo "$root/fuzz/seeds/$1" ;;
  esac
}
fuzz() {
  local name=$1 log=$folder/$1.log seeds
  seeds=$(seeds_of "$name")
  mkdir -p "$folder/corpus/$name" "$folder/found"
  if "$folder/${name}_fuzz" -max_total_time="$seconds" -rss_limit_mb=1024 -malloc_limit_mb=256 -timeout=10 -max_len=65536 \
      -print_final_stats=1 -artifact_prefix="$folder/found/$name-" "$folder/corpus/$name" $seeds >"$log" 2>&1; then
    echo "$name: $(sed -n 's/^stat::number_of_executed_units: *//p' "$log") inputs in $seconds s, nothing found"
  else
    echo "$name: FOUND something; see $folder/found"
    tail -n 40 "$log"
    return 1
  fi
}
failed=0 running=0
for name in "$@"; do
  if [[ $running -ge $(nproc) ]]; then wait -n || failed=1; running=$((running - 1)); fi
  fuzz "$name" &
  running=$((running + 1))
done
for ((; running > 0; --running)); do wait -n || failed=1; done
exit $failed
