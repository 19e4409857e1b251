//! The forms that change a job. Each needs a second step, and works without scripts.

use crate::frame::Frame;
use crate::words::in_path;
use common::job::Phase;
use common::wire::api::JobView;
use maud::{Markup, html};

/// A change of one job: the last part of its path, its label, and what it does.
struct Action {
    verb: &'static str,
    label: &'static str,
    effect: &'static str,
}

const CANCEL: Action = Action { verb: "cancel", label: "Cancel", effect: "The job ends." };
const HOLD: Action =
    Action { verb: "hold", label: "Hold", effect: "The job does not start until it is released." };
const RELEASE: Action =
    Action { verb: "release", label: "Release", effect: "The job may start again." };
const REQUEUE: Action = Action {
    verb: "requeue",
    label: "Requeue",
    effect: "The job starts again from the beginning; a running one is stopped first.",
};

/// The actions that make sense for a job in this state, if the user may take them.
pub fn actions(frame: &Frame<'_>, job: &JobView) -> Markup {
    let rights = frame.rights;
    let may = rights.manages_jobs && (rights.operates || job.owner.uid == rights.uid);
    let wanted: &[Action] = match job.phase {
        _ if !may => &[],
        Phase::Pending if job.held => &[RELEASE, CANCEL],
        Phase::Pending => &[HOLD, CANCEL],
        Phase::Done => &[REQUEUE],
        Phase::Completing => &[],
        _ => &[REQUEUE, CANCEL],
    };
    let key = job.key.to_string();
    html! {
        @if !wanted.is_empty() {
            div.actions {
                @for action in wanted { (form(frame, &key, action)) }
            }
        }
    }
}

fn form(frame: &Frame<'_>, key: &str, action: &Action) -> Markup {
    html! {
        details.action {
            summary { (action.label) }
            form method="post" action={ "/jobs/" (in_path(key)) "/" (action.verb) } {
                (frame.csrf_field())
                p { (action.effect) }
                button.(action.verb) type="submit" { (action.label) " job " (key) }
            }
        }
    }
}
