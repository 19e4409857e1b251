#!/usr/bin/env bash
# The disk, kernel and start-up files of a virtual machine with real systemd and cgroup v2, made from
# this host's own distribution (Debian or a child of it) and its package sources. For `cargo xtask vm`.
# Never changes the host, never asks for anything but packages.
#
#     tests/vm/image.sh DIR     # as root; a minute or two. DIR/{root.ext4,vmlinuz,initrd}
set -euo pipefail
into=$1
# What the guest needs: systemd, and what the tests call in their jobs.
packages=systemd,systemd-sysv,passwd,procps,python3-minimal,crun
# Drivers that must be there before the disk is, and what the tests mount.
drivers=(virtio_pci virtio_blk ext4 fuse overlay)

. /etc/os-release
work=$(mktemp -d "$into/build.XXXXXX")
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
root=$work/root start=$work/start
say() { echo "image: $*"; }

say "$ID $VERSION_CODENAME with $packages"
sources=()
for file in /etc/apt/sources.list /etc/apt/sources.list.d/*; do
    [ ! -s "$file" ] || sources+=("$file")
done
mmdebstrap --quiet --variant=minbase --include="$packages" \
    --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' \
    --dpkgopt='path-exclude=/usr/share/locale/*' --aptopt='Acquire::Languages "none"' \
    "$VERSION_CODENAME" "$root" "${sources[@]}"

# Unpacked, not installed: the guest needs no package manager to start.
kernel=linux-image-amd64
[ "$ID" != ubuntu ] || kernel=linux-image-generic
version=$(apt-cache depends --important "$kernel" |
    awk '$1 == "Depends:" && $2 ~ /^linux-(image|modules)-[0-9]/ { print $2 }')
say "$version"
mkdir "$work/debs" "$work/kernel" "$start" "$start"/{bin,dev,proc,sys,drivers,new}
# shellcheck disable=SC2086 # one or more names
(cd "$work/debs" && apt-get -qq -o APT::Sandbox::User=root download $version)
for package in "$work"/debs/*.deb; do dpkg-deb -x "$package" "$work/kernel"; done
[ -d "$work/kernel/lib/modules" ] || ln -s usr/lib "$work/kernel/lib"
release=$(ls "$work/kernel/lib/modules")
depmod -b "$work/kernel" "$release"

cp "$(command -v busybox)" "$start/bin/busybox"
number=100
for driver in "${drivers[@]}"; do
    modprobe -d "$work/kernel" -S "$release" --show-depends "$driver"
done | awk '$1 == "insmod" && !seen[$2]++ { print $2 }' >"$work/drivers"
while read -r file; do
    cp "$file" "$start/drivers/$((number++))-${file##*/}"
done <"$work/drivers"
cat >"$start/init" <<'E'
#!/bin/busybox sh
b=/bin/busybox
$b mount -t proc proc /proc; $b mount -t sysfs sys /sys; $b mount -t devtmpfs dev /dev
for file in /drivers/*; do $b insmod $file; done
until [ -b /dev/vda ] && [ -b /dev/vdb ]; do $b sleep 0.1; done
$b mount -t ext4 /dev/vda /new || $b poweroff -f
$b mount --move /dev /new/dev; $b umount /proc /sys
exec $b switch_root /new /lib/systemd/systemd
E
chmod 755 "$start/init"
(cd "$start" && find . | cpio -o -H newc --quiet | gzip -1) >"$work/initrd"

say "the guest's own settings"
echo vm >"$root/etc/hostname"
printf '127.0.0.1 localhost vm\n' >"$root/etc/hosts"
: >"$root/etc/fstab"
: >"$root/etc/machine-id"
# The second disk is what the host gave along; its script says what is to be done, at every start.
cat >"$root/etc/systemd/system/given.service" <<'E'
[Unit]
Description=What this machine is for
[Service]
ExecStart=/bin/sh -c 'mkdir -p /given && mount /dev/vdb /given && exec bash /given/tests/vm/guest.sh'
StandardOutput=file:/dev/ttyS1
StandardError=inherit
KillMode=process
E
mkdir -p "$root/etc/systemd/system/multi-user.target.wants" "$root/etc/systemd/journald.conf.d"
ln -s ../given.service "$root/etc/systemd/system/multi-user.target.wants/"
printf '[Journal]\nStorage=persistent\n' >"$root/etc/systemd/journald.conf.d/vm.conf"
# Without hardware acceleration these cost seconds of each start, and nobody needs them here.
for unit in apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer e2scrub_all.timer \
    fstrim.timer getty.target serial-getty@ttyS0.service systemd-random-seed.service \
    systemd-update-utmp.service systemd-update-utmp-runlevel.service systemd-pstore.service \
    systemd-hwdb-update.service systemd-firstboot.service systemd-binfmt.service \
    proc-sys-fs-binfmt_misc.automount dev-hugepages.mount sys-kernel-debug.mount \
    sys-kernel-tracing.mount sys-kernel-config.mount sys-fs-fuse-connections.mount \
    modprobe@configfs.service modprobe@dm_mod.service modprobe@drm.service \
    modprobe@efi_pstore.service modprobe@fuse.service modprobe@loop.service; do
    ln -sf /dev/null "$root/etc/systemd/system/$unit"
done

say "the disk"
truncate -s 4G "$work/root.ext4"
mke2fs -q -t ext4 -E root_owner=0:0 -d "$root" "$work/root.ext4"
cp "$work"/kernel/boot/vmlinuz-* "$work/vmlinuz"
mv "$work"/{root.ext4,initrd,vmlinuz} "$into/"
say "done"
