//! The notifications that a user requests for a job: `--mail-type` and `--mail-user`.
//! Source: man sbatch.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

/// The maximum number of addresses for one job's notifications.
pub const ADDRESSES_MAX: usize = 8;

/// The maximum length of an address in bytes (RFC 5321, 4.5.3.1.3, without its brackets).
pub const ADDRESS_BYTES_MAX: usize = 254;

/// The event that a notification reports.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum MailEvent {
    Begin,
    /// The job ended.
    End,
    /// The job ended, and was neither completed nor cancelled.
    Fail,
    /// The job was requeued.
    Requeue,
    /// The job's dependency can no longer be satisfied.
    InvalidDepend,
    /// Half of the time limit has passed.
    TimeLimit50,
    /// 80 percent of the time limit have passed.
    TimeLimit80,
    /// 90 percent of the time limit have passed.
    TimeLimit90,
    TimeLimit,
    /// Notify for each task of an array; without it, notify for the array as a whole.
    ArrayTasks,
}

impl MailEvent {
    const ALL: [(Self, &'static str); 10] = [
        (Self::Begin, "BEGIN"),
        (Self::End, "END"),
        (Self::Fail, "FAIL"),
        (Self::Requeue, "REQUEUE"),
        (Self::InvalidDepend, "INVALID_DEPEND"),
        (Self::TimeLimit50, "TIME_LIMIT_50"),
        (Self::TimeLimit80, "TIME_LIMIT_80"),
        (Self::TimeLimit90, "TIME_LIMIT_90"),
        (Self::TimeLimit, "TIME_LIMIT"),
        (Self::ArrayTasks, "ARRAY_TASKS"),
    ];

    /// Slurm's name.
    #[must_use]
    pub fn word(self) -> &'static str {
        Self::ALL.iter().find(|(event, _)| *event == self).map_or("", |(_, word)| word)
    }
}

/// The requested notifications; none by default.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct MailEvents(pub BTreeSet<MailEvent>);

/// The text is not a valid `--mail-type` or `--mail-user`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MailError {
    #[error(
        "`{0}` is not a mail type: write NONE, ALL, or some of BEGIN, END, \
         FAIL, REQUEUE, INVALID_DEPEND, TIME_LIMIT, TIME_LIMIT_90, TIME_LIMIT_80, TIME_LIMIT_50 \
         and ARRAY_TASKS, separated by commas"
    )]
    Event(String),
    #[error(
        "`{0}` is not a mail address: write NAME or NAME@HOST, with letters, digits and \
         . _ - + = only"
    )]
    Address(String),
    #[error("{0} addresses are more than {ADDRESSES_MAX}: use a mailing list")]
    Addresses(usize),
}

impl MailEvents {
    /// Is a notification requested for this event?
    #[must_use]
    pub fn has(&self, event: MailEvent) -> bool {
        self.0.contains(&event)
    }

    /// Is no notification requested?
    #[must_use]
    pub fn is_none(&self) -> bool {
        self.0.iter().all(|event| *event == MailEvent::ArrayTasks)
    }
}

/// Slurm's form: names separated by commas; NONE among them disables all.
impl FromStr for MailEvents {
    type Err = MailError;
    fn from_str(text: &str) -> Result<Self, MailError> {
        let (mut events, mut none) = (BTreeSet::new(), false);
        for word in text.split(',').map(str::trim) {
            let upper = word.to_ascii_uppercase();
            let known = MailEvent::ALL.iter().find(|(_, known)| *known == upper);
            match (known, upper.as_str()) {
                (Some((event, _)), _) => {
                    events.insert(*event);
                }
                (None, "NONE") => none = true,
                (None, "ALL") => events.extend([
                    MailEvent::Begin,
                    MailEvent::End,
                    MailEvent::Fail,
                    MailEvent::InvalidDepend,
                    MailEvent::Requeue,
                ]),
                (None, _) => return Err(MailError::Event(word.to_owned())),
            }
        }
        if none {
            events.clear();
        }
        Ok(Self(events))
    }
}

/// Slurm's form: `BEGIN,END`; `NONE`.
impl fmt::Display for MailEvents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words: Vec<&str> = self.0.iter().map(|event| event.word()).collect();
        f.pad(&if words.is_empty() { "NONE".to_owned() } else { words.join(",") })
    }
}

/// The notifications for a job.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Mail {
    pub on: MailEvents,
    /// Addresses or user names, separated by commas; `None`: the job's owner.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
}

impl Mail {
    /// `None` if nothing is requested.
    #[must_use]
    pub fn none_if_default(self) -> Option<Self> {
        (self != Self::default()).then_some(self)
    }
}

/// The addresses in a text. Each is safe to pass to a mail program: it cannot be read as an option,
/// a file, a program or a header line.
///
/// # Errors
/// [`MailError`] for the first invalid address.
pub fn addresses(text: &str) -> Result<Vec<&str>, MailError> {
    let addresses: Vec<&str> = text.split(',').map(str::trim).collect();
    if addresses.len() > ADDRESSES_MAX {
        return Err(MailError::Addresses(addresses.len()));
    }
    match addresses.iter().find(|address| !is_address(address)) {
        Some(wrong) => Err(MailError::Address(wrong.chars().take(80).collect())),
        None => Ok(addresses),
    }
}

fn is_address(text: &str) -> bool {
    let (name, host) = text.split_once('@').map_or((text, None), |(name, host)| (name, Some(host)));
    let begins = |text: &str| text.starts_with(|c: char| c.is_ascii_alphanumeric());
    let in_name = |c: char| c.is_ascii_alphanumeric() || "._-+=".contains(c);
    let in_host = |c: char| c.is_ascii_alphanumeric() || ".-".contains(c);
    let is_name = (begins(name) || name.starts_with('_')) && name.chars().all(in_name);
    let is_host = host.is_none_or(|host| begins(host) && host.chars().all(in_host));
    is_name && is_host && text.len() <= ADDRESS_BYTES_MAX
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<String, String> {
        text.parse::<MailEvents>().map(|m| m.to_string()).map_err(|error| error.to_string())
    }

    #[test]
    fn the_words_of_sbatch_are_read() {
        for (text, shown) in [
            ("END", "END"),
            ("end,fail", "END,FAIL"),
            ("FAIL, BEGIN", "BEGIN,FAIL"),
            ("ALL", "BEGIN,END,FAIL,REQUEUE,INVALID_DEPEND"),
            ("TIME_LIMIT_90,TIME_LIMIT,time_limit_50", "TIME_LIMIT_50,TIME_LIMIT_90,TIME_LIMIT"),
            ("ALL,ARRAY_TASKS", "BEGIN,END,FAIL,REQUEUE,INVALID_DEPEND,ARRAY_TASKS"),
            ("NONE", "NONE"),
            ("END,NONE", "NONE"),
        ] {
            assert_eq!(read(text).as_deref(), Ok(shown), "{text}");
        }
        for (text, word) in [
            ("", "write NONE, ALL"),
            ("END;FAIL", "`END;FAIL` is not a mail type"),
            ("FINISH", "`FINISH` is not a mail type"),
            ("END,", "`` is not a mail type"),
            ("ALL,STAGE_OUT", "`STAGE_OUT` is not a mail type"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(word), "{text}: {error}");
        }
    }

    #[test]
    fn array_tasks_alone_request_no_notification() {
        for (text, none) in [("ARRAY_TASKS", true), ("NONE", true), ("END,ARRAY_TASKS", false)] {
            assert_eq!(text.parse::<MailEvents>().unwrap().is_none(), none, "{text}");
        }
    }

    #[test]
    fn an_address_is_neither_option_file_program_nor_header_line() {
        for good in ["ada", "ada@example.org", "a.b+c_d=e-f@mail-1.example.org", "_svc", "9lives"] {
            assert_eq!(addresses(good), Ok(vec![good]));
        }
        assert_eq!(addresses("ada, bob@x").unwrap(), ["ada", "bob@x"]);
        let long = format!("{}@x", "a".repeat(ADDRESS_BYTES_MAX));
        for bad in [
            "",
            "-oQ/tmp",
            "--",
            "|rm -rf /",
            "/etc/passwd",
            "./file",
            "+folder",
            "~root",
            "a/b",
            "ada@",
            "@x",
            "ada@-x",
            "ada@x@y",
            "ada bob",
            "ada\nBcc: bob",
            "ada@x\r\nSubject: y",
            "ada\0",
            "ada;x",
            "ada\"x",
            "<ada@x>",
            "$USER",
            "!x",
            "ä@x",
            "ada,,bob",
            "ada,",
            &long,
        ] {
            assert!(matches!(addresses(bad), Err(MailError::Address(_))), "{bad:?}");
        }
        assert_eq!(addresses(&["a"; 9].join(",")), Err(MailError::Addresses(9)));
    }

    #[test]
    fn what_the_log_keeps_stays_as_it_is() {
        let kept = r#"{"on":["begin","time_limit80"],"to":"ada@x"}"#;
        let on = "TIME_LIMIT_80,BEGIN".parse().unwrap();
        let mail = Mail { on, to: Some("ada@x".to_owned()) };
        assert_eq!(serde_json::to_string(&mail).unwrap(), kept);
        assert_eq!(serde_json::from_str::<Mail>(kept).unwrap(), mail);
        assert_eq!(serde_json::from_str::<Mail>(r#"{"on":["end"]}"#).unwrap().to, None);
        assert_eq!(Mail::default().none_if_default(), None);
    }
}
