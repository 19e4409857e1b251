//! The current size of the surrounding job, if it was resized after its script started: from the
//! file that kantd maintains for it (`KANT_ENV_FILE`).

use std::collections::BTreeMap;

const FILE: &str = "KANT_ENV_FILE";

/// The number of times the job was resized.
const NUMBER: &str = "KANT_RESIZED";

/// The environment, updated with the job's current nodes and tasks.
#[must_use]
pub fn apply(environment: BTreeMap<String, String>) -> BTreeMap<String, String> {
    let text = environment.get(FILE).and_then(|path| std::fs::read_to_string(path).ok());
    match text {
        Some(text) => apply_text(environment, &text),
        None => environment,
    }
}

/// Variables stay as they are if the job was never resized, because the user may have set them.
fn apply_text(mut environment: BTreeMap<String, String>, text: &str) -> BTreeMap<String, String> {
    let lines = text.lines().filter_map(|line| line.strip_prefix("export "));
    let pairs = lines.filter_map(|line| line.split_once('='));
    let current: BTreeMap<&str, &str> =
        pairs.map(|(name, value)| (name, value.trim_matches('\''))).collect();
    let is_changed = current.get(NUMBER).is_some_and(|number| *number != "0")
        && current.get(NUMBER).copied() != environment.get(NUMBER).map(String::as_str);
    if is_changed {
        environment.extend(current.into_iter().map(|(name, value)| (name.into(), value.into())));
    }
    environment
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_of_size_is_applied_once() {
        let environment = |nodes: &str, number: Option<&str>| {
            let pairs = [("SLURM_NNODES", Some(nodes)), (NUMBER, number)];
            let given = pairs.into_iter().filter_map(|(name, value)| Some((name, value?)));
            given.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
        };
        let nodes =
            |of: BTreeMap<String, String>, text: &str| apply_text(of, text)["SLURM_NNODES"].clone();
        let text = "export KANT_RESIZED='1'\nexport SLURM_NNODES='2'\nunset X\n";
        assert_eq!(nodes(environment("4", None), text), "2");
        assert_eq!(nodes(environment("3", Some("1")), text), "3", "the change is known already");
        let first = "export KANT_RESIZED='0'\nexport SLURM_NNODES='4'\n";
        assert_eq!(nodes(environment("1", None), first), "1", "never resized");
        assert_eq!(apply(environment("4", None))["SLURM_NNODES"], "4", "no such file");
    }
}
