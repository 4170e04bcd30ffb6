#!/bin/bash
# tools/build.sh PRESET[@FOLDER] [cmake -D options...] -- TARGET...
# Configures and builds into build/FOLDER (default: the preset's name) when a source is newer than the last build;
# otherwise returns at once. Quiet unless something fails: the progress is one line on a terminal, elsewhere a line for
# every tenth.
set -euo pipefail
cd "$(dirname "$0")/.."
preset=${1%@*} folder=build/${1#*@}; shift
options=()
while [[ ${1:---} != -- ]]; do options+=("$1"); shift; done
shift || true
stamp=$folder/.built log=$folder/build.log
what="$preset ${options[*]} -- $*"

up_to_date() {  # folders are looked at too: a file that was deleted changes its folder's time
  [[ -e $stamp && $(<"$stamp") == "$what" ]] &&
    [[ -z $(find CMakeLists.txt CMakePresets.json cmake src include apps tests bench fuzz \
              -newer "$stamp" -print -quit 2>/dev/null) ]]
}
up_to_date && exit 0

mkdir -p "$folder"
exec 9>"$folder/.lock"  # of two calls at once, the second waits for the first
flock 9
up_to_date && exit 0

build() {
  cmake --preset "$preset" -B "$folder" "${options[@]}" &&
    NINJA_STATUS='[%f/%t] ' cmake --build "$folder" ${GESSO_JOBS:+-j "$GESSO_JOBS"} --target "$@"
}
progress() {
  awk -v live="$([[ -t 2 && ${TERM:-dumb} != dumb ]] && echo 1 || echo 0)" -F '[][/]' '
    /^\[[0-9]+\/[0-9]+\]/ {
      if (live) { printf "\r\033[K%.78s", $0; fflush(); drawn = 1 }
      else if ($3 >= 20 && int(10 * $2 / $3) > tenth) {
        tenth = int(10 * $2 / $3); print "gesso: built " $2 " of " $3; fflush()
      }
    }
    END { if (drawn) printf "\r\033[K" }' >&2
}
[[ -e $stamp ]] || echo "gesso: building into $folder; the first time takes a few minutes" >&2
touch "$folder/.started"  # what is edited while the build runs is newer than this
if ! build "$@" 2>&1 9>&- | tee "$log" | progress; then
  grep -E -A12 'FAILED:|error:|CMake Error' "$log" | head -n 60 >&2 || tail -n 30 "$log" >&2
  echo "gesso: the build failed; everything it said is in $log" >&2
  exit 1
fi
echo "$what" >"$stamp"
touch -r "$folder/.started" "$stamp"
