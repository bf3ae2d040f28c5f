//! Tests that some case has every kind of fault, every command of an operator, and for every setting a value other than its default.

use std::collections::BTreeSet;

use crate::engine::model::command::{Command, Takeover};
use crate::engine::model::settings::{Setting, Settings};
use crate::sim::attack::case::{Act, Case, LeaseEdit};
use crate::sim::attack::faults::{FaultKind, of_world};
use crate::sim::attack::network::NetworkProfile;

/// The kinds of fault that no case names. A conflict follows from two consoles that write at once.
const FOLLOWS: [FaultKind; 1] = [FaultKind::Conflict];

fn of_act(act: &Act) -> Option<FaultKind> {
    match act {
        Act::Open(_) => None,
        Act::Ask(_, command) => matches!(command.inner(), Command::Drive(Takeover::Ask)).then_some(FaultKind::Takeover),
        Act::OneShot(_) => Some(FaultKind::OneShot),
        Act::Kill(_) => Some(FaultKind::Killed),
        Act::Crash(_, _, point) => Some(point.kind()),
        Act::BreakWatch(..) => Some(FaultKind::WatchLost),
        Act::DelayWatch { .. } => Some(FaultKind::WatchLate),
        Act::BookmarksOnly { .. } => Some(FaultKind::WatchBookmarks),
        Act::ReplayWatch { .. } => Some(FaultKind::WatchReplayed),
        Act::StaleList { .. } => Some(FaultKind::ListStale),
        Act::StickWatch { .. } => Some(FaultKind::WatchStuck),
        Act::World(fault) => of_world(fault),
        Act::Compact => Some(FaultKind::WatchExpired),
        Act::EditLease(edit) => Some(match edit {
            LeaseEdit::Delete => FaultKind::LeaseDeleted,
            LeaseEdit::Garble => FaultKind::RecordGarbled,
            LeaseEdit::Pause | LeaseEdit::Partition(_) | LeaseEdit::Budget(_) | LeaseEdit::Enforce => {
                FaultKind::RecordEdited
            }
        }),
        Act::Upon { act, .. } => of_act(act),
    }
}

fn of_network(profile: NetworkProfile) -> Vec<FaultKind> {
    let NetworkProfile {
        min_delay: _,
        max_delay: _,
        distance,
        swells,
        lost_requests,
        lost_answers,
        throttled,
        not_sent,
        server_errors,
    } = profile;
    let kinds = [
        (distance > 0, FaultKind::FarAway),
        (swells > 0, FaultKind::LineFull),
        (lost_requests > 0, FaultKind::RequestLost),
        (lost_answers > 0, FaultKind::AnswerLost),
        (throttled > 0, FaultKind::Throttled),
        (not_sent > 0, FaultKind::NotSent),
        (server_errors > 0, FaultKind::ServerError),
        (server_errors > 0, FaultKind::ServerErrorDone),
    ];
    kinds.into_iter().filter_map(|(made, kind)| made.then_some(kind)).collect()
}

/// The kinds of fault that a case may meet.
fn of_case(case: &Case) -> BTreeSet<FaultKind> {
    let certain = case.certain_faults();
    let mut kinds: BTreeSet<FaultKind> =
        certain.by_kind().filter(|(_, count)| *count > 0).map(|(kind, _)| kind).collect();
    kinds.extend(case.acts.iter().filter_map(|(_, act)| of_act(act)));
    kinds.extend(of_network(case.network));
    let images = &case.scenario.images;
    kinds.extend(images.iter().any(|image| image.error.is_some()).then_some(FaultKind::PullFailed));
    kinds.extend(images.iter().any(|image| image.crashes_after.is_some()).then_some(FaultKind::CrashLoop));
    kinds.extend(case.skews.iter().any(|skew| *skew != 0).then_some(FaultKind::ConsoleClock));
    kinds
}

#[test]
fn every_kind_of_fault_is_made() {
    let made: BTreeSet<FaultKind> = (0..1_000).flat_map(|seed| of_case(&Case::random(seed))).chain(FOLLOWS).collect();
    let absent: Vec<&FaultKind> = FaultKind::ALL.iter().filter(|kind| !made.contains(kind)).collect();
    assert!(absent.is_empty(), "no seed makes these: {absent:?}");
}

/// Names every command, and lists the names.
macro_rules! commands {
    ($($name:literal => $pattern:pat,)+) => {
        const COMMANDS: [&str; [$($name),+].len()] = [$($name),+];

        fn name_of(command: &Command) -> &'static str {
            match command { $($pattern => $name,)+ }
        }
    };
}

commands! {
    "adopt" => Command::Adopt,
    "set image" => Command::SetImage(_),
    "step" => Command::Step(_),
    "select" => Command::Select(_),
    "pause" => Command::Pause { .. },
    "resume" => Command::Resume,
    "undo" => Command::Undo { .. },
    "release" => Command::Release(_),
    "tune" => Command::Tune(_),
    "tuned" => Command::Tuned { .. },
    "prewarm" => Command::Prewarm(_),
    "drive" => Command::Drive(_),
    "stop driving" => Command::StopDriving,
    "end driving" => Command::EndDriving { .. },
    "give up driving" => Command::GiveUpDriving { .. },
}

/// Commands that no case gives. Setting an image also adopts, and a process ends and gives up driving by itself.
const NOT_GIVEN: [&str; 3] = ["adopt", "end driving", "give up driving"];

fn given(act: &Act) -> Vec<&'static str> {
    match act {
        Act::Ask(_, command) | Act::OneShot(command) => vec![name_of(command), name_of(command.inner())],
        Act::Upon { act, .. } => given(act),
        _ => Vec::new(),
    }
}

#[test]
fn every_command_is_given() {
    let cases = (0..1_000).map(Case::random);
    let given: BTreeSet<&str> = cases.flat_map(|case| case.acts.into_iter().flat_map(|(_, act)| given(&act))).collect();
    let absent: Vec<&str> = COMMANDS.into_iter().filter(|name| !given.contains(name)).collect();
    assert_eq!(absent, NOT_GIVEN, "no seed gives these: see `OPERATOR_ACTS`");
}

/// Why no case sets this setting to a value other than its default; `None`: some case must.
fn why_not_drawn(setting: Setting) -> Option<&'static str> {
    match setting {
        Setting::Order => Some("no promise depends on which node goes next"),
        Setting::Finish => {
            Some("every case ends with a release (`finish.rs`), so that what stays adopted is handed back, too")
        }
        _ => None,
    }
}

/// The settings that an act sets to a value other than their default.
fn changed(act: &Act) -> Vec<Setting> {
    match act {
        Act::Ask(_, command) | Act::OneShot(command) => {
            let (tuning, defaults) = (command.tuning(), Settings::default());
            let differs = |setting: &Setting| setting.value_in(&tuning) != Some(setting.value(&defaults));
            tuning.named().filter(differs).collect()
        }
        Act::Upon { act, .. } => changed(act),
        _ => Vec::new(),
    }
}

#[test]
fn every_setting_is_drawn_with_another_value_than_its_default() {
    let acts = (0..1_000).flat_map(|seed| Case::random(seed).acts);
    let drawn: BTreeSet<&str> = acts.flat_map(|(_, act)| changed(&act)).map(Setting::name).collect();
    for setting in Setting::ALL {
        let is_drawn = drawn.contains(setting.name());
        assert_eq!(
            !is_drawn,
            why_not_drawn(*setting).is_some(),
            "{setting:?}: drawn: {is_drawn}, see `DRAWN` in `gates.rs`"
        );
    }
}
