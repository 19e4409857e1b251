//! The node heatmap as a drawing: a row per node (or per few neighbours), a column per part of
//! time, darker for busier. Idle parts are not drawn.

use super::course::{open_svg, time_axis};
use super::escape;
use super::scale::{Frame, fraction};
use crate::report::summary::Window;
use crate::report::{Heatmap, Outcome};
use common::time::Time;
use std::fmt::Write;

/// The most rows. With more nodes, neighbours in the file share rows.
const ROWS_MAX: usize = 96;

/// Shades from idle to full.
const SHADES: usize = 10;

/// A row of the drawing.
struct Row {
    /// GPU time per bucket, in thousandths of a GPU times milliseconds.
    busy: Vec<u64>,
    /// The GPUs of its nodes.
    gpus: u64,
    /// The name of its first node.
    name: String,
}

/// The legend of the shades.
pub fn shade_legend() -> String {
    let shade = |shade: usize| {
        let opacity = shade * 100 / SHADES;
        format!("<i style=\"background:var(--heat);opacity:{opacity}%\"></i>")
    };
    let shades: String = (1..=SHADES).map(shade).collect();
    format!("<div class=\"legend key\"><span>idle {shades} all GPUs allocated</span></div>")
}

/// The drawing, `width` wide; `None` for a cluster without GPUs.
pub fn nodes(width: f64, window: Window, outcome: &Outcome) -> Option<String> {
    let rows = rows(outcome);
    if rows.is_empty() {
        return None;
    }
    let count = f64::from(u32::try_from(rows.len()).unwrap_or(u32::MAX));
    let pitch = (240.0 / count).clamp(2.0, 12.0);
    let mut frame = Frame::new(width, count * pitch + 30.0);
    frame.left = 78.0;
    let mut svg = open_svg(frame);
    let mut shades = vec![String::new(); SHADES + 1];
    for (at, row) in rows.iter().enumerate() {
        let top = frame.top + pitch * f64::from(u32::try_from(at).unwrap_or(u32::MAX));
        draw_row(&mut shades, row, &outcome.heatmap, window, (frame, top, pitch));
        if at % rows.len().div_ceil(6).max(1) == 0 {
            let (x, y) = (frame.left - 6.0, top + pitch / 2.0 + 3.5);
            let name = escape(&short(&row.name));
            // Writing into a String cannot fail, here and below.
            let _ = write!(svg, "<text x=\"{x}\" y=\"{y:.1}\" text-anchor=\"end\">{name}</text>");
        }
    }
    let edge = format!("M{} {}V{}H{}", frame.left, frame.top, frame.bottom, frame.right);
    for (shade, path) in shades.iter().enumerate().filter(|(_, path)| !path.is_empty()) {
        let opacity = shade * 100 / SHADES;
        let _ = write!(svg, "<path class=\"heat\" opacity=\".{opacity:02}\" d=\"{path}\"/>");
    }
    let _ = write!(svg, "<path class=\"a\" d=\"{edge}\"/>");
    time_axis(&mut svg, frame, window);
    svg.push_str("</svg>");
    Some(svg.replace("opacity=\".100\"", "opacity=\"1\""))
}

/// Adds a row's busy parts to the paths of their shades. Neighbours of one shade are one piece.
fn draw_row(
    shades: &mut [String],
    row: &Row,
    heatmap: &Heatmap,
    window: Window,
    (frame, top, pitch): (Frame, f64, f64),
) {
    let levels = bucket_shades(row, heatmap, window);
    let width = heatmap.bucket_length().0;
    let x = |bucket: usize| {
        let at = Time(width.saturating_mul(bucket as u64).max(window.first.0).min(window.end.0));
        frame.x(fraction(at, window.first, window.end))
    };
    let mut from = 0;
    while from < levels.len() {
        let same = levels[from..].iter().take_while(|level| **level == levels[from]).count();
        if levels[from] > 0 {
            let (left, right) = (x(from), x(from + same));
            let wide = right - left;
            // Thick rows have gaps; thin ones overlap a little, since rounding would leave lines.
            let tall = if pitch > 5.0 { pitch - 1.0 } else { pitch + 0.3 };
            let path = &mut shades[levels[from]];
            let _ = write!(path, "M{left:.1} {top:.1}h{wide:.1}v{tall:.1}h-{wide:.1}z");
        }
        from += same;
    }
}

/// The shade of each bucket. The buckets at the ends count as short as the window leaves them.
fn bucket_shades(row: &Row, heatmap: &Heatmap, window: Window) -> Vec<usize> {
    let width = heatmap.bucket_length().0;
    let level = |(at, busy): (usize, &u64)| {
        let from = Time(width.saturating_mul(at as u64)).max(window.first);
        let to = Time(width.saturating_mul(at as u64 + 1)).min(window.end);
        let all = u128::from(row.gpus) * 1000 * u128::from(to.since(from).0);
        if all == 0 {
            return 0;
        }
        // Any value above zero is visible.
        let level = (u128::from(*busy) * SHADES as u128).div_ceil(all);
        usize::try_from(level).unwrap_or(SHADES).min(SHADES)
    };
    row.busy.iter().enumerate().map(level).collect()
}

/// The nodes that have GPUs, with neighbours joined until there are few enough.
fn rows(outcome: &Outcome) -> Vec<Row> {
    let with_gpus: Vec<usize> =
        (0..outcome.nodes.len()).filter(|at| outcome.nodes[*at].gpus.0 > 0).collect();
    let per_row = with_gpus.len().div_ceil(ROWS_MAX).max(1);
    let join = |nodes: &[usize]| {
        let mut row = Row { busy: Vec::new(), gpus: 0, name: String::new() };
        for node in nodes.iter().map(|at| &outcome.nodes[*at]) {
            row.gpus += u64::from(node.gpus.0);
        }
        row.name.clone_from(&outcome.nodes[nodes[0]].name);
        for busy in nodes.iter().filter_map(|at| outcome.heatmap.rows().get(*at)) {
            row.busy.resize(row.busy.len().max(busy.len()), 0);
            row.busy.iter_mut().zip(busy).for_each(|(sum, part)| *sum += part);
        }
        row
    };
    with_gpus.chunks(per_row).map(join).collect()
}

/// Cuts the beginning of names that are too long.
fn short(name: &str) -> String {
    let count = name.chars().count();
    if count <= 11 {
        return name.to_owned();
    }
    ['…'].into_iter().chain(name.chars().skip(count - 10)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::super::stretch::tests::{node, two_nodes};
    use super::*;

    fn levels_of(outcome: &Outcome) -> Vec<Vec<usize>> {
        let window = Window::of(outcome);
        rows(outcome).iter().map(|row| bucket_shades(row, &outcome.heatmap, window)).collect()
    }

    #[test]
    fn shades_tell_how_busy_a_node_was() {
        let outcome = two_nodes();
        let levels = levels_of(&outcome);
        assert_eq!(outcome.heatmap.bucket_length().0, 1000);
        assert_eq!((levels[0][0], levels[0][149]), (10, 10));
        assert_eq!((levels[1][49], levels[1][50], levels[1][100]), (5, 0, 10));
    }

    #[test]
    fn many_nodes_share_rows_and_nodes_without_gpus_have_none() {
        let mut outcome = two_nodes();
        outcome.nodes.extend((0..300).map(|at| node(&format!("n{at}"), "l")));
        for node in &mut outcome.nodes[0..2] {
            node.gpus.0 = 0;
        }
        let rows = rows(&outcome);
        assert_eq!((rows.len(), rows[0].gpus, rows[0].name.as_str()), (75, 32, "n0"));
        outcome.nodes.truncate(2);
        assert_eq!(nodes(500.0, Window::of(&outcome), &outcome), None);
    }
}
