//! How large the job around is now, where that changed since its script began: from the file that
//! kantd keeps for it (`KANT_ENV_FILE`). Never asks anybody.

use std::collections::BTreeMap;

const FILE: &str = "KANT_ENV_FILE";

/// How often the job was given another size.
const NUMBER: &str = "KANT_RESIZED";

/// The environment, with the job's nodes and tasks as they are now.
#[must_use]
pub fn now(environment: BTreeMap<String, String>) -> BTreeMap<String, String> {
    let text = environment.get(FILE).and_then(|path| std::fs::read_to_string(path).ok());
    match text {
        Some(text) => with(environment, &text),
        None => environment,
    }
}

/// What was never changed is left as somebody may have set it.
fn with(mut environment: BTreeMap<String, String>, text: &str) -> BTreeMap<String, String> {
    let lines = text.lines().filter_map(|line| line.strip_prefix("export "));
    let pairs = lines.filter_map(|line| line.split_once('='));
    let told: BTreeMap<&str, &str> =
        pairs.map(|(name, value)| (name, value.trim_matches('\''))).collect();
    let is_news = told.get(NUMBER).is_some_and(|number| *number != "0")
        && told.get(NUMBER).copied() != environment.get(NUMBER).map(String::as_str);
    if is_news {
        environment.extend(told.into_iter().map(|(name, value)| (name.into(), value.into())));
    }
    environment
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changed_since_is_taken_over_once() {
        let environment = |nodes: &str, number: Option<&str>| {
            let pairs = [("SLURM_NNODES", Some(nodes)), (NUMBER, number)];
            let given = pairs.into_iter().filter_map(|(name, value)| Some((name, value?)));
            given.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
        };
        let nodes =
            |of: BTreeMap<String, String>, text: &str| with(of, text)["SLURM_NNODES"].clone();
        let text = "export KANT_RESIZED='1'\nexport SLURM_NNODES='2'\nunset X\n";
        assert_eq!(nodes(environment("4", None), text), "2");
        assert_eq!(nodes(environment("3", Some("1")), text), "3", "it knows, and chose");
        let first = "export KANT_RESIZED='0'\nexport SLURM_NNODES='4'\n";
        assert_eq!(nodes(environment("1", None), first), "1", "never changed");
        assert_eq!(now(environment("4", None))["SLURM_NNODES"], "4", "no such file");
    }
}
