//! The help is longer than most screens: it scrolls, and every word of it can be read.

use super::console::TestConsole;
use super::fixtures;
use crate::tui::columns::fleet::FLEET_COLUMNS;
use crate::tui::columns::nodes::NODE_COLUMNS;

/// Opens the help and scrolls to its end; all words in it, in their order.
fn read(mut console: TestConsole) -> String {
    console.type_keys("?");
    let mut shown = lines(&console);
    let mut text = shown.clone();
    loop {
        console.type_keys("j");
        let next = lines(&console);
        if next == shown {
            break;
        }
        text.extend(next.last().cloned());
        shown = next;
    }
    text.iter().flat_map(|line| line.split_whitespace()).collect::<Vec<_>>().join(" ")
}

/// What is in the box.
fn lines(console: &TestConsole) -> Vec<String> {
    let screen = console.screen();
    let inside = screen.lines().filter_map(|line| line.strip_prefix('│')?.strip_suffix('│'));
    inside.map(str::to_owned).collect()
}

/// Compares the help at the sizes that people have with a screen on which nothing of it is wrapped or out of sight.
fn is_read_to_the_end(page: fn(u16, u16) -> TestConsole, column: &str) {
    let whole = read(page(400, 200));
    assert!(whole.contains(column), "{whole}");
    for (width, height) in [(80, 24), (120, 40)] {
        assert_eq!(read(page(width, height)), whole, "{width}x{height}");
    }
}

#[test]
fn no_word_of_the_help_is_lost() {
    is_read_to_the_end(TestConsole::on_fleet, FLEET_COLUMNS[0].help);
    is_read_to_the_end(|width, height| TestConsole::on(fixtures::running(), width, height), NODE_COLUMNS[0].help);
}

/// The sizes of the screens of help do not show all of it: what it says of each column is read here.
#[test]
fn every_column_is_explained_in_the_help() {
    let of_nodes = NODE_COLUMNS.iter().map(|column| format!("{}: {}", column.name, column.help));
    let of_rollouts = FLEET_COLUMNS.iter().map(|column| format!("{}: {}", column.name, column.help));
    let all: Vec<String> = of_nodes.chain(["--".to_owned()]).chain(of_rollouts).collect();
    insta::assert_snapshot!(all.join("\n"));
}

/// On the nodes `d` and `y` open a node's page; what they do elsewhere is told there.
#[test]
fn no_key_is_told_twice() {
    let keys = |keys: &str| {
        let console = TestConsole::on(fixtures::running(), 400, 200).typed(keys).typed("?");
        let keys = lines(&console).into_iter().take_while(|line| line.trim() != "In a dialog");
        let keys: Vec<String> = keys
            .flat_map(|line| {
                // A blank is between two keys, more are behind the last.
                let keys = line.strip_prefix("  ").and_then(|line| line.split("  ").next()).unwrap_or_default();
                keys.split_whitespace().map(str::to_owned).collect::<Vec<_>>()
            })
            .filter(|key| key.chars().count() == 1)
            .collect();
        keys
    };
    for screen in ["", "m", "T", "v", "<enter>"] {
        let told = keys(screen);
        assert!(told.iter().any(|key| key == "P"), "after {screen:?}: {told:?}");
        let twice: Vec<&String> =
            told.iter().enumerate().filter(|(nth, key)| told[..*nth].contains(key)).map(|(_, key)| key).collect();
        assert_eq!(twice, [""; 0], "after {screen:?}");
    }
    let screen = |keys: &str| TestConsole::on(fixtures::running(), 400, 200).typed(keys).screen();
    let line =
        |screen: &str, name: &str| screen.lines().find(|line| line.contains(name)).unwrap_or_default().to_owned();
    assert!(line(&screen("?"), ":describe").starts_with("│  d 5 "), "{}", screen("?"));
    assert!(!line(&screen("?"), ":diff").contains("│  d "), "{}", screen("?"));
    assert!(line(&screen("v?"), ":diff").starts_with("│  d "), "{}", screen("v?"));
}

#[test]
fn what_the_header_says_in_few_words_is_explained() {
    let whole = read(TestConsole::on(fixtures::running(), 400, 200));
    for words in [
        "p50, p95 times of pulls and starts",
        "1.1/min nodes updated in a minute",
        "all in ~45–57m from what was seen",
        "est. 66% under TARGET IMG: estimated, as kubelets do not tell",
        "late, 6× under TARGET IMG",
        "+ 3 by themselves down, and not by the rollout",
    ] {
        assert!(whole.contains(words), "{words}: {whole}");
    }
}

/// No line of the help ends in the middle of what it says, and that more is below is said.
#[test]
fn nothing_in_the_help_is_cut_and_its_length_is_told() {
    for (width, height) in [(40, 12), (40, 40), (60, 20), (80, 24), (120, 40)] {
        for keys in ["?", "T?", "v?", "m?", "<enter>?"] {
            let mut console = TestConsole::on(fixtures::running(), width, height).typed(keys);
            let title = console.screen().lines().nth(1).unwrap_or_default().to_owned();
            assert!(title.contains("Help · lines 1-"), "{title}");
            for _ in 0..500 / usize::from(height - 4) {
                let screen = console.screen();
                let inside = screen.lines().skip(2).take(usize::from(height) - 3);
                let cut: Vec<&str> = inside.map(|line| line.trim_end_matches(['│', ' '])).collect();
                // A hint that ends in it by itself has a blank before.
                let cut: Vec<&str> =
                    cut.into_iter().filter(|line| line.ends_with('…') && !line.ends_with(" …")).collect();
                assert_eq!(cut, [""; 0], "{keys} at {width}x{height}:\n{screen}");
                console.type_keys("<pgdn>");
            }
            console.type_keys("g");
            let last = console.typed("G").screen();
            let title = last.lines().nth(1).unwrap_or_default().to_owned();
            let numbers: Vec<u32> =
                title.split(|c: char| !c.is_ascii_digit()).filter_map(|number| number.parse().ok()).collect();
            assert_eq!(numbers[1], numbers[2], "{title}");
        }
    }
    // What has no key is told by its name, where names have no column.
    let small = TestConsole::on(fixtures::running(), 40, 40).typed("?").screen();
    assert!(small.contains(":partition 82 or 30%"), "{small}");
}
