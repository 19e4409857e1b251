//! One quantity over time as a drawing: its mean as a line, its range as a band. The caller gives
//! the axis, so that drawings can be compared.

use super::condense::Part;
use super::scale::{Frame, fraction, time_marks};
use crate::report::summary::Window;
use std::fmt::Write;

/// The vertical axis: the marks and what a fraction of 1 stands for.
pub struct Axis {
    /// The value at the top.
    pub most: f64,
    /// Values with a line across, and their names.
    pub marks: Vec<(f64, String)>,
}

pub fn course(frame: Frame, window: Window, axis: &Axis, parts: &[Part], color: usize) -> String {
    let mut svg = open_svg(frame);
    grid(&mut svg, frame, axis);
    time_axis(&mut svg, frame, window);
    let x = |at| frame.x(fraction(at, window.first, window.end));
    let y = |value: f64| frame.y(value / axis.most);
    let mut line = String::new();
    let mut upper = String::new();
    let mut lower: Vec<String> = Vec::new();
    for part in parts {
        let (left, right) = (x(part.from), x(part.to));
        let command = if line.is_empty() { 'M' } else { 'L' };
        // Writing into a String cannot fail, here and below.
        let _ = write!(line, "{command}{left:.1} {:.1}H{right:.1}", y(part.mean));
        let _ = write!(upper, "{command}{left:.1} {:.1}H{right:.1}", y(part.high));
        lower.push(format!("L{right:.1} {:.1}H{left:.1}", y(part.low)));
    }
    lower.reverse();
    let fill = format!("fill:var(--c{color})");
    let _ = write!(svg, "<path class=\"band\" style=\"{fill}\" d=\"{upper}{}Z\"/>", lower.concat());
    let _ =
        write!(svg, "<path class=\"mean\" style=\"stroke:var(--c{color})\" d=\"{line}\"/></svg>");
    svg
}

/// The beginning of a drawing.
pub fn open_svg(frame: Frame) -> String {
    format!("<svg viewBox=\"0 0 {} {}\" role=\"img\">", frame.width, frame.height)
}

/// The lines across and their names.
pub fn grid(svg: &mut String, frame: Frame, axis: &Axis) {
    for (value, name) in &axis.marks {
        let y = frame.y(value / axis.most);
        let class = if *value == 0.0 { "a" } else { "g" };
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

/// The names of times along the lower edge, and a line where the last job was submitted.
pub fn time_axis(svg: &mut String, frame: Frame, window: Window) {
    for (place, name) in time_marks(window.first, window.end) {
        let x = frame.x(place);
        let anchor = if place > 0.97 { "end" } else { "middle" };
        let _ = write!(
            svg,
            "<text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\">{name}</text>",
            frame.bottom + 16.0
        );
    }
    let last = frame.x(fraction(window.last_submit, window.first, window.end));
    let _ = write!(
        svg,
        "<path class=\"last\" d=\"M{last:.1} {}V{}\"><title>last submission</title></path>",
        frame.top, frame.bottom
    );
}
