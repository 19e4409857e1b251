//! The expected start of a job with and without a change, in sentences.

use super::time::{local, localized};
use common::hostlist::compress;
use common::text::escape_hidden;
use common::wire::api::{StartOutlook, WhatIfView};
use jiff::tz::TimeZone;

/// The outlook with the change (`what`), without it, and a recommendation.
#[must_use]
pub fn comparison(view: &WhatIfView, what: &str, zone: &TimeZone) -> String {
    let with = outlook(&view.changed, zone);
    let without = outlook(&view.compared_with, zone);
    let recommendation = match recommendation(view, what) {
        Some(text) => format!("{text}\n"),
        None => String::new(),
    };
    let (what, with, without) =
        (escape_hidden(what), escape_hidden(&with), escape_hidden(&without));
    format!(
        "With {what}, job {} {with}.\nWithout the change, it {without}.\n{recommendation}",
        view.key
    )
}

/// Whether the change helps; `None`: the outlooks cannot be compared.
fn recommendation(view: &WhatIfView, what: &str) -> Option<String> {
    let at = |outlook: &StartOutlook| {
        let later = outlook.expected_at.filter(|_| !outlook.bounded);
        outlook.starts_now.as_ref().map(|_| view.as_of).or(later)
    };
    if can_never_start(&view.changed) && !can_never_start(&view.compared_with) {
        return Some(
            "What to do: leave it as it is: with the change it could never start.".to_owned(),
        );
    }
    let (with, without) = (at(&view.changed)?, at(&view.compared_with));
    let command = update_command(view, what);
    Some(match without {
        None => format!("What to do: {command}; without it the start time is unknown."),
        Some(without) if with < without => {
            let saved = without.since(with);
            format!("What to do: {command} saves {saved} of waiting.")
        }
        Some(without) if with > without => {
            let delay = with.since(without);
            format!("What to do: leave it as it is: the change would delay it by {delay}.")
        }
        Some(_) => "What to do: leave it as it is: the change makes no difference.".to_owned(),
    })
}

/// The `kantctl update` command that makes the change.
fn update_command(view: &WhatIfView, what: &str) -> String {
    let option = |word: &str| {
        let word = word.trim_start_matches("--");
        let (key, value) = word.split_once('=').unwrap_or((word, ""));
        let key = match key {
            "cpus" => "cpus-per-task",
            key => key,
        };
        let is_plain = value.chars().all(|c| c.is_ascii_alphanumeric() || "-_.:+,%".contains(c));
        let quote = if is_plain { "" } else { "'" };
        format!(" --{key}={quote}{value}{quote}")
    };
    let options: String = what.split(' ').map(option).collect();
    format!("`kantctl update {}{options}`", view.key.job)
}

/// Whether the job could never start on this cluster within its limits, even with all nodes free.
#[must_use]
pub fn can_never_start(outlook: &StartOutlook) -> bool {
    outlook.reason.as_ref().is_some_and(|reason| reason.detail.is_for_ever())
}

#[must_use]
pub fn outlook(outlook: &StartOutlook, zone: &TimeZone) -> String {
    let why =
        outlook.reason.as_ref().map(|reason| format!(" ({})", localized(&reason.sentence, zone)));
    let why = why.unwrap_or_default();
    match (&outlook.starts_now, outlook.expected_at) {
        (Some(nodes), _) => format!("would start now, on {}", compress(nodes)),
        (None, Some(at)) if outlook.bounded => {
            format!("would start at {} at the earliest{why}", local(at, zone))
        }
        (None, Some(at)) => format!("would start at about {}{why}", local(at, zone)),
        (None, None) if can_never_start(outlook) => format!("could never start{why}"),
        (None, None) => format!("would wait for an unknown time{why}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use common::id::NodeName;
    use common::reason::{Need, WaitReason};
    use common::time::Time;
    use common::unit::{Bytes, Cpus, Gpus, Nodes};
    use common::wire::api::ReasonView;

    fn view(changed: StartOutlook, compared_with: StartOutlook) -> String {
        let as_of = Time(1_700_000_000_000);
        let view = WhatIfView { key: "42".parse().unwrap(), changed, compared_with, as_of };
        // WholeController the wire format.
        let text = serde_json::to_string(&view).unwrap();
        let view = serde_json::from_str(&text).unwrap();
        comparison(&view, "time=2h gpus=4", &TimeZone::UTC)
    }

    fn later(minutes: u64) -> StartOutlook {
        let detail = WaitReason::Held;
        let reason = Some(ReasonView { code: "x".into(), sentence: "full".into(), detail });
        let expected_at = Some(Time(1_700_000_000_000 + minutes * 60_000));
        StartOutlook { expected_at, reason, ..StartOutlook::default() }
    }

    fn now() -> StartOutlook {
        let nodes = ["g-001", "g-002"].map(|name| NodeName::new(name).unwrap());
        StartOutlook { starts_now: Some(nodes.to_vec()), ..StartOutlook::default() }
    }

    #[test]
    fn a_change_that_helps_is_recommended_with_the_time_saved() {
        let expected = "\
With time=2h gpus=4, job 42 would start now, on g-[001-002].
Without the change, it would start at about 2023-11-14 23:13:20 (full).
What to do: `kantctl update 42 --time=2h --gpus=4` saves 01:00:00 of waiting.
";
        assert_eq!(view(now(), later(60)), expected);
    }

    #[test]
    fn a_change_that_does_not_help_is_not_recommended() {
        assert!(view(later(60), later(60)).ends_with("makes no difference.\n"));
        assert!(view(later(60), later(30)).ends_with("would delay it by 30:00.\n"));
        let never = StartOutlook { expected_at: None, ..later(0) };
        let text = view(never.clone(), later(30));
        assert!(text.contains("an unknown time (full)") && !text.contains("What to do"));
        let bounded = StartOutlook { bounded: true, ..later(60) };
        let text = view(bounded, later(30));
        assert!(text.contains("at the earliest (full)"), "{text}");
        assert!(!text.contains("What to do"), "{text}");
        assert!(view(now(), never).contains("--gpus=4`; without it the start time is unknown"));
    }

    #[test]
    fn a_change_with_which_the_job_could_never_start_is_not_recommended() {
        let need = Need {
            nodes: Nodes(1),
            cpus: Cpus(1),
            memory: Bytes(0),
            gpus: Gpus(400),
            gpu_kind: None,
            gpu_part: None,
        };
        let detail = WaitReason::NeverFits { need, largest: None, nodes_fit: Nodes(0) };
        let reason = Some(ReasonView { code: "x".into(), sentence: "full".into(), detail });
        let never = StartOutlook { reason, ..StartOutlook::default() };
        let text = view(never.clone(), later(30));
        assert!(text.contains("job 42 could never start (full)."), "{text}");
        assert!(
            text.ends_with(
                "What to do: leave it as it is: with the change it could never start.\n"
            )
        );
        let text = view(never.clone(), never);
        assert!(text.ends_with("Without the change, it could never start (full).\n"), "{text}");
    }
}
