//! `bench growth`: curves of what a controller costs as there is more of something, as tables and
//! as plots in docs/plots. Never measures anything itself.

use super::{figures, optimised};
use anyhow::Context as _;
use plotters::prelude::*;
use serde_json::Value;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Where the plots lie, beside docs/performance.md.
const PLOTS: &str = "docs/plots";
/// A plot in pixels.
const SIZE: (u32, u32) = (420, 240);
const PER_ROW: usize = 2;

/// What one measured thing came to.
struct Curve {
    what: String,
    unit: String,
    points: Vec<(f64, f64)>,
}

/// All curves over one thing that grows.
struct Sheet {
    of: String,
    curves: Vec<Curve>,
}

/// Measures; prints the table, and with `write` puts it and the plots into docs/.
///
/// # Errors
/// When the benchmark fails, or docs/ cannot be written.
pub fn run(write: bool, json: bool) -> anyhow::Result<()> {
    let points = optimised::growth()?;
    if json {
        println!("{:#}", Value::Array(points.clone()));
    }
    let sheets = sheets(&points)?;
    let mut text = format!("{}\n", figures::machine());
    for sheet in &sheets {
        text += &format!("\n{}", table(sheet));
        text += &format!("\n![{} grow](plots/{})\n", sheet.of, file_name(&sheet.of));
    }
    if !json {
        print!("{text}");
    }
    if write {
        let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..").join(PLOTS);
        std::fs::create_dir_all(&root).with_context(|| format!("failed to make {PLOTS}"))?;
        for sheet in &sheets {
            draw(sheet, &root.join(file_name(&sheet.of)))?;
        }
        optimised::write_into("docs/performance.md", "growth", &text)?;
    }
    Ok(())
}

fn file_name(of: &str) -> String {
    format!("growth-{}.svg", of.replace(' ', "-"))
}

fn sheets(points: &[Value]) -> anyhow::Result<Vec<Sheet>> {
    let mut sheets: Vec<Sheet> = Vec::new();
    for point in points {
        let text = |key: &str| Some(point[key].as_str()?.to_owned());
        let number = |key: &str| point[key].as_f64();
        let read = (text("of"), text("what"), text("unit"), number("x"), number("y"));
        let (Some(of), Some(what), Some(unit), Some(x), Some(y)) = read else {
            anyhow::bail!("failed to read a point of a curve: {point}");
        };
        let at = sheets.iter().position(|sheet| sheet.of == of).unwrap_or_else(|| {
            sheets.push(Sheet { of, curves: Vec::new() });
            sheets.len() - 1
        });
        let curves = &mut sheets[at].curves;
        match curves.iter_mut().find(|curve| curve.what == what) {
            Some(curve) => curve.points.push((x, y)),
            None => curves.push(Curve { what, unit, points: vec![(x, y)] }),
        }
    }
    Ok(sheets)
}

fn table(sheet: &Sheet) -> String {
    let mut text = format!("| {} |", sheet.of);
    let xs: Vec<f64> =
        sheet.curves.iter().flat_map(|curve| curve.points.iter().map(|point| point.0)).collect();
    let mut distinct = xs;
    distinct.sort_by(f64::total_cmp);
    distinct.dedup();
    for curve in &sheet.curves {
        // Writing into a string cannot fail.
        let _ = write!(text, " {}, {} |", curve.what, curve.unit);
    }
    text += &format!("\n|--:|{}\n", "--:|".repeat(sheet.curves.len()));
    for x in distinct {
        let _ = write!(text, "| {x} |");
        for curve in &sheet.curves {
            let y = curve.points.iter().find(|point| point.0 == x);
            let _ = match y {
                Some((_, y)) => write!(text, " {y:.1} |"),
                None => write!(text, " - |"),
            };
        }
        text.push('\n');
    }
    text
}

/// One plot for each curve; what grows is drawn by its logarithm.
fn draw(sheet: &Sheet, path: &Path) -> anyhow::Result<()> {
    let rows = sheet.curves.len().div_ceil(PER_ROW);
    #[allow(clippy::cast_possible_truncation)] // a handful
    let size = (SIZE.0 * PER_ROW as u32, SIZE.1 * rows as u32);
    let page = SVGBackend::new(path, size).into_drawing_area();
    page.fill(&WHITE)?;
    for (curve, area) in sheet.curves.iter().zip(page.split_evenly((rows, PER_ROW))) {
        let xs = curve.points.iter().map(|point| point.0);
        let (low, high) = (xs.clone().fold(f64::MAX, f64::min), xs.fold(1.0, f64::max));
        let top = curve.points.iter().map(|point| point.1).fold(0.0, f64::max) * 1.15;
        let mut chart = ChartBuilder::on(&area)
            .caption(format!("{}, {}", curve.what, curve.unit), ("sans-serif", 15))
            .margin(10)
            .x_label_area_size(36)
            .y_label_area_size(56)
            .build_cartesian_2d((low..high.max(low * 1.01)).log_scale(), 0.0..top.max(1e-9))?;
        chart.configure_mesh().x_desc(sheet.of.as_str()).light_line_style(WHITE).draw()?;
        chart.draw_series(LineSeries::new(curve.points.iter().copied(), &BLUE))?;
        let dots = curve.points.iter().map(|point| Circle::new(*point, 3, BLUE.filled()));
        chart.draw_series(dots)?;
    }
    page.present().with_context(|| format!("failed to write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn measured() -> Vec<Sheet> {
        let point =
            |x, what, y| json!({ "of": "nodes", "x": x, "what": what, "unit": "MiB", "y": y });
        sheets(&[point(100, "memory", 20.0), point(100, "log", 1.0), point(1000, "memory", 60.26)])
            .unwrap()
    }

    #[test]
    fn a_table_has_a_row_for_each_size_and_says_what_was_not_measured() {
        let expected = "| nodes | memory, MiB | log, MiB |\n|--:|--:|--:|\n\
                        | 100 | 20.0 | 1.0 |\n| 1000 | 60.3 | - |\n";
        assert_eq!(table(&measured()[0]), expected);
    }

    #[test]
    fn a_sheet_is_drawn_with_the_name_of_each_curve() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("plot.svg");
        draw(&measured()[0], &path).unwrap();
        let drawn = std::fs::read_to_string(path).unwrap();
        for name in ["memory, MiB", "log, MiB", "nodes"] {
            assert!(drawn.contains(name), "{name} is not there");
        }
        assert!(drawn.matches("<circle").count() == 3, "one dot for each point");
    }

    #[test]
    fn what_is_no_point_is_refused() {
        let error = sheets(&[json!({ "of": "nodes" })]).err().unwrap().to_string();
        assert!(error.contains("failed to read a point"), "{error}");
    }
}
