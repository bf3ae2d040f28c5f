//! An image that comes from another repository or registry: it is said wherever versions alone would hide it, and its name is reached in full.

use super::console::TestConsole;
use super::fixtures::running;
use crate::engine::report::snapshot::{RevisionView, Snapshot};

const ELSEWHERE: &str = "mirror.factory-north.example/platform/agent:v1.9.0";

/// The target's image comes from another registry.
fn from_elsewhere() -> Snapshot {
    let mut snapshot = running();
    let moved = |revision: &RevisionView| match revision.number {
        Some(15) => RevisionView { images: vec![("agent".into(), ELSEWHERE.into())], ..revision.clone() },
        _ => revision.clone(),
    };
    snapshot.image_changes[0].to = Some(ELSEWHERE.into());
    snapshot.to = snapshot.to.as_ref().map(moved);
    snapshot.revisions = snapshot.revisions.iter().map(moved).collect::<Vec<_>>().into();
    snapshot
}

#[test]
fn another_registry_is_said_in_the_header_of_every_width() {
    for (width, height, words) in [
        (40, 24, "→ v1.9.0!"),
        (50, 24, "→ v1.9.0 repo!"),
        (80, 24, "v1.8.2 → v1.9.0, registry changes!"),
        (120, 40, "v1.8.2 → v1.9.0, registry changes!"),
        (200, 50, "/edge/agent:v1.8.2 → mirror.factory-north.example/platform/agent:v1.9.0, registry changes!"),
    ] {
        let mut snapshot = from_elsewhere();
        if width < 80 {
            // Only where nothing is wrong and nothing waits has the second line room for the change.
            snapshot.nodes = Vec::new().into();
        }
        let screen = TestConsole::on(snapshot, width, height).screen();
        assert!(screen.contains(words), "{width}:\n{screen}");
    }
    assert!(!TestConsole::on(running(), 80, 24).screen().contains("changes!"));
}

#[test]
fn the_revisions_and_a_roll_back_say_it_and_name_it_in_full() {
    let screen = TestConsole::on(from_elsewhere(), 80, 24).typed("v").screen();
    assert!(screen.contains("v1.9.0 (registry changes!)"), "{screen}");
    assert!(screen.contains(&format!("\n agent: {ELSEWHERE}\n")), "{screen}");
    let screen = TestConsole::on(from_elsewhere(), 80, 24).typed("AU").screen();
    assert!(screen.contains("v1.8.2 + 1 field   registry changes!"), "{screen}");
    assert!(screen.contains("│ agent: registry.factory.example/edge/agent:v1.8.2 "), "{screen}");
    let same = TestConsole::on(running(), 80, 24).typed("AU").screen();
    assert!(!same.contains("changes!"), "{same}");
}

#[test]
fn the_form_for_images_names_both_in_full() {
    for (width, height) in [(40, 24), (80, 24), (120, 40)] {
        let screen = TestConsole::on(running(), width, height).typed(&format!("AI<c-u>{ELSEWHERE}")).screen();
        let inside = screen.split('│').flat_map(str::split_whitespace).collect::<String>();
        let was = if width < 80 { "" } else { "registry.factory.example/edge/agent:v1.9.0" };
        if width != 120 {
            assert!(inside.contains(&format!("{was}→{ELSEWHERE}")), "{screen}");
        }
        assert!(screen.contains(ELSEWHERE) || width < 80, "{screen}");
        assert!(screen.contains("registry changes!"), "{screen}");
    }
}
