#!/bin/sh
# isolated_root_test.sh [FOLDER] - the README's two commands on a fresh Debian 12: makes a
# minimal root with debootstrap, clones the repository into it and runs them there.
# Needs root, debootstrap and the network; takes about 3 minutes. By hand, not in CI.
# FOLDER (default: a temporary one, removed at the end) keeps the root.
# SPDX-License-Identifier: MIT
set -eu
cd "$(dirname "$0")/.."
repository=$PWD

[ "$(id -u)" = 0 ] || { echo "isolated_root_test: run as root" >&2; exit 1; }
command -v debootstrap > /dev/null || { echo "isolated_root_test: apt-get install debootstrap" >&2; exit 1; }

if [ $# -gt 0 ]; then
    root=$1
    mkdir -p "$root"
else
    root=$(mktemp -d)
fi
finish()
{
    umount "$root/proc" 2> /dev/null || true
    [ $# -eq 0 ] || return 0
    rm -rf --one-file-system "$root"
}
if [ $# -gt 0 ]; then trap 'finish keep' EXIT; else trap finish EXIT; fi

mirror=${DEBIAN_MIRROR:-http://deb.debian.org/debian}
proxy=$(apt-config shell p Acquire::http::Proxy | sed "s/^p='\(.*\)'$/\1/")
if [ -n "$proxy" ]; then
    http_proxy=$proxy
    export http_proxy
fi
debootstrap --variant=minbase --include=git,ca-certificates bookworm "$root" "$mirror"

# the mirror and proxy that work here work there too
echo "deb $mirror bookworm main" > "$root/etc/apt/sources.list"
for file in /etc/apt/apt.conf.d/*proxy*; do
    [ ! -e "$file" ] || cp "$file" "$root/etc/apt/apt.conf.d/"
done
cp /etc/resolv.conf "$root/etc/resolv.conf"
mount -t proc proc "$root/proc"

git clone --quiet --no-local "$repository" "$root/root/nanobrag"
in_root()
{
    chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 \
        sh -c "cd /root/nanobrag && $1"
}
in_root scripts/demo.sh
in_root 'ls -l demo && test -s demo/2erl.bin && test -s demo/2erl_00001.img && test -s demo/2erl.png'
in_root scripts/test.sh
echo "isolated_root_test: both commands work on a fresh Debian 12"
