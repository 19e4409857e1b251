#!/usr/bin/env bash
# The real units under a real systemd: installs kant, submits a job as somebody else, restarts kantd
# under it, and looks at what the kernel says of its group. For a machine that is thrown away
# afterwards (a virtual one will do), as root:
#
#     cargo build -p kantctld -p kantd -p kantctl -p nvml-standin
#     KANT_THROWAWAY_MACHINE=yes tests/systemd/units.sh
#
# It installs into /usr/bin, /etc and /var and adds the user kant-units. Never run by `cargo test`.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
built=${1:-target/debug}
person=kant-units

skip() { echo "skipped: $*"; exit 0; }
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

# until_so WHAT COMMAND...: asks until it is so, for a minute.
until_so() {
    local what=$1 end=$((SECONDS + 60))
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
submit() { (cd "/home/$person" && as_person kantctl submit --parsable "$@"); }
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

# begin_job: submits one and waits until it runs.
begin_job() {
    rm -f "/home/$person"/{code,pid}
    job=$(submit -c 1 --mem=96M --gpus=1 -o job.out job.sh)
    until_so "job $job to run" test -s "/home/$person/pid"
    pid=$(cat "/home/$person/pid")
    group=kant/$job.1
}
end_job() { echo "$1" >"/home/$person/code.new" && mv "/home/$person/code.new" "/home/$person/code"; }
code_of() { local code=0; kantctl wait "$1" >/dev/null 2>&1 || code=$?; echo "$code"; }
seen() { tr '\n' ' ' <"/home/$person/$1" | sed 's/ $//'; }

install_all
systemctl restart kantctld
systemctl restart kantd
until_so "the node" node_is_there
job_script >"/home/$person/job.sh"
chmod 755 "/home/$person/job.sh"

# looks WHEN: is the job in its group, and the group as it should be?
looks() {
    members_of "$group" | grep -qx "$pid" || fail "job $job is not in $group $1"
    is "memory limit $1" "$(memory_of "$group")" $((96 << 20))
    [[ $(cpus_of "$group") =~ ^[0-9]+$ ]] || fail "one CPU alone $1: $(cpus_of "$group")"
    ok "one CPU $1: $(cpus_of "$group")"
}

begin_job
looks "at first"
is "its GPU and the other" "$(seen gpus)" "No such device or address Operation not permitted"
is "oom_score_adj" "$(seen oom)" 0

before=$(main_pid)
systemctl restart kantd
[ "$(main_pid)" != "$before" ] || fail "kantd was not restarted"
systemctl daemon-reload
systemctl daemon-reexec
kill -9 "$(main_pid)"
until_so "kantd to be started again" systemctl is-active kantd
until_so "the node" node_is_there
looks "after two restarts"
end_job 7
is "its code, after two restarts" "$(code_of "$job")" 7

begin_job
systemctl stop kantd
end_job 9
until_so "the job to end without kantd" test ! -e "/proc/$pid"
systemctl start kantd
is "the code of one that ended while kantd was stopped" "$(code_of "$job")" 9

job=$(submit --mem=64M -o /dev/null --wrap 'tail /dev/zero')
code_of "$job" >/dev/null
[[ $(kantctl show job "$job" --json) == *'"out_of_memory"'* ]] || fail "job $job: $(kantctl show job "$job")"
ok "one with too much memory was ended for that"

nothing_left() {
    [ -z "$(find "${roots[@]}" -mindepth 1 -type d)" ] && [ -z "$(pgrep -u "$person")" ] &&
        [ "$(pgrep -x kantd)" = "$(main_pid)" ] && ! pgrep -x kantd-step
}
until_so "everything of the jobs to be gone" nothing_left
ok "no group, no process and no supervisor is left"
echo "all is as it should be, on $(systemctl --version | head -n 1)"
