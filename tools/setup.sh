#!/bin/sh
# setup.sh [long] -- install the Debian packages that the build needs and this machine lacks.
# With everything in place it asks dpkg once and does nothing more: no network, no root.
set -eu

packages="gcc g++ make cmake pkg-config libopenblas-pthread-dev libyaml-dev zlib1g-dev libhdf5-dev libsundials-dev"
# both MPIs, for the ranks of `make test`
packages="$packages openmpi-bin libopenmpi-dev mpich libmpich-dev"
packages="$packages libcmocka-dev libjansson-dev libmujoco-dev man-db"
if [ "${1:-}" = long ]; then
    packages="$packages clang clang-format clang-tidy libclang-rt-14-dev python3-clang ninja-build"
fi

if ! command -v dpkg-query >/dev/null; then
    echo "setup: no dpkg here, so nothing is installed; needed are (Debian names): $packages" >&2
    exit 0
fi

# dpkg-query fails when it does not know a name, and still lists the others.
# shellcheck disable=SC2086
installed=$(dpkg-query -W -f '${Package}=${db:Status-Status} ' $packages 2>/dev/null) || true
missing=
for package in $packages; do
    case " $installed" in
    *" $package=installed "*) ;;
    *) missing="$missing $package" ;;
    esac
done
if [ -z "$missing" ]; then
    exit 0
fi

if [ "$(id -u)" = 0 ]; then
    root=
elif command -v sudo >/dev/null; then
    root=sudo
else
    echo "setup: neither root nor sudo; as root run: apt-get install$missing" >&2
    exit 1
fi
echo "setup: installing$missing"
$root env DEBIAN_FRONTEND=noninteractive apt-get -qq update
# shellcheck disable=SC2086
$root env DEBIAN_FRONTEND=noninteractive apt-get -qq -y --no-install-recommends install $missing >/dev/null
