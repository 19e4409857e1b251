//! The manual pages as packages install them: a page for each verb, without a warning of man.

use crate::support::TestController;
use clap::Command as Verb;
use std::process::Command;

/// The names of the pages of these verbs and of those below them.
fn pages(name: &str, verb: &Verb) -> Vec<String> {
    let below = verb.get_subcommands().filter(|verb| !verb.is_hide_set());
    let below = below.flat_map(|verb| pages(&format!("{name}-{}", verb.get_name()), verb));
    std::iter::once(name.to_owned()).chain(below).collect()
}

#[tokio::test]
async fn each_verb_has_a_page_that_man_shows_without_a_warning() {
    let controller = TestController::empty();
    controller.kantctl(&["man", "pages"]).await.good();
    let folder = controller.dir.path().join("pages");
    let entries = std::fs::read_dir(&folder).unwrap();
    let made = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut made: Vec<String> = made.collect();
    made.sort();
    let mut command = cli::command();
    command.build();
    let names = pages("kantctl", &command);
    let mut expected: Vec<String> = names.iter().map(|name| format!("{name}.1")).collect();
    expected.sort();
    assert_eq!(made, expected);
    for name in &names {
        let text = std::fs::read_to_string(folder.join(format!("{name}.1"))).unwrap();
        let title = format!(".SH NAME\n{} \\- ", name.replace('-', "\\-"));
        assert!(text.contains(&title), "{name}: {text}");
    }
    let mut man = Command::new("man");
    man.args(["--warnings", "-l"]).args(&made).current_dir(&folder);
    let Ok(shown) = man.env("LC_ALL", "C.UTF-8").env("MANPAGER", "cat").output() else {
        println!("skipped: man is not installed");
        return;
    };
    assert!(shown.status.success(), "{}", shown.status);
    assert_eq!(String::from_utf8_lossy(&shown.stderr), "");
    let text = String::from_utf8_lossy(&shown.stdout);
    assert_eq!(text.matches("\nNAME\n").count(), made.len());
}
