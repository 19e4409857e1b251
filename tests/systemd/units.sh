#!/usr/bin/env bash
# The packages and their units under a real systemd: installs kant, submits jobs as another user,
# restarts, upgrades and kills kantd under them, looks at what the kernel says of their groups, and
# removes the packages. For a machine that is thrown away afterwards, with three CPUs or more, as
# root; `cargo xtask vm` has one.
#
#     cargo xtask dist && cargo build -p nvml-standin
#     KANT_THROWAWAY_MACHINE=yes tests/systemd/units.sh [PACKAGES] [STANDIN] [before-reboot | after-reboot]
#
# It installs the packages and adds the user kant-units. `before-reboot` leaves two jobs running, and
# `after-reboot`, when the machine has started again, finds what became of them and removes all.
# Where it cannot be done it says `skipped:` and ends with 77. Never run by `cargo test`.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
packages=${1:-target/dist}
standin=${2:-target/debug/libnvml_standin.so}
part=${3:-}
person=kant-units
declare -A job pid attempt

# Neither well nor ill: 77, as automake and meson have it.
skip() { echo "skipped: $*"; exit 77; }
fail() { echo "FAILED: $*" >&2; journalctl -q --no-pager -n 30 -u kantd -u kantctld >&2; exit 1; }
ok() { echo "ok: $*"; }
[ "${KANT_THROWAWAY_MACHINE:-}" = yes ] || skip "set KANT_THROWAWAY_MACHINE=yes on a machine to spare"
[ "$(id -u)" = 0 ] || skip "not root"
[ -d /run/systemd/system ] || skip "systemd does not run here"

# Where the kernel keeps what a job is held to, by the path of its group.
groups=/sys/fs/cgroup
if [ -f $groups/cgroup.controllers ]; then
    roots=($groups/kant)
    memory_of() { cat "$groups/$1/memory.max"; }
    cpus_of() { cat "$groups/$1/cpuset.cpus.effective"; }
    members_of() { cat "$groups/$1/cgroup.procs"; }
elif [ -d $groups/memory ] && [ -d $groups/cpuset ]; then
    roots=($groups/{memory,cpuset,devices,pids,freezer,cpuacct}/kant)
    memory_of() { cat "$groups/memory/$1/memory.limit_in_bytes"; }
    cpus_of() { cat "$groups/cpuset/$1/cpuset.cpus"; }
    members_of() { cat "$groups/memory/$1/cgroup.procs"; }
else
    skip "no memory and cpuset cgroups here"
fi

# until_so WHAT COMMAND...: asks until it is so, for three minutes.
until_so() {
    local what=$1 end=$((SECONDS + 180))
    shift
    until "$@" >/dev/null 2>&1; do
        [ $SECONDS -lt $end ] || fail "waited in vain for $what"
        sleep 0.2
    done
}
is() { [ "$2" = "$3" ] || fail "$1: $2, not $3"; ok "$1: $2"; }

# The packages start nothing; one command makes a controller, and the line that it leads to a node.
install_all() {
    local begin=$SECONDS node_line first
    dpkg --install "$packages"/*.deb
    ok "the packages are installed after $((SECONDS - begin)) s"
    is "the units of new packages" "$(systemctl is-active kantctld kantd | paste -sd' ')" "inactive inactive"
    [ ! -e /etc/kant/kantd.toml ] && [ ! -e /var/lib/kantctld/cluster.key ] || fail "a package configures"
    kantctld setup --advertise "$(hostname -s):7600"
    node_line=$(kantctl admin node invite "$(hostname -s)" 2>/dev/null)
    (eval "$node_line")
    until_so "the node" node_is_there
    id "$person" >/dev/null 2>&1 || useradd --create-home --shell /bin/bash "$person"
    first=$(submit --mem=64M -o /dev/null --wrap true)
    is "the code of the first job" "$(code_of "$first")" 0
    ok "the first job has run after $((SECONDS - begin)) s"
    kantctld setup | grep -q 'controller 1 of cluster .* already' || fail "setup cannot be repeated"
}

# GPUs that a file describes, and devices for them.
give_gpus() {
    install -m 755 "$standin" /usr/lib/libnvml_standin.so
    install -m 644 tests/nvml-standin/machines/pcie-2.toml /etc/kant/machine.toml
    printf 'nvml_library = "/usr/lib/libnvml_standin.so"\nmemory_kept_back = "64M"\ncgroup = "required"\n' \
        >>/etc/kant/kantd.toml
    mkdir -p /etc/systemd/system/kantd.service.d
    printf '[Service]\nEnvironment=KANT_NVML_STANDIN=/etc/kant/machine.toml\n' \
        >/etc/systemd/system/kantd.service.d/standin.conf
    # Number 195 is NVIDIA's. Without a driver an allowed open says ENXIO, a forbidden one EPERM.
    for minor in 0 1; do
        [ -e /dev/nvidia$minor ] || mknod -m 666 /dev/nvidia$minor c 195 $minor
    done
    systemctl daemon-reload
    systemctl restart kantd
    until_so "the node" node_is_there
}

# upgrade_all: installs packages of a later version, whose programs have a few bytes more.
upgrade_all() {
    local package unpacked=/var/tmp/unpacked later=/var/tmp/later
    mkdir -p $later
    for package in "$packages"/*.deb; do
        rm -rf $unpacked
        dpkg-deb --raw-extract "$package" $unpacked
        for program in $unpacked/usr/bin/*; do echo upgraded >>"$program"; done
        sed -i 's/^Version: .*/&+later/; s/\(kant-client (= [^)]*\))/\1+later)/' $unpacked/DEBIAN/control
        dpkg-deb -Znone --build $unpacked $later >/dev/null
    done
    dpkg --install $later/*.deb
    rm -rf $unpacked $later
}

# remove_all: a removal leaves the keys, and a purge leaves nothing.
remove_all() {
    dpkg --remove kant-node kant-controller
    is "the units of removed packages" "$(systemctl is-active kantctld kantd | paste -sd' ')" "inactive inactive"
    [ -s /var/lib/kantctld/cluster.key ] || fail "a removal deleted the cluster key"
    [ -s /var/lib/kantd/credentials.toml ] || fail "a removal deleted the node's key"
    rm /etc/kant/machine.toml
    dpkg --purge kant-node kant-controller kant-client
    local left
    left=$(find /etc/kant /var/lib/kant* /usr/bin/kant* /usr/lib/systemd/system/kant* \
        /etc/systemd/system/multi-user.target.wants/kant* 2>/dev/null || true)
    [ -z "$left" ] || fail "a purge left $left"
    ok "a purge leaves nothing"
}

as_person() { setpriv --reuid="$person" --regid="$person" --init-groups env HOME=/home/$person "$@"; }
# submit FLAG...: in the folder $at of the person's.
submit() { (cd "${at:-/home/$person}" && as_person kantctl submit --parsable "$@"); }
node_is_there() { [[ $(kantctl nodes --json) == *'"Connected"'* ]]; }
main_pid() { systemctl show -P MainPID kantd; }

# What a job writes down about itself; it ends with the code it finds in the file `code`.
job_script() {
    cat <<'JOB'
#!/bin/bash
{ (: </dev/nvidia0) && echo opened; (: </dev/nvidia1) && echo opened; } 2>&1 | sed 's/.*: //' | sort >gpus
cat /proc/self/oom_score_adj >oom
echo $$ >pid
until [ -e code ]; do sleep 0.1; done
exit "$(cat code)"
JOB
}

# begin_job NAME FLAG...: submits one and waits until it runs.
begin_job() {
    local name=$1 at=/home/$person/$1
    shift
    install -d -o "$person" -g "$person" "$at"
    rm -f "$at"/{code,pid}
    job[$name]=$(submit -c 1 --mem=64M -o job.out "$@" ../job.sh)
    attempt[$name]=1
    runs "$name"
}
# runs NAME: waits until it runs, and knows its process.
runs() {
    until_so "job ${job[$1]} ($1) to run" test -s "/home/$person/$1/pid"
    pid[$1]=$(cat "/home/$person/$1/pid")
}
end_job() { echo "$2" >"/home/$person/$1/code.new" && mv "/home/$person/$1/code.new" "/home/$person/$1/code"; }
code_of() { local code=0; kantctl wait "$1" >/dev/null 2>&1 || code=$?; echo "$code"; }
seen() { tr '\n' ' ' <"/home/$person/$1" | sed 's/ $//'; }
group_of() { echo "kant/${job[$1]}.${attempt[$1]}"; }
# looks NAME WHEN: is the job in its group, and the group as it should be?
looks() {
    local group
    group=$(group_of "$1")
    members_of "$group" | grep -qx "${pid[$1]}" || fail "job ${job[$1]} is not in $group $2"
    [ "$(memory_of "$group")" = $((64 << 20)) ] || fail "memory limit $2: $(memory_of "$group")"
    [[ $(cpus_of "$group") =~ ^[0-9]+$ ]] || fail "one CPU alone $2: $(cpus_of "$group")"
    ok "$1 runs $2, held to 64M and to CPU $(cpus_of "$group")"
}
# outcome_of NAME: how it ended.
outcome_of() {
    code_of "${job[$1]}" >/dev/null
    kantctl show job "${job[$1]}" --json | sed -n 's/.*"outcome": *"\([a-z_]*\)".*/\1/p'
}
# kill_kantd FLAG: kill -9, and waits until systemd has started another one.
kill_kantd() {
    local before
    before=$(main_pid)
    systemctl kill "$1" --signal=KILL kantd
    until_so "the end of kantd" another_than "$before"
    kantd_is_back
}
another_than() { [[ $(main_pid) != "$1" ]]; }
kantd_is_back() {
    until_so "kantd to be started again" systemctl is-active kantd
    until_so "the node" node_is_there
}
nothing_left() {
    [ -z "$(find "${roots[@]}" -mindepth 1 -type d)" ] && [ -z "$(pgrep -u "$person")" ] &&
        [ "$(pgrep -x kantd)" = "$(main_pid)" ] && ! pgrep -x kantd-step
}
all_is_gone() {
    until_so "everything of the jobs to be gone" nothing_left
    ok "no group, no process and no supervisor is left"
}
# The supervisors' program, whether or not it has been replaced since.
supervisors() { for step in $(pgrep -x kantd-step); do readlink "/proc/$step/exe"; done | sort -u; }

before_reboot() {
    install_all
    give_gpus
    job_script >"/home/$person/job.sh"
    chmod 755 "/home/$person/job.sh"

    begin_job one --gpus=1
    begin_job two
    begin_job three
    for name in one two three; do looks "$name" "at first"; done
    is "its GPU and the other" "$(seen one/gpus)" "No such device or address Operation not permitted"
    is "oom_score_adj" "$(seen one/oom)" 0

    local before
    before=$(main_pid)
    systemctl restart kantd
    [ "$(main_pid)" != "$before" ] || fail "kantd was not restarted"
    systemctl daemon-reload
    systemctl daemon-reexec
    kantd_is_back
    for name in one two three; do looks "$name" "after a restart"; done

    upgrade_all
    kantd_is_back
    is "the end of the running kantd's program" "$(tail -c 9 "/proc/$(main_pid)/exe")" upgraded
    is "supervisors after an upgrade" "$(supervisors)" "/usr/bin/kantd (deleted)"
    for name in one two three; do looks "$name" "after an upgrade"; done

    kill_kantd --kill-whom=main
    for name in one two three; do looks "$name" "after a kill -9 of kantd"; done
    end_job one 7
    is "its code, after all that" "$(code_of "${job[one]}")" 7
    systemctl stop kantd
    end_job two 9
    until_so "the job to end without kantd" test ! -e "/proc/${pid[two]}"
    systemctl start kantd
    is "the code of one that ended while kantd was stopped" "$(code_of "${job[two]}")" 9

    kantctl cancel "${job[three]}"
    is "one that was cancelled, after all that" "$(outcome_of three)" cancelled

    local killed
    killed=$(submit --mem=64M -o /dev/null --wrap 'tail /dev/zero')
    code_of "$killed" >/dev/null
    [[ $(kantctl show job "$killed" --json) == *'"out_of_memory"'* ]] ||
        fail "job $killed: $(kantctl show job "$killed")"
    ok "one with too much memory was ended for that"
    all_is_gone

    # Everything in kantd's unit at once, supervisors too: nobody watches their jobs any more.
    begin_job again
    begin_job never --no-requeue
    rm "/home/$person/again/pid"
    kill_kantd --kill-whom=all
    is "one that may not start again, after a kill -9 of the whole unit" "$(outcome_of never)" node_lost
    attempt[again]=2
    runs again
    looks again "anew after a kill -9 of the whole unit"
    end_job again 0
    is "its code" "$(code_of "${job[again]}")" 0
    all_is_gone
}

# Two jobs run when the machine goes down.
leave_for_reboot() {
    begin_job requeued
    begin_job lost --no-requeue
    echo "${job[requeued]} ${job[lost]}" >/var/tmp/kant-units
    rm "/home/$person/requeued/pid"
}

after_reboot() {
    read -r job[requeued] job[lost] </var/tmp/kant-units
    until_so "kantctld to start by itself" systemctl is-active kantctld
    kantd_is_back
    is "one that may not start again, after a reboot" "$(outcome_of lost)" node_lost
    attempt[requeued]=2
    runs requeued
    looks requeued "anew after a reboot"
    end_job requeued 5
    is "its code" "$(code_of "${job[requeued]}")" 5
    all_is_gone
    remove_all
}

case $part in
    '') before_reboot ;;
    before-reboot)
        before_reboot
        leave_for_reboot
        ;;
    after-reboot) after_reboot ;;
    *) fail "no such part: $part" ;;
esac
echo "all is as it should be, on $(systemctl --version | head -n 1)"
