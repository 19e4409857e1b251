//! The forms that change a job. Each needs a second step, and works without scripts.

use crate::frame::Frame;
use crate::words::percent_encode;
use common::job::Phase;
use common::right::{JobAction, Right, Role};
use common::wire::api::JobView;
use maud::{Markup, html};

/// A change of one job: the last part of its path, its label, and what it does.
struct Action {
    verb: &'static str,
    label: &'static str,
    effect: &'static str,
    action: JobAction,
}

const CANCEL: Action =
    Action { verb: "cancel", label: "Cancel", effect: "The job ends.", action: JobAction::Cancel };
const HOLD: Action = Action {
    verb: "hold",
    label: "Hold",
    effect: "The job does not start until it is released.",
    action: JobAction::Hold,
};
const RELEASE: Action = Action {
    verb: "release",
    label: "Release",
    effect: "The job may start again.",
    action: JobAction::Release,
};
const REQUEUE: Action = Action {
    verb: "requeue",
    label: "Requeue",
    effect: "The job starts again from the beginning; a running one is stopped first.",
    action: JobAction::Requeue,
};

/// The actions that make sense for a job in this state, if the user may take them.
pub fn actions(frame: &Frame<'_>, job: &JobView) -> Markup {
    let wanted: &[Action] = match job.phase {
        Phase::Pending if job.held => &[RELEASE, CANCEL],
        Phase::Pending => &[HOLD, CANCEL],
        Phase::Done => &[REQUEUE],
        Phase::Completing => &[],
        _ => &[REQUEUE, CANCEL],
    };
    let wanted = wanted.iter().filter(|one| may(frame, job, one.action.right()));
    let wanted: Vec<&Action> = wanted.collect();
    let key = job.key.to_string();
    html! {
        @if !wanted.is_empty() {
            div.actions {
                @for action in wanted { (form(frame, &key, action)) }
            }
        }
    }
}

/// Whether the user has the right to the job, by what the page shows of it.
fn may(frame: &Frame<'_>, job: &JobView, right: Right) -> bool {
    let (rights, roles) = (frame.rights, frame.roles);
    let is_one = |role: Role| match role {
        Role::User => true,
        Role::Owner => job.owner.uid == rights.uid,
        Role::Coordinator => {
            job.ask.account.as_ref().is_some_and(|name| roles.accounts.contains(name))
                || job.ask.queue.as_ref().is_some_and(|name| roles.queues.contains(name))
        }
        Role::Support => roles.support,
        Role::Viewer => roles.viewer,
        Role::Operator => rights.operates,
    };
    rights.manages_jobs && Role::ALL.into_iter().any(|role| right.is_of(role) && is_one(role))
}

fn form(frame: &Frame<'_>, key: &str, action: &Action) -> Markup {
    html! {
        details.action {
            summary { (action.label) }
            form method="post" action={ "/jobs/" (percent_encode(key)) "/" (action.verb) } {
                (frame.csrf_field())
                p { (action.effect) }
                button.(action.verb) type="submit" { (action.label) " job " (key) }
            }
        }
    }
}
