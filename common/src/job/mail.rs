//! Which letters a user wants about a job, and to whom: `--mail-type` and `--mail-user`.
//! Source: man sbatch. Never writes one; the controller that leads does.

use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

/// The most addresses of one job's letters.
pub const ADDRESSES_MAX: usize = 8;

/// The longest address, in bytes (RFC 5321, 4.5.3.1.3, without its brackets).
pub const ADDRESS_BYTES_MAX: usize = 254;

/// What a letter is written about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MailEvent {
    Begin,
    /// It is over, however that came.
    End,
    /// It is over, and neither completed nor was cancelled.
    Fail,
    /// It waits again, for another attempt.
    Requeue,
    /// What it waits for of other jobs cannot come any more.
    InvalidDepend,
    /// Half of its time is up.
    TimeLimit50,
    /// 80 percent of its time are up.
    TimeLimit80,
    /// 90 percent of its time are up.
    TimeLimit90,
    /// It reached its time limit.
    TimeLimit,
    /// Of each task of an array; without it, letters are about the array as a whole.
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

    /// Slurm's word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        Self::ALL.iter().find(|(event, _)| *event == self).map_or("", |(_, word)| word)
    }
}

/// About what letters are written; about nothing by default.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct MailEvents(pub BTreeSet<MailEvent>);

/// A text that names no events.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MailError {
    #[error(
        "`{0}` is nothing that letters are written about: write NONE, ALL, or some of BEGIN, END, \
         FAIL, REQUEUE, INVALID_DEPEND, TIME_LIMIT, TIME_LIMIT_90, TIME_LIMIT_80, TIME_LIMIT_50 \
         and ARRAY_TASKS, with commas between them"
    )]
    Event(String),
    #[error("STAGE_OUT is of burst buffers, and there are none: leave it out")]
    StageOut,
    #[error(
        "`{0}` is no address for letters: write NAME or NAME@HOST, with letters, digits and \
         . _ - + = only"
    )]
    Address(String),
    /// More addresses than [`ADDRESSES_MAX`].
    #[error("{0} addresses are more than {ADDRESSES_MAX}: write to a mailing list")]
    Addresses(usize),
}

impl MailEvents {
    /// Is a letter written about this?
    #[must_use]
    pub fn has(&self, event: MailEvent) -> bool {
        self.0.contains(&event)
    }

    /// Is none written?
    #[must_use]
    pub fn is_none(&self) -> bool {
        self.0.iter().all(|event| *event == MailEvent::ArrayTasks)
    }
}

/// Slurm's form: words with commas between them; NONE among them makes it none.
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
                (None, "STAGE_OUT") => return Err(MailError::StageOut),
                (None, _) => return Err(MailError::Event(word.to_owned())),
            }
        }
        if none {
            events.clear();
        }
        Ok(Self(events))
    }
}

/// As Slurm shows it: `BEGIN,END`; `NONE`.
impl fmt::Display for MailEvents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words: Vec<&str> = self.0.iter().map(|event| event.word()).collect();
        f.pad(&if words.is_empty() { "NONE".to_owned() } else { words.join(",") })
    }
}

/// Letters about a job.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Mail {
    pub on: MailEvents,
    /// To whom: addresses, or users' names, with commas between them; `None`: the job's owner.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
}

impl Mail {
    /// With other events, or to others; `None` once nothing is left to be kept.
    #[must_use]
    pub fn kept(self) -> Option<Self> {
        (self != Self::default()).then_some(self)
    }
}

/// The addresses in a text, each one that a mail program takes for nothing else: not for an option,
/// a file, a program, or a line of the letter's head.
///
/// # Errors
/// [`MailError`] of the first that is not.
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
            ("END;FAIL", "`END;FAIL` is nothing"),
            ("FINISH", "`FINISH` is nothing"),
            ("END,", "`` is nothing"),
            ("ALL,STAGE_OUT", "burst buffers"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(word), "{text}: {error}");
        }
    }

    #[test]
    fn tasks_alone_are_nothing_to_write_about() {
        for (text, none) in [("ARRAY_TASKS", true), ("NONE", true), ("END,ARRAY_TASKS", false)] {
            assert_eq!(text.parse::<MailEvents>().unwrap().is_none(), none, "{text}");
        }
    }

    #[test]
    fn an_address_is_no_option_no_file_no_program_and_no_line_of_a_head() {
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
        assert_eq!(Mail::default().kept(), None);
    }
}
