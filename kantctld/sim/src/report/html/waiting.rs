//! Waits by job size as a drawing: for each class and policy a bar from median to P90, a whisker to
//! P99, and a dot at the mean, on a logarithmic axis. Classes without jobs are left out.

use super::course::open_svg;
use super::scale::{Frame, WaitAxis};
use super::{escape, with_thousands_separator};
use crate::report::table::{format_seconds, shown_classes};
use crate::report::{SizeClass, Summary, Waits};
use std::fmt::Write;

pub fn waiting(summaries: &[Summary]) -> String {
    let classes: Vec<SizeClass> =
        shown_classes(summaries).into_iter().filter(|class| jobs(summaries, *class) > 0).collect();
    let all = || summaries.iter().flat_map(|summary| &summary.wait_by_size);
    let least = all().filter_map(|(_, waits)| waits.p50).fold(f64::INFINITY, f64::min);
    let most = all().flat_map(|(_, waits)| [waits.mean, waits.p99]).flatten().fold(1.0, f64::max);
    let axis = WaitAxis::between(if least.is_finite() { least } else { 0.0 }, most * 1.2);
    let mut frame = Frame::new(1110.0, 320.0);
    frame.bottom -= 16.0;
    let mut svg = open_svg(frame);
    marks(&mut svg, frame, axis);
    let groups = count_as_float(classes.len().max(1));
    for (at, class) in classes.iter().enumerate() {
        let (from, to) = (count_as_float(at) / groups, count_as_float(at + 1) / groups);
        let middle = frame.x(f64::midpoint(from, to));
        // Writing into a String cannot fail, here and below.
        let _ = write!(
            svg,
            "<text class=\"strong\" x=\"{middle:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>\
             <text x=\"{middle:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{} jobs</text>",
            frame.bottom + 17.0,
            class_name(*class),
            frame.bottom + 32.0,
            with_thousands_separator(jobs(summaries, *class))
        );
        let room = (frame.x(to) - frame.x(from)) * 0.72;
        let pitch = (room / count_as_float(summaries.len().max(1))).min(46.0);
        let left = middle - pitch * count_as_float(summaries.len()) / 2.0;
        for (index, summary) in summaries.iter().enumerate() {
            if let Some((_, waits)) = summary.wait_by_size.iter().find(|(shown, _)| shown == class)
            {
                let x = left + pitch * (count_as_float(index) + 0.5);
                let name =
                    format!("{} {}, {}", summary.policy, summary.placement, class_name(*class));
                draw_box(&mut svg, (frame, axis), waits, (x, pitch * 0.62), (&name, index % 8));
            }
        }
    }
    svg.push_str("</svg>");
    svg
}

fn marks(svg: &mut String, frame: Frame, axis: WaitAxis) {
    for (place, name) in axis.marks() {
        let y = frame.y(place);
        let class = if place == 0.0 { "a" } else { "g" };
        let _ = write!(
            svg,
            "<path class=\"{class}\" d=\"M{} {y:.1}H{}\"/>\
             <text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{name}</text>",
            frame.left,
            frame.right,
            frame.left - 6.0,
            y + 3.5
        );
    }
}

fn draw_box(
    svg: &mut String,
    (frame, axis): (Frame, WaitAxis),
    waits: &Waits,
    (x, width): (f64, f64),
    (name, color): (&str, usize),
) {
    let (Some(mean), Some(p50), Some(p90), Some(p99)) =
        (waits.mean, waits.p50, waits.p90, waits.p99)
    else {
        return;
    };
    let y = |seconds| frame.y(axis.fraction(seconds));
    let (left, top) = (x - width / 2.0, y(p90));
    // At least a thin line, so that a wait of zero is visible.
    let tall = (y(p50) - top).max(2.0);
    let tick = width / 4.0;
    let show = |seconds| format_seconds(Some(seconds));
    let _ = write!(
        svg,
        "<g><title>{}: mean {}, P50 {}, P90 {}, P99 {}, {} jobs</title>\
         <path class=\"whisker\" style=\"stroke:var(--c{color})\" \
         d=\"M{x:.1} {top:.1}V{:.1}M{:.1} {:.1}h{width2:.1}\"/>\
         <rect x=\"{left:.1}\" y=\"{:.1}\" width=\"{width:.1}\" height=\"{tall:.1}\" rx=\"2\" \
         style=\"fill:var(--c{color})\" fill-opacity=\".55\"/>\
         <circle class=\"dot\" cx=\"{x:.1}\" cy=\"{:.1}\" r=\"4\" \
         style=\"fill:var(--c{color})\"/></g>",
        escape(name),
        show(mean),
        show(p50),
        show(p90),
        show(p99),
        waits.jobs,
        y(p99),
        x - tick,
        y(p99),
        top.min(frame.bottom - 2.0),
        y(mean),
        width2 = tick * 2.0,
    );
}

/// How many jobs of the class waited, under the policy that started most of them.
fn jobs(summaries: &[Summary], class: SizeClass) -> usize {
    let all = summaries.iter().flat_map(|summary| &summary.wait_by_size);
    all.filter(|(shown, _)| *shown == class).map(|(_, waits)| waits.jobs).max().unwrap_or(0)
}

fn class_name(class: SizeClass) -> String {
    match class {
        SizeClass::Cpu => "no GPU".to_owned(),
        SizeClass::Shared => "shared GPU".to_owned(),
        SizeClass::One => "1 GPU".to_owned(),
        other => format!("{} GPUs", escape(other.name())),
    }
}

fn count_as_float(number: usize) -> f64 {
    f64::from(u32::try_from(number).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::super::super::stretch::tests::two_nodes;
    use super::*;

    #[test]
    fn each_class_with_jobs_has_a_bar_for_each_policy_and_others_have_no_place() {
        let summary = Summary::of(&two_nodes());
        let drawing = waiting(&[summary.clone(), summary]);
        assert_eq!(drawing.matches("<rect").count(), 6, "three classes, two policies");
        assert!(drawing.contains(">8 GPUs<"));
        assert!(!drawing.contains(">1 GPU<"), "no job asked for one GPU");
        let tip = "fifo first, 9-32 GPUs: mean 1.5m, P50 1.5m, P90 1.5m, P99 1.5m, 1 jobs";
        assert!(drawing.contains(tip), "{drawing}");
    }

    #[test]
    fn no_wait_is_drawn_at_the_foot() {
        let mut outcome = two_nodes();
        outcome.jobs.truncate(2);
        let drawing = waiting(&[Summary::of(&outcome)]);
        assert_eq!(drawing.matches("height=\"2.0\"").count(), 2);
        assert!(drawing.contains("≤ 1s"));
    }
}
