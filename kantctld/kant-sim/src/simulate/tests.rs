//! Tests of the command on files: its output, and its errors.

use super::*;
use clap::Parser;
use std::fs;

const JOBS: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/traces/itp-04-window.jobs.csv");
const NODES: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/traces/itp-04-window.nodes.csv");

#[derive(Parser)]
struct Command {
    #[command(flatten)]
    arguments: Arguments,
}

fn simulate(words: &[&str]) -> Result<(), SimulateError> {
    let command = Command::try_parse_from(["simulate"].iter().chain(words));
    run(&command.unwrap_or_else(|error| panic!("{error}")).arguments)
}

fn message(words: &[&str]) -> String {
    simulate(words).unwrap_err().to_string()
}

/// A directory with a file.
fn file(name: &str, text: &str) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    fs::write(&path, text).unwrap();
    let path = path.display().to_string();
    (folder, path)
}

/// The metrics and the HTML report of a replay of three teams.
fn three_teams(policy: &str) -> (serde_json::Value, String) {
    let traces = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/traces");
    let of = |name: &str| format!("{traces}/{name}");
    let (jobs, nodes) = (of("itp-04-teams.jobs.csv.gz"), of("itp-04-teams.nodes.csv"));
    let text = fs::read_to_string(of("three-teams.toml")).unwrap();
    let (folder, policy) = file("teams.toml", &text.replace("preemptible = true", policy));
    let out = |name: &str| folder.path().join(name).display().to_string();
    let (json, report) = (out("out.json"), out("out.html"));
    let trace = ["--jobs", &jobs, "--nodes", &nodes, "--policy", &policy];
    simulate(&[&trace[..], &["--json", &json, "--report", &report]].concat()).unwrap();
    let found = serde_json::from_str(&fs::read_to_string(json).unwrap()).unwrap();
    (found, fs::read_to_string(report).unwrap())
}

/// The longest wait of a job within its queue's quota, over all queues.
fn longest_below(found: &serde_json::Value, key: &str) -> f64 {
    let queues = found["queues"].as_array().unwrap();
    assert_eq!(queues.len(), 3, "{found}");
    queues.iter().map(|queue| queue[key].as_f64().unwrap()).fold(0.0, f64::max)
}

#[test]
fn no_team_is_below_its_quota_for_longer_than_the_minimum_run_time() {
    let half_an_hour = 30.0 * 60.0;
    let (found, page) = three_teams("preemptible = true");
    let (any, one) = ("below_quota_max_s", "below_quota_by_one_gpu_max_s");
    assert!(longest_below(&found, any) <= half_an_hour, "{}", found["queues"]);
    assert!(longest_below(&found, one) <= half_an_hour, "{}", found["queues"]);
    assert!(found["preemptions"].as_u64().unwrap() > 0, "some team borrowed and gave back");
    assert!(found["jain_mean"].as_f64().unwrap() > 0.95, "{}", found["jain_mean"]);
    assert!(found["share_error_mean"].as_f64().unwrap() < 0.05, "{}", found["share_error_mean"]);
    assert!(page.contains("Share error over time") && page.contains("How even it is"));
    // Without reclaim the wait is longer.
    let (found, _) = three_teams("preemptible = true\nreclaim = false");
    assert!(longest_below(&found, one) > half_an_hour, "{}", found["queues"]);
}

#[test]
fn two_runs_write_the_same_except_for_the_measured_speed() {
    let folder = tempfile::tempdir().unwrap();
    let out = |name: &str| folder.path().join(name).display().to_string();
    let mut texts = Vec::new();
    for run in ["a", "b"] {
        let (json, csv) = (out(&format!("{run}.json")), out(&format!("{run}.csv")));
        let report = out(&format!("{run}.html"));
        let files = ["--json", &json, "--jobs-out", &csv, "--report", &report];
        let trace = ["--jobs", JOBS, "--nodes", NODES, "--policy", "easy", "--placement"];
        simulate(&[&trace[..], &["binpack"], &files].concat()).unwrap();
        let is_speed = |line: &&str| line.contains("starts_per_cpu_second");
        let json = fs::read_to_string(json).unwrap();
        assert_eq!(json.lines().filter(is_speed).count(), 1);
        let rest: Vec<String> =
            json.lines().filter(|line| !is_speed(line)).map(str::to_owned).collect();
        assert!(fs::read_to_string(report).unwrap().contains("<svg"));
        texts.push((rest, fs::read_to_string(csv).unwrap()));
    }
    assert_eq!(texts[0], texts[1]);
    assert!(texts[0].1.starts_with("job_id,start_s,end_s,nodes\n1,0,"), "{}", &texts[0].1[..60]);
    assert_eq!(texts[0].1.lines().count(), 501);
}

#[test]
fn policies_can_be_compared_also_from_a_file() {
    let (folder, policy) =
        file("tomorrow.toml", "[[queue]]\nname = \"all\"\nplacement = \"fgd\"\n");
    let json = folder.path().join("out.json").display().to_string();
    let trace = ["--jobs", JOBS, "--nodes", NODES, "--json", &json];
    simulate(&[&trace[..], &["--compare", "fifo", &policy, "kant"]].concat()).unwrap();
    let found: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(json).unwrap()).unwrap();
    let names: Vec<_> = found.as_array().unwrap().iter().map(|one| &one["policy"]).collect();
    assert_eq!(names, ["fifo", "tomorrow", "kant"]);
    assert_eq!(found[1]["placement"], "fgd");
    assert_eq!(found[2]["placement"], "ebinpack");
}

#[test]
fn fill_reports_the_allocated_ratio_of_each_seed() {
    let (folder, jobs) = file(
        "shares.jobs.csv",
        "job_id,submit_s,runtime_s,nodes,gpus_per_node,gpu_fraction_milli,cpus\n\
         1,0,9,1,1,600,3.152\n2,0,9,1,1,1000,8\n3,0,9,1,1,400,4\n",
    );
    let nodes = folder.path().join("nodes.csv").display().to_string();
    fs::write(&nodes, "name,gpus,cpus\na,4,64\nb,4,64\n").unwrap();
    let json = folder.path().join("out.json").display().to_string();
    let words = ["--jobs", &jobs, "--nodes", &nodes, "--json", &json, "--fill", "--seeds", "3"];
    simulate(&words).unwrap();
    let found: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(json).unwrap()).unwrap();
    assert_eq!(found["seeds"], serde_json::json!([1, 2, 3]));
    let ratios = found["allocated_ratio"].as_array().unwrap();
    assert_eq!(ratios.len(), 3);
    assert!(ratios.iter().all(|one| (0.7..=1.0).contains(&one.as_f64().unwrap())), "{ratios:?}");
    assert_eq!(found["placement"], "fgd");
}

#[test]
fn a_submit_scale_of_two_halves_the_time_between_submissions() {
    let (folder, jobs) =
        file("j.csv", "job_id,submit_s,runtime_s,nodes,gpus_per_node\n1,0,5,1,1\n2,10,5,1,1\n");
    let nodes = folder.path().join("nodes.csv").display().to_string();
    fs::write(&nodes, "name,gpus\na,1\n").unwrap();
    let out = folder.path().join("out.csv").display().to_string();
    let words = ["--jobs", &jobs, "--nodes", &nodes, "--jobs-out", &out, "--submit-scale", "2"];
    simulate(&words).unwrap();
    let lines = fs::read_to_string(out).unwrap();
    assert_eq!(lines, "job_id,start_s,end_s,nodes\n1,0,5,a\n2,5,10,a\n");
}

#[test]
fn a_policy_files_fair_share_has_an_effect_unless_the_engine_is_alone() {
    let (folder, jobs) = file(
        "j.csv",
        "job_id,submit_s,runtime_s,walltime_request_s,nodes,gpus_per_node,user,group\n\
         1,0,7200,7200,1,1,ann,red\n2,10,600,600,1,1,ann,red\n3,30,600,600,1,1,bob,blue\n",
    );
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (nodes, policy, out) = (path("nodes.csv"), path("fair.toml"), path("out.csv"));
    fs::write(&nodes, "name,gpus\na,1\n").unwrap();
    let fair = "[[queue]]\nname = \"all\"\norder = \"multifactor\"\n[[account]]\nname = \"red\"\n\
                [[account]]\nname = \"blue\"\nusers = [\"bob\"]\n\
                [priority]\nage = 0\nsize = 0\nfair_share = 1000\n";
    fs::write(&policy, fair).unwrap();
    let words = ["--jobs", &jobs, "--nodes", &nodes, "--policy", &policy, "--jobs-out", &out];
    for (more, second, third) in [
        (&[][..], "2,7800,8400,a", "3,7200,7800,a"),
        (&["--engine-alone"], "2,7200,7800,a", "3,7800,8400,a"),
    ] {
        simulate(&[&words[..], more].concat()).unwrap();
        let starts = fs::read_to_string(&out).unwrap();
        let lines: Vec<&str> = starts.lines().skip(1).collect();
        assert_eq!(lines, ["1,0,7200,a", second, third], "{more:?}");
    }
}

#[test]
fn bad_input_is_refused_with_file_line_and_remedy() {
    let (_folder, negative) =
        file("j.csv", "job_id,submit_s,runtime_s,nodes,gpus_per_node\n1,-4,5,1,1\n");
    let text = message(&["--jobs", &negative, "--nodes", NODES]);
    assert!(text.contains("j.csv, line 2, column submit_s: `-4`"), "{text}");

    let trace = ["--jobs", JOBS, "--nodes", NODES, "--policy"];
    let (_folder, key) = file("p.toml", "[[queue]]\nname = \"a\"\nplacment = \"fgd\"\n");
    let text = message(&[&trace[..], &[&key]].concat());
    assert!(text.contains("p.toml") && text.contains('3') && text.contains("placment"), "{text}");

    let (folder, topology) = file("p.toml", "topology_file = \"t.csv\"\n");
    fs::write(folder.path().join("t.csv"), "name,leaf,spine,core\nghost7,l1,s1,c1\n").unwrap();
    let text = message(&[&trace[..], &[&topology]].concat());
    assert!(text.contains("t.csv") && text.contains('2') && text.contains("ghost7"), "{text}");

    let leaf = "[[queue]]\nname = \"a\"\n[[leaf]]\nname = \"l1\"\nnodes = \"ghost[7-8]\"\n";
    let (_folder, table) = file("p.toml", leaf);
    let text = message(&[&trace[..], &[&table]].concat());
    for word in ["p.toml", "line 5, [[leaf]] l1, nodes", "no node ghost7: correct the name"] {
        assert!(text.contains(word), "{text}");
    }

    let text = message(&[&trace[..], &["esay"]].concat());
    assert!(text.contains("`esay`") && text.contains("easy-pinned"), "{text}");
    let text = message(&[&trace[..], &["easy", "--submit-scale", "0"]].concat());
    assert!(text.contains("--submit-scale 0") && text.contains("1.2"), "{text}");
    let text = message(&["--jobs", "/none.csv", "--nodes", NODES]);
    assert!(text.contains("/none.csv"), "{text}");
}
