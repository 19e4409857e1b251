//! A job's command, files and mail.

use super::Row;
use crate::field::{Field, always, stated};
use crate::job_file::{stderr, stdin, stdout};
use crate::version::Version;

pub(super) const ROWS: &[Row] = &[
    (always("command"), |l| Field::text_or_empty(l.job.ask.command.as_ref())),
    (always("current_working_directory"), |l| Field::text(&l.job.ask.work_dir)),
    (stated("mail_type"), |l| {
        let mail = l.job.ask.mail.iter().flat_map(|mail| &mail.on.0);
        Field::Same(mail.map(|event| event.word()).collect())
    }),
    (stated("mail_user"), |l| {
        let to = l.job.ask.mail.as_ref().and_then(|mail| mail.to.as_ref());
        Field::text(to.unwrap_or(&l.job.owner.name))
    }),
    (always("standard_error").until(Version::V42), |l| Field::text(stderr(l.job))),
    (always("standard_input").until(Version::V42), |l| Field::text(stdin(l.job))),
    (always("standard_output").until(Version::V42), |l| Field::text(stdout(l.job))),
    // From here on as the user wrote them, and beside that filled in.
    (stated("standard_error").from(Version::V43), |l| {
        Field::text_or_empty(l.job.ask.stderr.as_ref())
    }),
    (stated("standard_input").from(Version::V43), |l| {
        Field::text(l.job.ask.stdin.as_deref().unwrap_or("/dev/null"))
    }),
    (stated("standard_output").from(Version::V43), |l| Field::text(l.job.ask.stdout_pattern())),
    (stated("stderr_expanded").from(Version::V43), |l| Field::text(stderr(l.job))),
    (stated("stdin_expanded").from(Version::V43), |l| Field::text(stdin(l.job))),
    (stated("stdout_expanded").from(Version::V43), |l| Field::text(stdout(l.job))),
    (always("container"), |l| Field::text_or_empty(l.job.ask.container.as_ref())),
    (stated("submit_line").from(Version::V44), |_| Field::text("")),
];
