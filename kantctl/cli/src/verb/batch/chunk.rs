//! Requests of bounded size, each of which submits many lines of a batch. Scripts and environments
//! are sent once each; the order of lines is kept.

use crate::failure::Failure;
use crate::submission::submit_request::request_key;
use common::id::RequestKey;
use common::wire::api::{BATCH_BYTES_MAX, BatchJob, BatchRequest, SubmitRequest};

/// Small enough that each request is answered within a moment.
const JOBS_MAX: usize = 1000;
/// Far below the largest request that a controller accepts.
const BYTES_MAX: usize = 8 << 20;

/// One request, and the line numbers of its jobs.
pub(super) struct Chunk {
    pub request: BatchRequest,
    pub lines: Vec<usize>,
    bytes: usize,
    /// Size if nothing were shared, as in the controller's log.
    unshared_bytes: usize,
}

pub(super) struct Chunks {
    key: RequestKey,
    chunks: Vec<Chunk>,
}

impl Chunks {
    pub fn new() -> Result<Self, Failure> {
        Ok(Self { key: request_key()?, chunks: Vec::new() })
    }

    pub fn add(&mut self, line: usize, submit: SubmitRequest) {
        let environment = submit.environment.iter().map(|(name, value)| name.len() + value.len());
        // The rest of the request is some hundred bytes.
        let args: usize = submit.ask.args.iter().map(String::len).sum();
        let bytes = submit.script.len() + environment.sum::<usize>() + args + 1024;
        let fits = |chunk: &&mut Chunk| {
            chunk.lines.len() < JOBS_MAX
                && chunk.bytes + bytes <= BYTES_MAX
                && chunk.unshared_bytes + bytes <= BATCH_BYTES_MAX
        };
        let number = self.chunks.len();
        let chunk = match self.chunks.last_mut().filter(fits) {
            Some(_) => self.chunks.last_mut(),
            None => {
                self.chunks.push(Chunk {
                    request: BatchRequest {
                        request_key: RequestKey(format!("{}-{number}", self.key.0)),
                        scripts: Vec::new(),
                        environments: Vec::new(),
                        jobs: Vec::new(),
                    },
                    lines: Vec::new(),
                    bytes: 0,
                    unshared_bytes: 0,
                });
                self.chunks.last_mut()
            }
        };
        if let Some(chunk) = chunk {
            chunk.add(line, submit, bytes);
        }
    }

    /// All requests, in the order of lines.
    pub fn all(self) -> Vec<Chunk> {
        self.chunks
    }
}

impl Chunk {
    fn add(&mut self, line: usize, submit: SubmitRequest, bytes: usize) {
        let SubmitRequest { ask, script, environment, .. } = submit;
        let (script, old_script) = index_or_insert(&mut self.request.scripts, script);
        let (environment, old_environment) =
            index_or_insert(&mut self.request.environments, environment);
        self.unshared_bytes += bytes;
        self.bytes += if old_script && old_environment { 1024 } else { bytes };
        self.request.jobs.push(BatchJob { ask, script, environment });
        self.lines.push(line);
    }
}

/// The index of `thing` in `things`, where it is added if it is new. The search starts at the end,
/// because the last ones are the likeliest; the bool says whether it was there already.
fn index_or_insert<T: PartialEq>(things: &mut Vec<T>, thing: T) -> (u32, bool) {
    let known = things.iter().rposition(|known| *known == thing);
    let place = known.unwrap_or_else(|| {
        things.push(thing);
        things.len() - 1
    });
    // There are at most a thousand.
    (u32::try_from(place).unwrap_or(u32::MAX), known.is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use common::job::Ask;
    use std::collections::BTreeMap;

    fn submit(script: &str) -> SubmitRequest {
        SubmitRequest {
            request_key: RequestKey("k".to_owned()),
            ask: Ask::default(),
            script: script.to_owned(),
            environment: BTreeMap::from([("A".to_owned(), "b".to_owned())]),
        }
    }

    #[test]
    fn shared_scripts_and_environments_are_sent_once() {
        let mut chunks = Chunks::new().unwrap();
        for (line, script) in [(1, "a"), (2, "b"), (4, "a")] {
            chunks.add(line, submit(script));
        }
        let all = chunks.all();
        let [Chunk { request, lines, .. }] = all.as_slice() else { panic!("one request") };
        assert_eq!((lines.as_slice(), request.scripts.len()), (&[1, 2, 4][..], 2));
        assert_eq!((request.jobs[2].script, request.environments.len()), (0, 1));
        assert!(request.request_key.0.len() <= 56);
    }

    #[test]
    fn requests_are_bounded_and_have_different_keys() {
        let mut chunks = Chunks::new().unwrap();
        (0..JOBS_MAX + 1).for_each(|line| chunks.add(line, submit("a")));
        let large = |letter: &str| letter.repeat(BYTES_MAX / 2);
        ["x", "y", "z"].iter().for_each(|letter| chunks.add(0, submit(&large(letter))));
        let all = chunks.all();
        let sizes: Vec<usize> = all.iter().map(|chunk| chunk.lines.len()).collect();
        assert_eq!(sizes, [JOBS_MAX, 2, 1, 1]);
        assert_ne!(all[0].request.request_key, all[1].request.request_key);
        // A script shared by many jobs is sent once, but written to the log for each of them.
        let (mut chunks, script) = (Chunks::new().unwrap(), "x".repeat(BYTES_MAX / 4));
        (0..40).for_each(|line| chunks.add(line, submit(&script)));
        let sizes: Vec<usize> = chunks.all().iter().map(|chunk| chunk.lines.len()).collect();
        assert_eq!(sizes, [31, 9]);
    }
}
