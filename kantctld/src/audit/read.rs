//! Reading the audit log: the lines that match a query, and a check of the chain. The file and its
//! predecessor of the last rotation are read, line by line.

use super::chain::Chain;
use common::time::Time;
use common::wire::api::{AuditCheck, AuditList, AuditQuery, AuditView};
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader};
use std::path::Path;

/// The most lines of one answer.
const LINES_MAX: u32 = 10_000;
const LINES_DEFAULT: u32 = 100;
/// The most breaks that are listed.
const BREAKS_MAX: usize = 100;
/// Above the longest line that is written.
const LINE_BYTES_MAX: u64 = 64 << 10;

/// The lines of the log at `path` that match. May read the whole log, so it takes a while.
///
/// # Errors
/// Those of the system; a missing file is an empty one.
pub fn read(path: &Path, query: &AuditQuery) -> io::Result<AuditList> {
    let mut reading = Reading {
        query,
        since: query.since.map(time_text),
        limit: match query.limit {
            0 => LINES_DEFAULT,
            limit => limit.min(LINES_MAX),
        } as usize,
        found: VecDeque::new(),
        chain: None,
        checked: AuditCheck::default(),
    };
    for file in [super::file::rotated_path(path), path.to_owned()] {
        match File::open(&file) {
            Ok(file) => reading.read_file(file)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(AuditList {
        file: path.display().to_string(),
        lines: reading.found.into(),
        checked: query.verify.then_some(reading.checked),
    })
}

/// The form of a time in the log.
fn time_text(at: Time) -> String {
    super::rfc3339_text(at)
}

struct Reading<'a> {
    query: &'a AuditQuery,
    since: Option<String>,
    limit: usize,
    found: VecDeque<AuditView>,
    /// `None` before the first line, whose predecessor is gone.
    chain: Option<Chain>,
    checked: AuditCheck,
}

impl Reading<'_> {
    fn read_file(&mut self, file: File) -> io::Result<()> {
        let mut reader = BufReader::new(file);
        let mut bytes = Vec::new();
        loop {
            bytes.clear();
            let mut limited = io::Read::take(&mut reader, LINE_BYTES_MAX);
            if limited.read_until(b'\n', &mut bytes)? == 0 {
                return Ok(());
            }
            let line = String::from_utf8_lossy(&bytes);
            self.line(line.trim_end_matches('\n'));
        }
    }

    fn line(&mut self, line: &str) {
        if self.query.verify {
            self.check(line);
        }
        let Ok(view) = serde_json::from_str::<AuditView>(line) else { return };
        if self.matches(&view) {
            if self.found.len() == self.limit {
                self.found.pop_front();
            }
            self.found.push_back(view);
        }
    }

    fn check(&mut self, line: &str) {
        self.checked.lines += 1;
        let follows = match &mut self.chain {
            Some(chain) => chain.follows(line),
            None => {
                self.chain = Some(Chain::after(line));
                true
            }
        };
        if !follows && self.checked.breaks.len() < BREAKS_MAX {
            self.checked.breaks.push(self.checked.lines);
        }
    }

    fn matches(&self, view: &AuditView) -> bool {
        let query = self.query;
        let is_user = |user: &String| {
            let uid = view.uid.map(|uid| uid.to_string());
            view.user.as_ref() == Some(user) || uid.as_ref() == Some(user)
        };
        self.since.as_ref().is_none_or(|since| view.at >= *since)
            && query.user.as_ref().is_none_or(is_user)
            && query.verb.as_ref().is_none_or(|verb| view.verb.starts_with(verb.as_str()))
            && query.target.as_ref().is_none_or(|target| view.target == *target)
            && query.via.as_ref().is_none_or(|via| view.via.contains(via.as_str()))
            && (!query.refused || view.result == "refused")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(user: &str, verb: &str, result: &str, second: u64) -> String {
        let at = time_text(Time(second * 1000));
        serde_json::json!({
            "at": at, "uid": 7, "user": user, "via": "node g-1", "verb": verb, "target": "4",
            "result": result,
        })
        .to_string()
    }

    fn log(dir: &Path) -> std::path::PathBuf {
        let mut chain = Chain::default();
        let sealed: Vec<String> = [
            line("ann", "jobs/submit", "done", 1),
            line("bob", "jobs/cancel", "refused", 2),
            line("ann", "nodes/drain", "refused", 3),
        ]
        .iter()
        .map(|line| chain.seal(line) + "\n")
        .collect();
        let path = dir.join("audit.log");
        std::fs::write(dir.join("audit.log.1"), &sealed[0]).unwrap();
        std::fs::write(&path, sealed[1..].concat()).unwrap();
        path
    }

    #[test]
    fn a_query_finds_lines_in_both_files_by_each_field() {
        let dir = tempfile::tempdir().unwrap();
        let path = log(dir.path());
        let verbs = |query: AuditQuery| -> Vec<String> {
            read(&path, &query).unwrap().lines.into_iter().map(|line| line.verb).collect()
        };
        let all = AuditQuery::default();
        assert_eq!(verbs(all.clone()), ["jobs/submit", "jobs/cancel", "nodes/drain"]);
        let text = |text: &str| Some(text.to_owned());
        assert_eq!(verbs(AuditQuery { user: text("bob"), ..all.clone() }), ["jobs/cancel"]);
        assert_eq!(verbs(AuditQuery { user: text("7"), limit: 1, ..all.clone() }), ["nodes/drain"]);
        let jobs = AuditQuery { verb: text("jobs"), ..all.clone() };
        assert_eq!(verbs(jobs), ["jobs/submit", "jobs/cancel"]);
        let refused = AuditQuery { refused: true, since: Some(Time(2500)), ..all.clone() };
        assert_eq!(verbs(refused), ["nodes/drain"]);
        assert!(verbs(AuditQuery { via: text("socket"), ..all.clone() }).is_empty());
        assert!(verbs(AuditQuery { target: text("5"), ..all }).is_empty());
    }

    #[test]
    fn a_check_counts_the_lines_and_names_those_that_do_not_follow() {
        let dir = tempfile::tempdir().unwrap();
        let path = log(dir.path());
        let query = AuditQuery { verify: true, ..AuditQuery::default() };
        let check = || read(&path, &query).unwrap().checked.unwrap();
        assert_eq!(check(), AuditCheck { lines: 3, breaks: vec![] });
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, text.replace("bob", "eve")).unwrap();
        assert_eq!(check(), AuditCheck { lines: 3, breaks: vec![2] });
        let none = read(&dir.path().join("no"), &query).unwrap();
        assert_eq!(none.checked, Some(AuditCheck::default()));
    }
}
