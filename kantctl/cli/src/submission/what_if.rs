//! Changes of a job request, in the syntax of `kantctl submit`'s options: for `kantctl explain
//! --what-if 'time=2h gpus=4'` and for `kantctl update`.

use super::mail::read_address;
use super::shell_words::split;
use super::value::read_value;
use common::job::attributes::{Attribute, Changeable, ROWS, Removed, Value};
use common::job::{ChangeError, Patch};
use std::str::FromStr;

/// The names that can be changed, as listed in messages.
fn names() -> String {
    let rows = ROWS.iter().filter(|row| row.changeable != Changeable::Never);
    rows.map(|row| row.option).collect::<Vec<_>>().join(", ")
}

/// A text that changes nothing, or something that cannot be changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WhatIfError {
    #[error("write the changes of the request: 'time=2h gpus=4' ({})", names())]
    Empty,
    #[error(
        "`{0}` is not a change: write KEY=VALUE, with one of these keys: {names}",
        names = names()
    )]
    Shape(String),
    #[error("`{0}` cannot be changed: only {names}", names = names())]
    Key(String),
    #[error("{0} is changed twice: leave one out")]
    Twice(String),
    #[error("{key}={value}: {why}")]
    Value { key: String, value: String, why: String },
}

/// A changed request, and its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WhatIf {
    /// The text, with whitespace normalized.
    pub text: String,
    pub patch: Patch,
}

impl FromStr for WhatIf {
    type Err = WhatIfError;
    fn from_str(text: &str) -> Result<Self, WhatIfError> {
        let words = split(text).map_err(|error| WhatIfError::Shape(error.to_string()))?;
        let mut patch = Patch::default();
        for word in &words {
            let shape = || WhatIfError::Shape(word.clone());
            let (key, value) = word.split_once('=').ok_or_else(shape)?;
            // The syntax of an option is accepted, too.
            let key = key.trim_start_matches("--");
            let attribute =
                Attribute::by_name(key).ok_or_else(|| WhatIfError::Key(key.to_owned()))?;
            patch = with_change(patch, attribute, key, value)?;
        }
        if words.is_empty() {
            Err(WhatIfError::Empty)
        } else {
            Ok(Self { text: words.join(" "), patch })
        }
    }
}

/// The patch for these attributes and values.
///
/// # Errors
/// [`WhatIfError::Key`] and [`WhatIfError::Value`].
pub fn patch_of<'a>(
    changes: impl Iterator<Item = (Attribute, &'a str)>,
) -> Result<Patch, WhatIfError> {
    let mut patch = Patch::default();
    for (attribute, value) in changes {
        patch = with_change(patch, attribute, attribute.row().option, value)?;
    }
    Ok(patch)
}

/// The patch with one more change, which the user wrote as `key=value`.
fn with_change(
    patch: Patch,
    attribute: Attribute,
    key: &str,
    value: &str,
) -> Result<Patch, WhatIfError> {
    let row = attribute.row();
    let bad =
        |why: String| WhatIfError::Value { key: key.to_owned(), value: value.to_owned(), why };
    let read = || match attribute {
        Attribute::MailUser => {
            read_address(value).map(Value::Text).map_err(|error| error.to_string())
        }
        _ => read_value(row.kind, value),
    };
    let changed = match removes_attribute(row.removed, value) || row.changeable == Changeable::Never
    {
        true => None,
        false => Some(read().map_err(bad)?),
    };
    patch.try_with(attribute, changed).map_err(|error| match error {
        ChangeError::Fixed => WhatIfError::Key(key.to_owned()),
        ChangeError::Twice => WhatIfError::Twice(key.to_owned()),
        error => bad(error.to_string()),
    })
}

fn removes_attribute(removed: Removed, value: &str) -> bool {
    match removed {
        Removed::Never => false,
        Removed::ByNone => matches!(value, "none" | "0" | ""),
        Removed::ByEmpty => value.is_empty(),
        Removed::ByAny => value == "any",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use common::gpu::GpuKind;
    use common::job::attributes::{GpuAmount, GpusValue, NodeCount, TaskCount};
    use common::time::{Span, Time};
    use common::unit::{Bytes, Gpus, Tasks};
    use proptest::prelude::*;

    fn patch(text: &str) -> Patch {
        text.parse::<WhatIf>().unwrap().patch
    }

    fn refused(text: &str) -> String {
        text.parse::<WhatIf>().unwrap_err().to_string()
    }

    #[test]
    fn every_key_accepts_the_values_of_its_option() {
        let read = patch("time=2h gpus=h100|a100:4 nodes=2 ntasks=2-8 cpus=4 mem=8G");
        let kinds = vec![GpuKind("a100".to_owned()), GpuKind("h100".to_owned())];
        let expected = Patch::default()
            .with(Attribute::Time, Span::from_minutes(120))
            .with(Attribute::Gpus, GpusValue { kinds, amount: GpuAmount::Whole(Gpus(4)) })
            .with(Attribute::Nodes, NodeCount { most: 2, least: None })
            .with(Attribute::Ntasks, TaskCount { most: Tasks(8), least: Some(Tasks(2)) })
            .with(Attribute::CpusPerTask, 4_u32)
            .with(Attribute::Mem, Bytes(8 << 30));
        assert_eq!(read, expected);
        for (text, shown) in [
            (
                "--queue=gpu qos=high near=leaf:required",
                "--qos=high --queue=gpu --near=leaf:required",
            ),
            ("gpus-per-node=8", "--gpus-per-node=8"),
            ("gpus=0.5", "--gpus=0.5"),
            (
                "name=b mail-type=END,FAIL mail-user=ada@x",
                "--job-name=b --mail-type=END,FAIL --mail-user=ada@x",
            ),
            ("gpu-kind=h100 gpus=4", "--gpus=4 --gpu-kind=h100"),
        ] {
            assert_eq!(patch(text).to_string(), shown);
        }
        assert!(patch("deadline=now+2hours").value::<Time>(Attribute::Deadline).is_some());
    }

    #[test]
    fn parts_of_a_request_can_be_removed() {
        for (text, shown) in [
            ("mail-user=", "--mail-user="),
            ("comment=", "--comment="),
            ("gpus=0 qos=none near=none", "--qos=none --gpus=none --near=none"),
            ("gpu-kind=any", "--gpu-kind=any"),
            (
                "begin=none deadline=none reservation=none array-limit=none",
                "--begin=none --deadline=none --reservation=none --array-limit=none",
            ),
            ("constraint=none nodelist=none", "--constraint=none --nodelist=none"),
        ] {
            assert_eq!(patch(text).to_string(), shown);
        }
    }

    #[test]
    fn invalid_changes_are_refused_with_the_valid_forms() {
        for (text, word) in [
            ("", "'time=2h gpus=4'"),
            ("time", "KEY=VALUE"),
            ("colour=red", "`colour` cannot be changed: only job-name, account"),
            ("hold=yes", "cannot be changed"),
            ("mail-user=-x", "not a mail address"),
            ("mail-user=$USER", "not a mail address"),
            ("time=UNLIMITED", "cannot be removed"),
            ("constraint=a100&", "constraint=a100&"),
            ("nodes=1-4", "ntasks=1-4"),
            ("time=soon", "time=soon: `soon` is not a length of time"),
            ("gpus=4 gpus-per-node=2", "twice"),
            ("cpus=1 cpus-per-task=2", "twice"),
            ("near=rack", "leaf"),
            ("ntasks=8-2", "smaller one first"),
            ("queue=a/b", "valid queue name"),
            ("time='2h", "not closed"),
        ] {
            assert!(refused(text).contains(word), "{text}: {}", refused(text));
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "(([a-z-]{0,9}|gpus|near)=?\\PC{0,9} ?){0,4}") {
            let _ = text.parse::<WhatIf>();
        }
    }
}
