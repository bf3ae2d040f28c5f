//! The steps of the plan in the header.

use std::time::Duration;

use super::console::TestConsole;
use super::fixtures::{noon, running};
use crate::engine::model::estimate::RolloutEstimate;
use crate::engine::model::quantity::IntOrPercent::{Int, Percent};
use crate::engine::model::step_ahead::StepAhead;
use crate::engine::report::snapshot::{PlanView, Snapshot};

#[test]
fn the_rail_and_its_number_name_the_step_that_the_rollout_is_on_its_way_to() {
    let with = |step, updated, allowed| {
        let mut snapshot = running();
        let steps = vec![Int(1), Percent(10), Percent(50), Percent(100)];
        let partition = Some(Int(120 - allowed));
        snapshot.plan = PlanView { steps, step, allowed, partition, ..snapshot.plan };
        snapshot.counts.updated = updated;
        TestConsole::on(snapshot, 200, 50).screen().lines().nth(1).unwrap_or_default().to_owned()
    };
    let step = with(Some(1), 3, 12);
    assert!(step.contains("✓ 1 ── ▶ 10% (3/12) ── · 50% ── · 100%"), "{step}");
    // What is let go by hand is no step.
    let by_hand = with(Some(1), 3, 3);
    assert!(by_hand.contains("✓ 1 ── ✓ 3 ── · 10% ── · 50% ── · 100%"), "{by_hand}");
    // Where the rail has no room, its number is the same.
    let number = |step, allowed| {
        let mut snapshot = running();
        snapshot.plan =
            PlanView { steps: vec![Int(1), Percent(10), Percent(50), Percent(100)], step, allowed, ..snapshot.plan };
        let screen = TestConsole::on(snapshot, 80, 24).screen();
        screen
            .split("   ")
            .find_map(|part| Some(part.strip_prefix("step ")?.split("  ").next()?.to_owned()))
            .unwrap_or(screen)
    };
    let numbers = [number(None, 0), number(Some(0), 1), number(Some(1), 12), number(Some(2), 60)];
    assert_eq!(numbers, ["0 of 4", "1 of 4", "2 of 4", "3 of 4"]);
    let more = with(Some(2), 15, 20);
    assert!(more.contains("✓ 1 ── ✓ 10% ── ▶ 20 (15/20) ── · 50% ── · 100%"), "{more}");
}

#[test]
fn a_step_has_one_number_from_its_beginning_to_its_end_and_tells_what_failed() {
    let rail = |step: usize, updated: u32, allowed: u32, failed: u32| {
        let mut snapshot = running();
        let steps = vec![Int(1), Percent(10), Percent(50), Percent(100)];
        snapshot.plan = PlanView {
            steps,
            step: Some(step),
            allowed,
            keep: 120 - allowed,
            selected: 3,
            selectable: 3,
            ..snapshot.plan
        };
        snapshot.plan.partition = Some(Int(120 - allowed));
        (snapshot.counts.updated, snapshot.counts.failed) = (updated, failed);
        TestConsole::on(snapshot, 200, 50).screen().lines().nth(1).unwrap_or_default().to_owned()
    };
    // A selector leaves only three of the twelve nodes.
    let (moves, done) = (rail(1, 2, 3, 0), rail(1, 3, 3, 0));
    assert!(moves.contains("10% (2/12)") && done.contains("10% (3/12)"), "{moves}\n{done}");
    // The only node of the first step failed, and an operator went on past it.
    let passed = rail(1, 0, 12, 1);
    assert!(passed.contains("✗ 1 ── ▶ 10% (0/12)"), "{passed}");
    // It was passed while its node is still being updated.
    let ahead = rail(1, 0, 12, 0);
    assert!(ahead.contains("◐ 1 ── ▶ 10% (0/12)"), "{ahead}");
}

/// 48 nodes are kept: it is not the last step, at whichever width.
#[test]
fn a_step_by_hand_between_two_steps_is_not_called_the_later_one() {
    let mut snapshot = running();
    let steps = vec![Int(1), Percent(10), Percent(50), Percent(100)];
    let partition = Some(Percent(40));
    snapshot.plan = PlanView { steps, step: Some(3), allowed: 72, keep: 48, partition, ..snapshot.plan };
    snapshot.counts.updated = 0;
    let wide = TestConsole::on(snapshot.clone(), 200, 50).screen();
    assert!(wide.contains("50% ── ▶ 60% (0/72) ── · 100%"), "{wide}");
    let narrow = TestConsole::on(snapshot, 80, 24).screen();
    assert!(narrow.contains("60% by hand") && !narrow.contains("step 4 of 4"), "{narrow}");
}

/// The first line of the header that shows a rate, at this width and after four updates in a little more than a minute.
fn line_with_a_rate(cells: u16) -> Option<String> {
    let mut console = TestConsole::on(running(), cells, 40);
    assert!(!console.screen().contains("/min"), "{}", console.screen());
    for nth in 1..=4 {
        console.wait(20);
        let mut snapshot = running();
        snapshot.at = noon() + Duration::from_secs(20 * nth);
        snapshot.counts.updated += u32::try_from(nth).unwrap();
        console.see(snapshot);
    }
    console.screen().lines().find(|line| line.contains("/min")).map(str::to_owned)
}

#[test]
fn a_rate_is_shown_once_updates_were_seen_and_without_its_sparkline_where_that_has_no_room() {
    let wide = line_with_a_rate(200).unwrap();
    assert!(wide.contains("█ 3.0/min"), "{wide}");
    let lines: Vec<String> = (80..120).filter_map(line_with_a_rate).collect();
    assert_eq!(lines.len(), 40, "{lines:?}");
    let bar_of = |line: &String| Some(line.split_once('[')?.1.split_once(']')?.0.chars().count());
    assert!(lines.iter().all(|line| bar_of(line).is_some_and(|bar| bar >= 16)), "{lines:?}");
    assert!(lines.iter().any(|line| line.contains("  3.0/min")), "never a number alone: {lines:?}");
}

/// Who watches the bar sees it grow with the rollout, and not with the numbers beside it.
#[test]
fn the_bar_keeps_its_length_while_the_numbers_beside_it_change() {
    for (width, height, length) in [(80, 24, 20), (120, 40, 30), (200, 50, 50)] {
        for (updated, allowed, available) in [(1, 1, 120), (12, 60, 119), (119, 120, 99)] {
            for estimate in [RolloutEstimate::None, running().estimate] {
                let mut snapshot = Snapshot { estimate, ..running() };
                snapshot.plan.allowed = allowed;
                (snapshot.counts.updated, snapshot.counts.available) = (updated, available);
                let screen = TestConsole::on(snapshot, width, height).screen();
                let bar = screen.lines().find_map(|line| Some(line.strip_prefix(" [")?.split_once(']')?.0));
                assert_eq!(bar.map(|bar| bar.chars().count()), Some(length), "{screen}");
            }
        }
    }
}

/// `next step 1` beside `10%` is taken for the number of the step.
#[test]
fn a_step_that_is_a_number_of_nodes_is_named_as_one_where_it_is_taken() {
    let next = |step| {
        let mut snapshot = running();
        let ahead = StepAhead { step, allowed: 1, frees: Some(1), cut_by_selector: false };
        snapshot.plan.next = Some(Ok(ahead));
        TestConsole::on(snapshot, 80, 24).typed("AS").screen()
    };
    for (step, name) in [(Int(1), "1 node"), (Int(12), "12 nodes"), (Percent(10), "10%")] {
        let screen = next(step);
        assert!(screen.contains(&format!("next step     {name}: lets 1 node go")), "{screen}");
    }
}
