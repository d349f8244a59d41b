#!/usr/bin/env bash
# run.sh -- installs the build into a temporary prefix and uses it from there: through CMake and pkg-config, shared and static, from
# C and C++; and checks which symbols the shared library exports.
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
here=$SOURCE_DIR/tests/install
warnings="-Wall -Wextra -Wpedantic -Werror"

fail()
{
    echo "$*" >&2
    exit 1
}

# 2n tr(XY) - tr X tr Y at X = Y = 1, n = 3
wanted="gl:3: form(1, 1) = 9.000000"
prints() # program, library folder
{
    local got
    got=$(LD_LIBRARY_PATH=${2:-} "$1") || fail "$1 failed"
    [ "$got" = "$wanted" ] || fail "$1 printed '$got', wanted '$wanted'"
}

needs_soname()
{
    readelf -d "$1" | grep -q 'NEEDED.*\[libreln\.so\.0\]'
}

cmake --install "$BUILD_DIR" --prefix "$work/first" >"$work/log" || fail "$(cat "$work/log")"

# A moved tree must work as well: nothing in it may remember where it was installed.
mv "$work/first" "$work/prefix"
pc=$(dirname "$(find "$work/prefix" -name reln.pc)")
lib=$(dirname "$pc")

# ---- what is exported ----

readelf -d "$lib/libreln.so" | grep -q 'SONAME.*\[libreln\.so\.0\]' || fail "SONAME is not libreln.so.0"
nm -D --defined-only "$lib/libreln.so" | awk '{ print $NF }' | LC_ALL=C sort >"$work/exported"
grep -v '^reln_' "$work/exported" && fail "symbols that do not begin with reln_"

# What the headers declare: after each RELN_API, the name before the first parenthesis, bracket or semicolon.
printf '#include <reln/reln.h>\n' >"$work/all.c"
"$CC" -std=c11 -E -P -I"$work/prefix/include" "$work/all.c" | tr '\n' ' ' |
    sed 's/__attribute__((visibility("default")))/\n@/g' |
    sed -n 's/^@[^[(;]*\b\(reln_[a-z0-9_]*\) *[[(;].*/\1/p' | LC_ALL=C sort >"$work/declared"
[ -s "$work/declared" ] || fail "no declarations found"
diff "$work/declared" "$work/exported" >"$work/difference" ||
    fail "declared (<) and exported (>) differ:" "$(cat "$work/difference")"

# ---- CMake ----

cmake -S "$here/consumer" -B "$work/cmake" -DCMAKE_PREFIX_PATH="$work/prefix" -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_C_FLAGS="$warnings" -DCMAKE_CXX_FLAGS="$warnings" >"$work/log" 2>&1 || fail "$(cat "$work/log")"
cmake --build "$work/cmake" >"$work/log" 2>&1 || fail "$(cat "$work/log")"
for language in c cpp; do
    prints "$work/cmake/shared_$language"
    prints "$work/cmake/static_$language"
    needs_soname "$work/cmake/shared_$language" || fail "reln::reln is not the shared library"
    needs_soname "$work/cmake/static_$language" && fail "reln::reln_static is not the static library"
done

# A version that we are not must not be found.
sed 's/find_package(reln 0.1 /find_package(reln 9.9 /' "$here/consumer/CMakeLists.txt" >"$work/CMakeLists.txt"
cp "$here"/consumer/main.* "$work"
cmake -S "$work" -B "$work/wrong" -DCMAKE_PREFIX_PATH="$work/prefix" >"$work/log" 2>&1 &&
    fail "CMake found a version 9.9"

# ---- pkg-config ----

link() # output, compiler and source, pkg-config options
{
    local flags
    flags=$(PKG_CONFIG_PATH=$pc pkg-config --cflags --libs ${3:-} reln)
    # shellcheck disable=SC2086
    $2 $warnings -o "$1" $flags
}

[ "$(PKG_CONFIG_PATH=$pc pkg-config --modversion reln)" = \
    "$(sed -n 's/^set(PACKAGE_VERSION "\(.*\)")/\1/p' "$lib/cmake/reln/relnConfigVersion.cmake")" ] ||
    fail "CMake and pkg-config disagree on the version"
link "$work/shared_c" "$CC $here/consumer/main.c"
link "$work/shared_cpp" "$CXX -std=c++17 $here/consumer/main.cpp"
prints "$work/shared_c" "$lib"
prints "$work/shared_cpp" "$lib"
needs_soname "$work/shared_c" || fail "pkg-config did not link the shared library"

# ---- MPI: the adapter's source, and the trainer over ranks ----

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
for mpi in mpich openmpi; do
    if ! command -v "mpicc.$mpi" >"$work/log" || ! command -v "mpirun.$mpi" >"$work/log"; then
        echo "run.sh: $mpi is not here: skipped"
        continue
    fi
    # gcc takes MPI's word for "no statuses" for an array of none
    link "$work/ranks" "env OMPI_CC=$CC MPICH_CC=$CC mpicc.$mpi -std=c11 -Wno-stringop-overflow -Wno-unknown-warning-option
        -I$work/prefix/share/reln/mpi $here/consumer/ranks.c $work/prefix/share/reln/mpi/reln_mpi.c"
    one=$(LD_LIBRARY_PATH=$lib timeout 100 "$work/ranks") || fail "$mpi: the program of one rank failed"
    many=$(LD_LIBRARY_PATH=$lib timeout 100 "mpirun.$mpi" -n 3 "$work/ranks") || fail "$mpi: the program of three ranks failed"
    [ -n "$one" ] && [ "$one" = "$many" ] || fail "$mpi: the last loss is '$one' of one rank, '$many' of three"
done

rm "$lib"/libreln.so*
link "$work/static_c" "$CC $here/consumer/main.c" --static
link "$work/static_cpp" "$CXX -std=c++17 $here/consumer/main.cpp" --static
prints "$work/static_c"
prints "$work/static_cpp"
