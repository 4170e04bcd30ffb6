#!/bin/bash
# Installs what building Gesso needs on Debian and Ubuntu; nothing happens, quickly, when all of it is there.
#   tools/install_dependencies.sh [run|test|ci]    to run (default), to test too, or all that CI uses
set -euo pipefail

# ocl-icd-opencl-dev: oneDNN's CMake files ask for OpenCL, which its package only recommends.
run=(build-essential cmake ninja-build pkg-config ccache libdnnl-dev ocl-icd-opencl-dev libhwy-dev nlohmann-json3-dev libcli11-dev
     libfmt-dev libpng-dev libjpeg62-turbo-dev libwebp-dev zlib1g-dev libutf8proc-dev libboost1.81-dev)
tests=(libgtest-dev libgmock-dev libpcre2-dev python3)
ci=(clang-14 libclang-rt-14-dev clang-format-14 git chromium chromium-driver fonts-dejavu-core python3-venv)

case "${1:-run}" in
  run) wanted=("${run[@]}") ;;
  test) wanted=("${run[@]}" "${tests[@]}") ;;
  ci) wanted=("${run[@]}" "${tests[@]}" "${ci[@]}") ;;
  *) echo "usage: $0 [run|test|ci]" >&2; exit 2 ;;
esac

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
  echo "no apt on this system: please see that these are installed: ${wanted[*]}" >&2
  exit 0
fi

# Ubuntu has its own names for the JPEG library and Boost, and Chromium only as a snap: the browser's tests are skipped.
. /etc/os-release
if [[ ${ID:-} == ubuntu ]]; then
  for i in "${!wanted[@]}"; do
    if [[ ${wanted[i]} == chromium* ]]; then unset 'wanted[i]'; continue; fi
    if [[ ${wanted[i]} == libjpeg62-turbo-dev ]]; then wanted[i]=libjpeg-dev; fi
    if [[ ${wanted[i]} == libboost1.81-dev ]]; then wanted[i]=libboost-dev; fi
  done
fi

installed=$(dpkg-query -W -f='${Package}=${db:Status-Status};' "${wanted[@]}" 2>/dev/null || true)
missing=()
for package in "${wanted[@]}"; do
  [[ ";$installed" == *";$package=installed;"* ]] || missing+=("$package")
done
[[ ${#missing[@]} -eq 0 ]] && exit 0

as_root=()
if [[ $(id -u) -ne 0 ]]; then
  command -v sudo >/dev/null || { echo "not root and no sudo: install these first: ${missing[*]}" >&2; exit 1; }
  as_root=(sudo)
fi
echo "gesso: installing with apt: ${missing[*]}" >&2
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! { "${as_root[@]}" apt-get update &&
       "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "${missing[@]}"
     } >"$log" 2>&1; then
  tail -n 20 "$log" >&2
  echo "gesso: apt could not install what is missing; see above" >&2
  exit 1
fi
