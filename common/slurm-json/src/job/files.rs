//! A job's command, files and mail.

use super::Row;
use crate::field::{Field, in_all_versions, since_v40};
use crate::job_file::{stderr, stdin, stdout};
use crate::version::Version;

pub(super) const ROWS: &[Row] = &[
    (in_all_versions("command"), |l| Field::text_or_empty(l.job.ask.command.as_ref())),
    (in_all_versions("current_working_directory"), |l| Field::text(&l.job.ask.work_dir)),
    (since_v40("mail_type"), |l| {
        let mail = l.job.ask.mail.iter().flat_map(|mail| &mail.on.0);
        Field::Same(mail.map(|event| event.word()).collect())
    }),
    (since_v40("mail_user"), |l| {
        let to = l.job.ask.mail.as_ref().and_then(|mail| mail.to.as_ref());
        Field::text(to.unwrap_or(&l.job.owner.name))
    }),
    (in_all_versions("standard_error").until_version(Version::V42), |l| Field::text(stderr(l.job))),
    (in_all_versions("standard_input").until_version(Version::V42), |l| Field::text(stdin(l.job))),
    (in_all_versions("standard_output").until_version(Version::V42), |l| {
        Field::text(stdout(l.job))
    }),
    // From here on as the user wrote them, and beside that filled in.
    (since_v40("standard_error").since_version(Version::V43), |l| {
        Field::text_or_empty(l.job.ask.stderr.as_ref())
    }),
    (since_v40("standard_input").since_version(Version::V43), |l| {
        Field::text(l.job.ask.stdin.as_deref().unwrap_or("/dev/null"))
    }),
    (since_v40("standard_output").since_version(Version::V43), |l| {
        Field::text(l.job.ask.stdout_pattern())
    }),
    (since_v40("stderr_expanded").since_version(Version::V43), |l| Field::text(stderr(l.job))),
    (since_v40("stdin_expanded").since_version(Version::V43), |l| Field::text(stdin(l.job))),
    (since_v40("stdout_expanded").since_version(Version::V43), |l| Field::text(stdout(l.job))),
    (in_all_versions("container"), |l| Field::text_or_empty(l.job.ask.container.as_ref())),
    (since_v40("submit_line").since_version(Version::V44), |_| Field::text("")),
];
