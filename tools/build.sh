#!/bin/bash
# tools/build.sh PRESET [cmake -D options...] -- TARGET...
# Configures and builds into build/PRESET when a source is newer than the last build; otherwise returns at once. Quiet
# unless something fails; on a terminal one line shows the progress.
set -euo pipefail
cd "$(dirname "$0")/.."
preset=$1; shift
options=()
while [[ ${1:---} != -- ]]; do options+=("$1"); shift; done
shift || true
folder=build/$preset stamp=build/$preset/.built

up_to_date() {  # folders are looked at too: a file that was deleted changes its folder's time
  [[ -e $stamp && $(cat "$stamp") == "${options[*]} -- $*" ]] &&
    [[ -z $(find CMakeLists.txt CMakePresets.json cmake src include apps tests bench -newer "$stamp" -print -quit 2>/dev/null) ]]
}
up_to_date "$@" && exit 0

mkdir -p "$folder"
exec 9>"$folder/.lock"  # of two calls at once, the second waits for the first
flock 9
up_to_date "$@" && exit 0

log=$folder/build.log started=$folder/.started
touch "$started"  # what is edited while the build runs is newer than this
[[ -e $stamp ]] || echo "gesso: building into $folder; the first time takes a few minutes" >&2
if [[ -t 2 && -z ${CI:-} ]]; then show=(tee "$log"); else show=(dd "of=$log" status=none); fi
build() {
  cmake --preset "$preset" "${options[@]}" &&
    NINJA_STATUS='[%f/%t] ' cmake --build "$folder" ${GESSO_JOBS:+-j "$GESSO_JOBS"} --target "$@"
}
one_line() { awk '/^\[/ { printf "\r\033[K%.78s", $0; fflush() } END { printf "\r\033[K" }' >&2; }
if ! build "$@" 2>&1 | "${show[@]}" | { if [[ ${show[0]} == tee ]]; then one_line; else cat >/dev/null; fi; }; then
  grep -E -A12 'FAILED:|error:|CMake Error' "$log" | head -n 60 >&2 || tail -n 30 "$log" >&2
  echo "gesso: the build failed; everything it said is in $log" >&2
  exit 1
fi
echo "${options[*]} -- $*" >"$stamp"
touch -r "$started" "$stamp"
