//! `bench growth`: curves of a controller's cost as a quantity grows, as tables and as plots in
//! docs/plots.

use super::{figures, optimised};
use anyhow::Context as _;
use plotters::prelude::*;
use serde_json::Value;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// The folder of the plots.
const PLOTS: &str = "docs/plots";
/// The size of a plot in pixels.
const SIZE: (u32, u32) = (420, 240);
const PER_ROW: usize = 2;

/// The measured values of one quantity.
struct Curve {
    what: String,
    unit: String,
    points: Vec<(f64, f64)>,
}

/// All curves over one growing quantity.
struct Chart {
    of: String,
    curves: Vec<Curve>,
}

/// Measures and prints the tables; with `write`, also writes them and the plots into docs/.
///
/// # Errors
/// When the benchmark fails, or docs/ cannot be written.
pub fn run(write: bool, json: bool) -> anyhow::Result<()> {
    let points = optimised::growth()?;
    if json {
        println!("{:#}", Value::Array(points.clone()));
    }
    let charts = charts_of_points(&points)?;
    let mut text = format!("{}\n", figures::machine());
    for chart in &charts {
        text += &format!("\n{}", chart_table(chart));
        text += &format!("\n![{} grow](plots/{})\n", chart.of, file_name(&chart.of));
    }
    if !json {
        print!("{text}");
    }
    if write {
        let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..").join(PLOTS);
        std::fs::create_dir_all(&root).with_context(|| format!("failed to make {PLOTS}"))?;
        for chart in &charts {
            draw_plots(chart, &root.join(file_name(&chart.of)))?;
        }
        optimised::write_into("docs/performance.md", "growth", &text)?;
    }
    Ok(())
}

fn file_name(of: &str) -> String {
    format!("growth-{}.svg", of.replace(' ', "-"))
}

fn charts_of_points(points: &[Value]) -> anyhow::Result<Vec<Chart>> {
    let mut charts: Vec<Chart> = Vec::new();
    for point in points {
        let text = |key: &str| Some(point[key].as_str()?.to_owned());
        let number = |key: &str| point[key].as_f64();
        let read = (text("of"), text("what"), text("unit"), number("x"), number("y"));
        let (Some(of), Some(what), Some(unit), Some(x), Some(y)) = read else {
            anyhow::bail!("failed to read a point of a curve: {point}");
        };
        let at = charts.iter().position(|chart| chart.of == of).unwrap_or_else(|| {
            charts.push(Chart { of, curves: Vec::new() });
            charts.len() - 1
        });
        let curves = &mut charts[at].curves;
        match curves.iter_mut().find(|curve| curve.what == what) {
            Some(curve) => curve.points.push((x, y)),
            None => curves.push(Curve { what, unit, points: vec![(x, y)] }),
        }
    }
    Ok(charts)
}

fn chart_table(chart: &Chart) -> String {
    let mut text = format!("| {} |", chart.of);
    let xs: Vec<f64> =
        chart.curves.iter().flat_map(|curve| curve.points.iter().map(|point| point.0)).collect();
    let mut distinct = xs;
    distinct.sort_by(f64::total_cmp);
    distinct.dedup();
    for curve in &chart.curves {
        // Writing into a string cannot fail.
        let _ = write!(text, " {}, {} |", curve.what, curve.unit);
    }
    text += &format!("\n|--:|{}\n", "--:|".repeat(chart.curves.len()));
    for x in distinct {
        let _ = write!(text, "| {x} |");
        for curve in &chart.curves {
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

/// Draws one plot for each curve, with a logarithmic x axis.
fn draw_plots(chart: &Chart, path: &Path) -> anyhow::Result<()> {
    let rows = chart.curves.len().div_ceil(PER_ROW);
    #[allow(clippy::cast_possible_truncation)] // only a few rows
    let size = (SIZE.0 * PER_ROW as u32, SIZE.1 * rows as u32);
    let page = SVGBackend::new(path, size).into_drawing_area();
    page.fill(&WHITE)?;
    for (curve, area) in chart.curves.iter().zip(page.split_evenly((rows, PER_ROW))) {
        let xs = curve.points.iter().map(|point| point.0);
        let (low, high) = (xs.clone().fold(f64::MAX, f64::min), xs.fold(1.0, f64::max));
        let top = curve.points.iter().map(|point| point.1).fold(0.0, f64::max) * 1.15;
        let mut plot = ChartBuilder::on(&area)
            .caption(format!("{}, {}", curve.what, curve.unit), ("sans-serif", 15))
            .margin(10)
            .x_label_area_size(36)
            .y_label_area_size(56)
            .build_cartesian_2d((low..high.max(low * 1.01)).log_scale(), 0.0..top.max(1e-9))?;
        plot.configure_mesh().x_desc(chart.of.as_str()).light_line_style(WHITE).draw()?;
        plot.draw_series(LineSeries::new(curve.points.iter().copied(), &BLUE))?;
        let dots = curve.points.iter().map(|point| Circle::new(*point, 3, BLUE.filled()));
        plot.draw_series(dots)?;
    }
    page.present().with_context(|| format!("failed to write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn measured() -> Vec<Chart> {
        let point =
            |x, what, y| json!({ "of": "nodes", "x": x, "what": what, "unit": "MiB", "y": y });
        charts_of_points(&[
            point(100, "memory", 20.0),
            point(100, "log", 1.0),
            point(1000, "memory", 60.26),
        ])
        .unwrap()
    }

    #[test]
    fn a_table_has_a_row_for_each_size_and_a_dash_for_missing_values() {
        let expected = "| nodes | memory, MiB | log, MiB |\n|--:|--:|--:|\n\
                        | 100 | 20.0 | 1.0 |\n| 1000 | 60.3 | - |\n";
        assert_eq!(chart_table(&measured()[0]), expected);
    }

    #[test]
    fn a_chart_is_drawn_with_the_name_of_each_curve() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("plot.svg");
        draw_plots(&measured()[0], &path).unwrap();
        let drawn = std::fs::read_to_string(path).unwrap();
        for name in ["memory, MiB", "log, MiB", "nodes"] {
            assert!(drawn.contains(name), "{name} is missing");
        }
        assert!(drawn.matches("<circle").count() == 3, "one dot for each point");
    }

    #[test]
    fn an_invalid_point_is_refused() {
        let error = charts_of_points(&[json!({ "of": "nodes" })]).err().unwrap().to_string();
        assert!(error.contains("failed to read a point"), "{error}");
    }
}
