//! The site's program that each task runs first, as Slurm's TaskProlog (man slurm.conf): as the
//! user, in the job's group, in the task's own process, so that nothing of it needs to be ended.
//! Never root's, and never run here.

/// Where whoever starts tasks in a job finds the program's path.
pub const VARIABLE: &str = "KANT_TASK_PROLOG";

/// Runs the program, does what its lines say, and becomes the task.
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

/// The words that come before a task's own program and arguments: behind them, the path of the
/// task prolog.
pub const WORDS: [&str; 4] = ["/bin/sh", "-c", SHELL, "kant-task-prolog"];
