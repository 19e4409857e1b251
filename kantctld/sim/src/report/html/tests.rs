//! Tests of the page as a whole. Its parts have their own tests.

use super::super::stretch::tests::two_nodes;
use super::*;
use common::time::Time;

#[test]
fn one_replay_gives_one_page_that_needs_nothing_else() {
    let page = html(&[two_nodes()]);
    assert!(page.starts_with("<!doctype html>") && page.ends_with("</html>\n"));
    assert_eq!(page.matches("<svg").count(), 4, "waits, allocation, queue, nodes");
    assert_eq!(page.matches("<svg").count(), page.matches("</svg>").count());
    for foreign in ["<script", "http:", "https:", "src=", "@import", "url("] {
        assert!(!page.contains(foreign), "{foreign}");
    }
    assert!(page.contains("prefers-color-scheme:dark"));
    assert!(page.contains("3 jobs replayed on 2 nodes with 16 GPUs. Seed 0."));
    assert!(!page.contains("NaN") && !page.contains("inf "));
}

#[test]
fn several_replays_stand_side_by_side_on_the_same_axes() {
    let mut slow = two_nodes();
    slow.policy = "<slow>".into();
    slow.jobs[2].end = Some(Time(300_000));
    let page = html(&[two_nodes(), slow]);
    assert_eq!(page.matches("<svg").count(), 7, "waits once, three for each");
    assert!(
        page.contains("&lt;slow&gt;") && !page.contains("<slow>"),
        "names cannot break the page"
    );
}

#[test]
fn a_long_series_is_drawn_with_at_most_two_thousand_points() {
    let mut outcome = two_nodes();
    for at in 0..50_000u32 {
        let queue_length = at % 97;
        let sample =
            Sample { at: Time(200_000 + u64::from(at)), queue_length, ..Sample::default() };
        outcome.series.push(sample).unwrap();
    }
    outcome.jobs[2].end = Some(Time(250_000));
    let axis = queue_axis(std::slice::from_ref(&outcome));
    let window = Window::of(&outcome);
    let queue = |sample: &Sample| Some(f64::from(sample.queue_length));
    let parts = condense(&outcome.series, window.first, window.end, queue);
    let drawing = course(Frame::new(530.0, 190.0), window, &axis, &parts, 0);
    assert!(drawing.matches('H').count() <= 2000, "{}", drawing.matches('H').count());
    assert!(drawing.len() < 100_000, "{}", drawing.len());
}

#[test]
fn a_replay_of_nothing_gives_a_page_too() {
    for outcomes in [vec![], vec![Outcome::default()]] {
        let page = html(&outcomes);
        assert!(page.ends_with("</html>\n") && !page.contains("NaN"), "{page}");
    }
}

#[test]
fn thousands_are_set_apart() {
    assert_eq!(
        [0, 999, 1000, 15_802, 1_234_567].map(with_thousands_separator),
        ["0", "999", "1,000", "15,802", "1,234,567"]
    );
}
