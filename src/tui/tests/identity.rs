//! As whom requests are made and whether TLS is verified stays in sight on every page.

use super::console::TestConsole;
use super::fixtures;

const IMPERSONATED: &str = "as jane, group sre";
const UNVERIFIED: &str = "TLS NOT VERIFIED";

fn first_line(console: &mut TestConsole) -> String {
    console.model.warnings = vec![IMPERSONATED.to_owned(), UNVERIFIED.to_owned()];
    console.screen().lines().next().unwrap_or_default().to_owned()
}

#[test]
fn impersonation_and_unverified_tls_are_on_every_header() {
    for (width, height) in [(120, 40), (200, 50)] {
        for mut console in [TestConsole::on(fixtures::running(), width, height), TestConsole::on_fleet(width, height)] {
            let line = first_line(&mut console);
            assert!(line.contains(IMPERSONATED) && line.contains(UNVERIFIED), "{width}: {line}");
        }
    }
}

#[test]
fn in_a_narrow_terminal_they_are_shortened_and_not_left_out() {
    for mut console in [TestConsole::on(fixtures::running(), 80, 24), TestConsole::on_fleet(80, 24)] {
        let line = first_line(&mut console);
        assert!(line.contains("as jan") && line.contains("TLS N"), "{line}");
        assert!(line.contains("READ-ONLY"), "{line}");
    }
}
