#!/bin/sh
# The tests of the compiled core under AddressSanitizer and UndefinedBehaviorSanitizer, in a build of its own.
# usage: tools/sanitize.sh PYTHON [arguments of pytest]
set -eu
python=$(realpath -s "$1")
shift
root=$(cd "$(dirname "$0")/.." && pwd)
build=$root/build/sanitize
command -v g++ >/dev/null || { echo "make sanitize needs g++ with its sanitizers: skipped"; exit 0; }

cmake -G Ninja -S "$root" -B "$build" -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_COMPILER=g++ -DPython_EXECUTABLE="$python" \
    -DSEMINORM_SANITIZE=ON >/dev/null
cmake --build "$build" | tail -1

# the package beside the sanitized extension; `-S -E`: without the redirection of the editable installation
package=$build/package
rm -rf "$package"
mkdir -p "$package"
cp -r "$root/src/seminorm" "$package/seminorm"
cp "$build"/_native*.so "$package/seminorm/"
site=$("$python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')

export LD_PRELOAD="$(g++ -print-file-name=libasan.so) $(g++ -print-file-name=libubsan.so) $(g++ -print-file-name=libstdc++.so)"
export ASAN_OPTIONS=detect_leaks=0:halt_on_error=1 UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1 PYTHONMALLOC=malloc
export PYTHONPATH="$package:$root/tests:$site"
cd "$root"
exec "$python" -S -m pytest -q -p no:cacheprovider -p no:xdist --import-mode=importlib tests/native "$@"
