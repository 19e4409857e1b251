//! Changes of a job's labels, account, priority and permitted nodes.

use super::{WhatIfError, read, without};
use crate::submission::value::Hosts;
use common::id::NodeName;
use common::job::{Patch, Replaced};

/// Adds one such change to the patch. An empty comment removes it.
pub(super) fn change(
    patch: &mut Patch,
    key: &str,
    value: &str,
    bad: impl Fn(String) -> WhatIfError,
) -> Result<(), WhatIfError> {
    let nodes = |value: &str| -> Result<Vec<NodeName>, WhatIfError> {
        match without(value) {
            true => Ok(Vec::new()),
            false => read::<Hosts>(value, &bad).map(|hosts| hosts.0),
        }
    };
    match key {
        "name" => patch.name = Some(value.to_owned()),
        "comment" if value.is_empty() => patch.comment = Some(Replaced::Without),
        "comment" => patch.comment = Some(Replaced::With(value.to_owned())),
        "account" => patch.account = Some(read(value, bad)?),
        "nice" => patch.nice = Some(read(value, bad)?),
        "constraint" if without(value) => patch.constraint = Some(Replaced::Without),
        "constraint" => patch.constraint = Some(Replaced::With(read(value, bad)?)),
        "nodelist" => patch.only_nodes = Some(nodes(value)?),
        _ => patch.not_nodes = Some(nodes(value)?),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::submission::what_if::patch_of;
    use common::job::Replaced;

    #[test]
    fn labels_and_nodes_are_changed_and_removed() {
        let of = |key, value| patch_of([(key, value)].into_iter());
        assert_eq!(of("name", "a b").unwrap().name.as_deref(), Some("a b"));
        assert_eq!(of("comment", "").unwrap().comment, Some(Replaced::Without));
        assert_eq!(of("exclude", "g[1-3]").unwrap().not_nodes.unwrap().len(), 3);
        assert_eq!(of("nodelist", "none").unwrap().only_nodes, Some(Vec::new()));
        assert_eq!(of("constraint", "none").unwrap().constraint, Some(Replaced::Without));
        assert!(of("constraint", "a100&").is_err() && of("nice", "much").is_err());
    }
}
