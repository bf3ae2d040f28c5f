//! What comes after the edit about which a drive asks, for whoever is asked: another image is followed by nodes that go, or by a wait for a step.

use crate::cli::foreground::NextCommands;
use crate::cli::suggested_commands::CommandTarget;
use crate::engine::model::command::{Command, Step};
use crate::engine::model::labels::Selector;
use crate::engine::model::quantity::Rounding;
use crate::engine::report::snapshot::Snapshot;

/// What the edits that follow do to the DaemonSet, for whoever is asked about the first one; `None` if they let no node go.
pub(super) fn what_follows(next: &[Command], snapshot: &Snapshot) -> Option<NextCommands> {
    let fleet = snapshot.counts.nodes;
    let updated = next.iter().find_map(|command| match command.inner() {
        Command::Step(Step::Updated(updated)) => Some(updated.nodes_of(fleet)),
        Command::Step(Step::Partition(keep)) => Some(fleet.saturating_sub(keep.of(fleet, Rounding::Down))),
        _ => None,
    })?;
    // A selector that is in force outlives another image; one that is lifted is among what follows.
    let of = match selector_asked_for(next).unwrap_or(snapshot.plan.selector.as_ref()) {
        Some(selector) => {
            let selected = nodes_with(selector, snapshot);
            format!("{} of the {selected} nodes with {selector}", updated.min(selected))
        }
        None => format!("{updated} of {fleet} nodes"),
    };
    Some(NextCommands {
        effect: format!("Then drives until {of} are updated: their pods are deleted as the limits allow."),
        calls: vec!["DELETE pods, one by one, uid-guarded".to_owned()],
        lets_go: true,
    })
}

/// The selector that these edits set, or `None` in it if they lift the one that is in force; `None` if they do neither.
fn selector_asked_for(next: &[Command]) -> Option<Option<&Selector>> {
    next.iter().find_map(|command| match command.inner() {
        Command::Select(selector) => Some(selector.as_ref()),
        _ => None,
    })
}

fn nodes_with(selector: &Selector, snapshot: &Snapshot) -> u32 {
    u32::try_from(snapshot.matching(selector).count()).unwrap_or(u32::MAX)
}

/// What follows a new image where nothing that was asked for lets a node go: whoever is asked about it may take `drive` for a whole rollout.
pub(super) fn waits_for_a_step(
    first: &Command,
    next: &[Command],
    snapshot: &Snapshot,
    target: CommandTarget<'_>,
) -> Option<NextCommands> {
    let selector = selector_asked_for(next).flatten().map(|selector| {
        let (selected, fleet) = (nodes_with(selector, snapshot), snapshot.counts.nodes);
        format!("Only nodes with {selector} may be updated then, {selected} of {fleet}. ")
    });
    matches!(first.inner(), Command::SetImage(_)).then(|| NextCommands {
        effect: format!(
            "{}Then drives, and waits: no node goes before somebody runs {}, or this command with `--to`.",
            selector.unwrap_or_default(),
            target.named("step")
        ),
        calls: Vec::new(),
        lets_go: false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::foreground::drives_afterwards;
    use crate::cli::tests::{place, rollout};
    use crate::engine::fake_cluster::{FakeCluster, FakeConsole};
    use crate::engine::model::command::Preview;
    use crate::engine::model::config::Role;
    use crate::engine::model::quantity::IntOrPercent;
    use crate::engine::model::settings::Tuning;

    /// It drives in the same second: whoever agrees is not to believe that nothing goes before somebody else drives.
    #[test]
    fn the_preview_of_a_drive_with_a_step_says_that_this_process_replaces_the_pods() {
        let mut fake = FakeCluster::rolling(6, 2);
        let mut console = FakeConsole::open(&fake, "ops");
        console.set_image(&mut fake, "agent:v2");
        console.ask(&mut fake, Command::StopDriving).unwrap();
        console.run(&mut fake);
        let mut ben = FakeConsole::open_as(&fake, "ben", Role::OneShot);
        ben.hear(&fake);
        let step = Command::Step(Step::Updated(IntOrPercent::Percent(100)));
        let mut preview = ben.engine.preview(&step, fake.now).unwrap();
        let all =
            |preview: &Preview| preview.effects.iter().chain(&preview.calls).cloned().collect::<Vec<_>>().join("\n");
        assert!(all(&preview).contains("Nobody drives") && all(&preview).contains("nobody does now"), "{preview:?}");
        drives_afterwards(&mut preview);
        let said = all(&preview);
        assert!(said.contains("This process becomes the driver, and replaces their pods."), "{said}");
        assert!(!said.to_lowercase().contains("nobody"), "{said}");
    }

    /// What is asked about beside a new image says either that nodes go at once or that they wait for a step, and not both.
    #[test]
    fn the_preview_of_a_drive_with_another_image_says_whether_nodes_go_before_a_step() {
        let fake = FakeCluster::rolling(6, 2);
        let mut console = FakeConsole::open(&fake, "ops");
        let image = Command::SetImage([("agent".to_owned(), "agent:v2".parse().unwrap())].into());
        let step = Command::Step(Step::Updated(IntOrPercent::Percent(100)));
        let mut previewed = |next: NextCommands| {
            let mut preview = console.engine.preview(&image, fake.now).unwrap();
            next.join(&mut preview);
            preview.effects.join(" ")
        };
        let snapshot = FakeConsole::open(&fake, "ops").snapshot(&fake);
        let goes = previewed(what_follows(&[step], &snapshot).unwrap());
        assert!(goes.contains("then changes its template. From then on"), "{goes}");
        assert!(goes.contains("Then drives until 6 of 6 nodes are updated"), "{goes}");
        let place = place();
        let target = CommandTarget::called(&place, "edge", "agent");
        let canary = [Command::Select(Some("zone=canary".parse().unwrap()))];
        let waits = previewed(waits_for_a_step(&image, &canary, &snapshot, target).unwrap());
        assert!(
            waits.contains("Only nodes with zone=canary may be updated then, 3 of 6. Then drives, and waits"),
            "{waits}"
        );
        assert!(
            waits.contains("No pod is replaced before a step.")
                && waits.contains("before somebody runs `rolldeck step --context prod-eu -n edge ds/agent`, or"),
            "{waits}"
        );
        assert!(waits_for_a_step(&Command::Resume, &canary, &snapshot, target).is_none());
    }

    /// Whoever is asked about the image is told that nodes go right after it.
    #[test]
    fn what_follows_the_image_is_said_with_it() {
        let selector = || Command::Select(Some("canary=true".parse().unwrap()));
        let percent = |share| Command::Step(Step::Updated(IntOrPercent::Percent(share)));
        let keep = |nodes| Command::Step(Step::Partition(IntOrPercent::Int(nodes)));
        let mut fleet = rollout();
        let mut nodes = fleet.nodes.to_vec();
        nodes.iter_mut().take(2).for_each(|node| node.labels = [("canary", "true")].into_iter().collect());
        fleet.nodes = nodes.into();
        let mut selected = fleet.clone();
        selected.plan.selector = Some("canary=true".parse().unwrap());
        for (snapshot, next, says) in [
            (&fleet, vec![percent(5)], "Then drives until 6 of 120 nodes are updated: "),
            (
                &fleet,
                vec![selector(), percent(100)],
                "Then drives until 2 of the 2 nodes with canary=true are updated: ",
            ),
            (&fleet, vec![selector(), keep(119)], "Then drives until 1 of the 2 nodes with canary=true are updated: "),
            (&selected, vec![percent(100)], "Then drives until 2 of the 2 nodes with canary=true are updated: "),
            (&selected, vec![Command::Select(None), keep(100)], "Then drives until 20 of 120 nodes are updated: "),
        ] {
            let next = what_follows(&next, snapshot).unwrap();
            assert!(next.effect.starts_with(says), "{}", next.effect);
            assert!(next.calls[0].starts_with("DELETE pods"));
        }
        assert!(what_follows(&[Command::Tune(Tuning::default())], &fleet).is_none());
    }
}
