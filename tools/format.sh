#!/bin/bash
# Formats every source with clang-format 14; with --check only says what is not formatted, and fails.
set -euo pipefail
cd "$(dirname "$0")/.."
format=$(command -v clang-format-14 || command -v clang-format) || { echo "clang-format-14 is not installed" >&2; exit 1; }
sources() {
  git ls-files -z --cached --others --exclude-standard '*.h' '*.cpp' '*.c' |
    while IFS= read -r -d '' file; do if [[ -e $file ]]; then printf '%s\0' "$file"; fi; done
}
if [[ ${1:-} == --check ]]; then
  bad=$(sources | xargs -0 -r -n 20 "$format" --dry-run 2>&1 | sed -nE 's/^([^ :]+):.*clang-format-violations.*/\1/p' | sort -u)
  [[ -z $bad ]] && exit 0
  echo "not formatted (run tools/format.sh):" $bad >&2
  exit 1
fi
sources | xargs -0 -r -n 20 "$format" -i
