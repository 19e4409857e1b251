#!/usr/bin/env bash
# The real units under a real systemd: installs kant, submits jobs as somebody else, restarts,
# upgrades and kills kantd under them, and looks at what the kernel says of their groups. For a
# machine that is thrown away afterwards, with three CPUs or more, as root; `cargo xtask vm` has one.
#
#     cargo build -p kantctld -p kantd -p kantctl -p nvml-standin
#     KANT_THROWAWAY_MACHINE=yes tests/systemd/units.sh [BUILT] [before-reboot | after-reboot]
#
# It installs into /usr/bin, /etc and /var and adds the user kant-units. `before-reboot` leaves two
# jobs running, and `after-reboot`, when the machine has started again, finds what became of them.
# Where it cannot be done it says `skipped:` and ends with 77. Never run by `cargo test`.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
built=${1:-target/debug}
part=${2:-}
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

install_all() {
    mkdir -p /etc/sysusers.d /etc/tmpfiles.d /etc/kant /etc/systemd/system/kantd.service.d
    install -m 755 "$built"/kantctld "$built"/kantd "$built"/kantctl /usr/bin/
    install -m 755 "$built/libnvml_standin.so" /usr/lib/
    install -m 644 systemd/*.service /etc/systemd/system/
    install -m 644 systemd/sysusers.d/*.conf /etc/sysusers.d/
    install -m 644 systemd/tmpfiles.d/*.conf /etc/tmpfiles.d/
    systemd-sysusers
    install -m 644 tests/nvml-standin/machines/pcie-2.toml /etc/kant/machine.toml
    printf 'nvml_library = "/usr/lib/libnvml_standin.so"\nmemory_kept_back = "64M"\ncgroup = "required"\n' \
        >/etc/kant/kantd.toml
    printf '[Service]\nEnvironment=KANT_NVML_STANDIN=/etc/kant/machine.toml\n' \
        >/etc/systemd/system/kantd.service.d/standin.conf
    touch /etc/kant/kantctld.toml /etc/kant/kantctl.toml
    systemd-tmpfiles --create kant.conf
    id "$person" >/dev/null 2>&1 || useradd --create-home --shell /bin/bash "$person"
    # Number 195 is NVIDIA's. Without a driver an allowed open says ENXIO, a forbidden one EPERM.
    for minor in 0 1; do
        [ -e /dev/nvidia$minor ] || mknod -m 666 /dev/nvidia$minor c 195 $minor
    done
    systemctl daemon-reload
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
    systemctl enable -q kantctld kantd
    systemctl restart kantctld
    local invitation
    invitation=$(kantctl admin node invite "$(hostname -s)" 2>/dev/null)
    invitation=${invitation%% kantd*}
    KANT_INVITATION=${invitation#KANT_INVITATION=} kantd join
    systemctl restart kantd
    until_so "the node" node_is_there
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

    # A program with a few bytes more is another one.
    for program in kantd kantctld kantctl; do
        cp "$built/$program" "/usr/bin/$program.new"
        echo upgraded >>"/usr/bin/$program.new"
        mv "/usr/bin/$program.new" "/usr/bin/$program"
    done
    systemctl restart kantctld kantd
    kantd_is_back
    cmp -s "/proc/$(main_pid)/exe" "$built/kantd" && fail "kantd was not upgraded"
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
