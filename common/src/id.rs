//! Ids and names as distinct types, so that no two kinds can be confused.

mod component;
mod error;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

pub use component::SET_SIZE_MAX;
pub use error::IdError;

macro_rules! number_id {
    ($(#[$doc:meta])* $name:ident, $inner:ty) => {
        $(#[$doc])*
        #[derive(
            Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize,
            Deserialize, JsonSchema,
        )]
        #[serde(transparent)]
        pub struct $name(pub $inner);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

macro_rules! name_id {
    ($(#[$doc:meta])* $name:ident, $what:literal) => {
        $(#[$doc])*
        #[derive(
            Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
            JsonSchema,
        )]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(Arc<str>);

        impl $name {
            /// Checks a name.
            ///
            /// # Errors
            /// [`IdError::Name`] if it is empty, too long or has other characters.
            pub fn new(text: impl Into<String>) -> Result<Self, IdError> {
                let text = text.into();
                if !is_name(&text) {
                    return Err(IdError::Name { what: $what, text });
                }
                Ok(Self(text.into()))
            }

            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }

            /// Whether it is a copy of the other one. This is fast, and misses equal names that
            /// were made apart.
            #[must_use]
            pub fn is_copy_of(&self, other: &Self) -> bool {
                Arc::ptr_eq(&self.0, &other.0)
            }
        }

        impl TryFrom<String> for $name {
            type Error = IdError;
            fn try_from(text: String) -> Result<Self, IdError> {
                Self::new(text)
            }
        }

        impl FromStr for $name {
            type Err = IdError;
            fn from_str(text: &str) -> Result<Self, IdError> {
                Self::new(text)
            }
        }

        impl From<$name> for String {
            fn from(name: $name) -> String {
                name.0.as_ref().to_owned()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }
    };
}

fn is_name(text: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    (1..=63).contains(&text.len())
        && text.chars().all(allowed)
        && text.starts_with(|c: char| c.is_ascii_alphanumeric())
}

number_id!(
    /// A job, as shown to users. Assigned in `apply`, from 1; never reused.
    JobId, u32
);
number_id!(
    /// The index of one task of an array (`3` in `42_3`). Not a rank inside a gang.
    ArrayIndex, u32
);
number_id!(
    /// The number of an attempt: 1 for the first one; a requeue adds one.
    Attempt, u32
);
number_id!(
    /// A user id of the kernel.
    Uid, u32
);
number_id!(
    /// A group id of the kernel.
    Gid, u32
);
number_id!(
    /// The position of a GPU in its node's inventory, from 0; not the minor number.
    GpuIndex, u16
);
number_id!(
    /// A position in the replicated log.
    LogIndex, u64
);
number_id!(
    /// A controller in the replicated log. Assigned when it joins, from 1; never reused.
    ControllerId, u64
);
number_id!(
    /// A program started in a running job. Chosen at random by the client; unique within one
    /// attempt on one node.
    TaskNumber, u64
);

number_id!(
    /// A revision of a service's specification: 1 for the first one; every change adds one.
    Revision, u32
);
number_id!(
    /// The place of a replica among those of its role, from 0. A replacement takes over the place.
    Ordinal, u32
);

/// The identity of a cluster, drawn when it is founded. Always written as sixteen hexadecimal
/// digits, because some JSON readers cannot represent so large a number.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Default,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(try_from = "String", into = "String")]
pub struct ClusterId(pub u64);

impl fmt::Display for ClusterId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl FromStr for ClusterId {
    type Err = IdError;
    fn from_str(text: &str) -> Result<Self, IdError> {
        let number = u64::from_str_radix(text, 16).ok();
        let id = number.map(Self).filter(|id| id.to_string() == text);
        id.ok_or_else(|| IdError::Cluster(text.to_owned()))
    }
}

impl TryFrom<String> for ClusterId {
    type Error = IdError;
    fn try_from(text: String) -> Result<Self, IdError> {
        text.parse()
    }
}

impl From<ClusterId> for String {
    fn from(id: ClusterId) -> Self {
        id.to_string()
    }
}

name_id!(NodeName, "node");
name_id!(
    /// A queue's name ("partition" at the Slurm surface).
    QueueName, "queue"
);
name_id!(
    /// An account that usage is charged to.
    AccountName, "account"
);

name_id!(
    /// A quality of service.
    QosName, "QoS"
);
name_id!(
    /// A switch or NVLink domain of the topology.
    SwitchName, "switch"
);
name_id!(ZoneName, "zone");
name_id!(
    /// A property of a node that a job may require by name.
    FeatureName, "feature"
);
name_id!(DataName, "data set");
name_id!(ReservationName, "reservation");
name_id!(ServiceName, "service");
name_id!(
    /// A role of a service: replicas that run the same program.
    RoleName, "role"
);
name_id!(
    /// A port of a replica.
    PortName, "port"
);

/// A schedulable unit: a job, or one task of an array, shown as `42` or `42_7`; or the name of a
/// component of a het job, `42+1`, which is a job with its own id.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(try_from = "String", into = "String")]
pub struct JobKey {
    pub job: JobId,
    /// The array task; `None` for a job that is not an array.
    pub index: Option<ArrayIndex>,
}

impl JobKey {
    /// The key of a job that is not an array.
    #[must_use]
    pub const fn single(job: JobId) -> Self {
        Self { job, index: None }
    }
}

impl fmt::Display for JobKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.index, self.component_offset()) {
            (_, Some(offset)) => f.pad(&format!("{}+{offset}", self.job)),
            (None, None) => f.pad(&self.job.to_string()),
            (Some(index), None) => f.pad(&format!("{}_{index}", self.job)),
        }
    }
}

impl TryFrom<String> for JobKey {
    type Error = IdError;
    fn try_from(text: String) -> Result<Self, IdError> {
        component::parse_serialized(&text)
    }
}

impl From<JobKey> for String {
    fn from(key: JobKey) -> String {
        key.to_string()
    }
}

/// A client's key by which a retried submission gets the same job. Chosen by the client, 1 to 64
/// printable characters; kept by the state for a while.
#[derive(
    Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct RequestKey(pub String);

/// One attempt of a job or array task, which a node runs at most once.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
pub struct AttemptId {
    pub key: JobKey,
    pub attempt: Attempt,
}

impl fmt::Display for AttemptId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.key, self.attempt)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_key_reads_what_it_prints() {
        for text in ["1", "42", "42_0", "4294967295_7", "42+0", "42+127"] {
            assert_eq!(text.parse::<JobKey>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn a_job_key_refuses_anything_else() {
        for text in [
            "",
            "x",
            "-1",
            "+1",
            "1_",
            "_1",
            "1_2_3",
            "4294967296",
            "1 ",
            "1+",
            "1+128",
            "1+1+1",
            "1_1+1",
            "1_4294967295",
        ] {
            let error = text.parse::<JobKey>().unwrap_err().to_string();
            assert!(error.contains("is not a job id"), "{text:?}: {error}");
        }
    }

    #[test]
    fn a_clusters_id_reads_what_it_prints_and_nothing_else() {
        for id in [ClusterId(0), ClusterId(0xcafe), ClusterId(u64::MAX)] {
            assert_eq!(id.to_string().parse(), Ok(id));
        }
        for text in ["", "cafe", "0x0000000000cafe", "+00000000000cafe", "000000000000CAFE"] {
            assert!(text.parse::<ClusterId>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_name_refuses_paths_spaces_and_length() {
        for text in ["", "a b", "../x", "-x", ".x", "a/b", &"x".repeat(64), "ü"] {
            assert!(NodeName::new(text).is_err(), "{text:?}");
        }
        assert!(NodeName::new("g-012.rack_4").is_ok());
    }
}
