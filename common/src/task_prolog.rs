//! The site's program that each task runs first, like Slurm's TaskProlog (man slurm.conf). It runs
//! as the user, in the job's cgroup and in the task's own process, so that no process of it
//! remains.

/// The variable with the program's path, for launchers of tasks.
pub const VARIABLE: &str = "KANT_TASK_PROLOG";

/// Runs the program, applies the lines that it prints, and executes the task.
const SHELL: &str = r#"_kant_p=$1; shift
_kant_o=$("$_kant_p" </dev/null)
_kant_x=$?
while IFS= read -r _kant_l; do
    case $_kant_l in
    "export "[A-Za-z_]*=*) export "${_kant_l#export }" ;;
    "unset "[A-Za-z_]*) unset "${_kant_l#unset }" ;;
    "print "*) printf '%s\n' "${_kant_l#print }" ;;
    esac
done <<KANT_END
$_kant_o
KANT_END
[ "$_kant_x" = 0 ] || {
    echo "kant: the task prolog $_kant_p failed: exit code $_kant_x" >&2
    exit 1
}
unset _kant_p _kant_o _kant_l _kant_x
exec "$@""#;

/// The command line before a task's own program and arguments; the path of the task prolog follows
/// it.
pub const WORDS: [&str; 4] = ["/bin/sh", "-c", SHELL, "kant-task-prolog"];
