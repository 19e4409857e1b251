#!/usr/bin/env bash
# What the virtual machine of `cargo xtask vm` does, at each of its two starts: jobs that misbehave on
# cgroup v2, then the units, then a reboot with a job running, then the units again. Its output goes
# to the host; its last line is the verdict. Never for another machine: it switches off the one it
# runs on.
set -uo pipefail
cd /given
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8
export KANT_THROWAWAY_MACHINE=yes RUST_BACKTRACE=0 KANT_TEST_SLOWNESS=3

# part NAME COMMAND...: runs it, and remembers if it failed, or if anything in it skipped itself: all
# that can be wanted is here.
part() {
    local name=$1 begin=$SECONDS
    shift
    echo "== $name"
    "$@" 2>&1 | tee said || { echo "FAILED: $name" && echo "$name" >>failed; }
    if grep -q '^skipped: ' said; then
        echo "FAILED: $name: $(grep -c '^skipped: ' said) skipped" && echo "$name (skipped)" >>failed
    fi
    echo "== $name: $((SECONDS - begin)) s"
}
verdict() {
    if [ -e failed ]; then echo "vm: FAILED: $(paste -sd, failed)"; else echo "vm: passed"; fi
    sync
    systemctl start --no-block poweroff.target
}

if [ ! -e rebooted ]; then
    echo "== $(. /etc/os-release && echo "$PRETTY_NAME"), $(systemctl --version | head -n 1)," \
        "$(stat -fc %T /sys/fs/cgroup) with $(cat /sys/fs/cgroup/cgroup.controllers)"
    # Where the tests were told, when they were compiled, that the programs would be.
    mkdir -p "$(cat built)"
    ln -s /given/bin/* "$(cat built)/"
    mapfile -t modules <modules
    # Most of these tests wait for a limit or a grace period: more at once than there are CPUs.
    if [ ${#modules[@]} -gt 0 ]; then
        part jobs ./kantd_tests "${modules[@]/%/::}" --test-threads=5 --show-output </dev/null
    fi
    if [ ! -e units ]; then
        verdict
        exit
    fi
    part units tests/systemd/units.sh packages bin/libnvml_standin.so before-reboot
    touch rebooted
    sync
    systemctl start --no-block reboot.target
else
    part "units after a reboot" tests/systemd/units.sh packages bin/libnvml_standin.so after-reboot
    verdict
fi
