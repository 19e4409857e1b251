//! A list of jobs as JSON text, including fields that this version does not know, for `--json`.

use crate::failure::Failure;
use anyhow::Context as _;
use common::wire::api::JobView;
use serde::ser::SerializeMap as _;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::value::RawValue;
use std::collections::BTreeMap;

/// The raw form of [`common::wire::api::JobList`].
#[derive(Debug, Deserialize)]
#[serde(try_from = "BTreeMap<String, Box<RawValue>>")]
pub struct RawJobs {
    jobs: Vec<Box<RawValue>>,
    others: BTreeMap<String, Box<RawValue>>,
}

impl TryFrom<BTreeMap<String, Box<RawValue>>> for RawJobs {
    type Error = serde_json::Error;

    fn try_from(mut others: BTreeMap<String, Box<RawValue>>) -> serde_json::Result<Self> {
        use serde::de::Error as _;
        let missing = || serde_json::Error::missing_field(JOBS);
        let jobs = serde_json::from_str(others.remove(JOBS).ok_or_else(missing)?.get())?;
        Ok(Self { jobs, others })
    }
}

const JOBS: &str = "jobs";

/// JSON that is reformatted in the style of its surroundings.
struct Rewritten<'a>(&'a RawValue);

struct All<'a>(&'a [Box<RawValue>]);

impl RawJobs {
    /// The jobs as this version understands them.
    ///
    /// # Errors
    /// [`Failure`] if they cannot be parsed.
    pub fn typed(&self) -> Result<Vec<JobView>, Failure> {
        let read = self.jobs.iter().map(|job| serde_json::from_str(job.get()));
        Ok(read.collect::<Result<_, _>>().context(FOREIGN)?)
    }

    /// Keeps the jobs with `true`; `keep` has the same order.
    pub fn retain(&mut self, keep: impl IntoIterator<Item = bool>) {
        let mut keep = keep.into_iter();
        self.jobs.retain(|_| keep.next() == Some(true));
    }
}

const FOREIGN: &str =
    "failed to understand the controller's answer: does it have the same version as kantctl?";

impl Serialize for RawJobs {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_map(Some(self.others.len() + 1))?;
        for (name, text) in &self.others {
            list.serialize_entry(name, &Rewritten(text))?;
        }
        list.serialize_entry(JOBS, &All(&self.jobs))?;
        list.end()
    }
}

impl Serialize for All<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|text| Rewritten(text)))
    }
}

impl Serialize for Rewritten<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut text = serde_json::Deserializer::from_str(self.0.get());
        serde_transcode::transcode(&mut text, serializer)
    }
}
