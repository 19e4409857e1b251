//! The site's program that each task runs first, as Slurm's TaskProlog (man slurm.conf): as the
//! user, in the job's group, in the task's own process, so that nothing of it needs to be ended.
//! Never root's.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Runs the program, does what its lines say, and becomes the task.
const SHELL: &str = r#"_kant_p=$1; shift
_kant_o=$("$_kant_p" </dev/null) || {
    echo "kant: the task prolog $_kant_p failed: exit code $?" >&2
    exit 1
}
while IFS= read -r _kant_l; do
    case $_kant_l in
    "export "[A-Za-z_]*=*) export "${_kant_l#export }" ;;
    "unset "[A-Za-z_]*) unset "${_kant_l#unset }" ;;
    "print "*) printf '%s\n' "${_kant_l#print }" ;;
    esac
done <<KANT_END
$_kant_o
KANT_END
unset _kant_p _kant_o _kant_l
exec "$@""#;

/// The words that come before a task's own.
pub fn first(program: &Path) -> Vec<&[u8]> {
    let words = [b"/bin/sh".as_slice(), b"-c", SHELL.as_bytes(), b"kant-task-prolog"];
    words.into_iter().chain([program.as_os_str().as_bytes()]).collect()
}
