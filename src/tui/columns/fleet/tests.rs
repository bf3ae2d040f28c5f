use super::super::tests::hidden_by_room;
use super::*;
use crate::driver::{FleetPrewarm, FleetPulls};
use crate::engine::model::facts::DaemonSetCounters;
use crate::engine::model::failing_nodes::{FailingCause, FailingNodes};

fn row(namespace: &str, name: &str, desired: u32) -> FleetRow {
    FleetRow {
        namespace: namespace.into(),
        name: name.into(),
        counters: DaemonSetCounters { desired, ..DaemonSetCounters::default() },
        strategy: String::new(),
        state: FleetState::UpToDate,
        since: None,
        to: FleetRevision::default(),
        from: None,
        more_revisions: 0,
        template_of_others: false,
        goes_back: false,
        pulls: None,
        prewarm: None,
        driven_by: DrivenBy::Nobody,
        silent_since: None,
        prewarmed_by: None,
        failing: None,
        last_failing: None,
    }
}

fn revision(number: i64, images: &[(&str, &str)]) -> FleetRevision {
    let images = images.iter().map(|(name, image)| (Str::from(*name), Str::from(*image))).collect();
    FleetRevision { number: Some(number), images }
}

#[test]
fn more_room_never_hides_a_column() {
    for namespace in [1, 9, 12, 30, 63] {
        for name in [1, 9, 20, 40, 63] {
            for (desired, revisions) in [(1, 1), (120, 99), (15_000, 12_345)] {
                let mut row = row(&"n".repeat(namespace), &"d".repeat(name), desired);
                row.to = revision(revisions, &[("a", "registry.example/a:v1"), ("b", "registry.example/b:v1")]);
                row.from = Some(revision(revisions - 1, &[("a", "registry.example/a:v0"), ("b", "other/b:v1")]));
                let fleet = Fleet { rows: vec![row], ..Fleet::default() };
                let hidden = hidden_by_room(FLEET_COLUMNS, &fleet);
                assert_eq!(hidden, [""; 0], "namespaces of {namespace} cells, names of {name}, {desired} pods");
            }
        }
    }
}

#[test]
fn what_changes_is_told_in_few_words() {
    let digest = "registry.example/a@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
    type Images<'a> = &'a [(&'a str, &'a str)];
    let cases: &[(Images<'_>, Images<'_>, &str)] = &[
        (&[("a", "r/a:v1")], &[("a", "r/a:v2")], "v1 → v2"),
        (&[("a", "registry.example/a:v1")], &[("a", digest)], "v1 → sha256:01234567"),
        (&[("a", "r/a:v1")], &[("a", "r/a:v1")], "v1 (same)"),
        (&[("a", "r/a:v1")], &[("a", "u:p@s/a:v1")], "r/a:v1 → s/a:v1"),
        (&[("a", "a:v1"), ("b", "b:v1")], &[("a", "a:v1"), ("b", "b:v2")], "b v1 → v2"),
        (&[("a", "a:v1"), ("b", "b:v1")], &[("a", "a:v2"), ("b", "b:v2")], "a v1 → v2 +1"),
        (&[("a", "a:v1"), ("b", "b:v1")], &[("a", "a:v1")], "b v1 → none"),
        (&[], &[("a", "a:v2")], "? → v2"),
        (&[("a", "r/a:v1")], &[("a", "r/b:v2")], "v1 → v2, repository changes!"),
        (&[("a", "r.a/a:v1")], &[("a", "r.b/a:v2")], "v1 → v2, registry changes!"),
    ];
    for (before, after, want) in cases {
        let row = FleetRow { from: Some(revision(1, before)), to: revision(2, after), ..row("edge", "agent", 3) };
        assert_eq!(images(&row), *want);
    }
    let steady = FleetRow { to: revision(7, &[("a", "a:v1"), ("b", "b:v2")]), ..row("edge", "agent", 3) };
    assert_eq!((images(&steady), revisions(&steady)), ("a v1, b v2".to_owned(), "7".to_owned()));
    let unknown = FleetRow { from: Some(FleetRevision::default()), ..steady };
    assert_eq!(revisions(&unknown), "?→7");
    let back = FleetRow { from: Some(revision(9, &[])), ..unknown };
    assert_eq!(revisions(&back), "9→7 older");
}

#[test]
fn the_state_says_what_is_pulled_and_what_is_down() {
    let counted = |state: FleetState, available: u32, pulls: [u32; 3], prewarm: Option<FleetPrewarm>| {
        let [pulling, failed, starting] = pulls;
        let counters = DaemonSetCounters { desired: 3, available, ..DaemonSetCounters::default() };
        let pulls = Some(FleetPulls { pulling, failed, starting });
        let driven_by = DrivenBy::Unknown;
        let row = FleetRow { counters, state, pulls, prewarm, driven_by, ..row("edge", "agent", 3) };
        (standing(&row), standing_role(&row))
    };
    let requested = Some(FleetPrewarm::Requested);
    for (got, words, role) in [
        (counted(FleetState::Rolling, 2, [1, 0, 0], None), "running, 1 pulling", ThemeRole::Busy),
        (counted(FleetState::Rolling, 1, [1, 1, 0], None), "running, 1 pull failed, 1 pulling", ThemeRole::Bad),
        (counted(FleetState::Rolling, 1, [0, 0, 2], None), "running, 2 starting", ThemeRole::Busy),
        (counted(FleetState::Held, 3, [2, 0, 0], requested), "held, pre-warm, 2 pulling", ThemeRole::Text),
        (counted(FleetState::Held, 2, [0, 0, 0], None), "held, 1 unavailable", ThemeRole::Warn),
        (counted(FleetState::Degraded(2), 1, [0, 2, 0], None), "2 unavailable, 2 pulls failed", ThemeRole::Bad),
        (
            counted(FleetState::Misscheduled(2), 3, [0, 1, 0], None),
            "2 misscheduled: their nodes are down, or should not run it, 1 pull failed",
            ThemeRole::Bad,
        ),
        (counted(FleetState::Halted("x".into()), 1, [0, 2, 0], None), "halted: x, 2 pulls failed", ThemeRole::Bad),
    ] {
        assert_eq!(got, (words.to_owned(), role));
    }
    let driven_by = DrivenBy::Unknown;
    let unknown = FleetRow { pulls: None, state: FleetState::Rolling, driven_by, ..row("edge", "agent", 0) };
    assert_eq!(unknown.standing(), "running");
    // What a driver tells comes first; an accepted failure is told, too, and needs no sign of its own in colour.
    for (accepted, words, (glyph, role)) in [
        (0, "paused, 2 failing: crash loop, by ada", (Glyph::Failed, ThemeRole::Bad)),
        (2, "paused, 2 failing, accepted: crash loop, by ada", (Glyph::Failed, ThemeRole::Warn)),
    ] {
        let causes = vec![FailingCause { cause: "crash loop".into(), nodes: 2 }];
        let failing = Some(FailingNodes { nodes: 2, accepted, causes, ..FailingNodes::default() });
        let counters = DaemonSetCounters { desired: 3, available: 1, ..DaemonSetCounters::default() };
        let pulls = Some(FleetPulls { failed: 1, ..FleetPulls::default() });
        let state = FleetState::Paused("by ada".into());
        let row = FleetRow { counters, failing, pulls, state, ..row("edge", "agent", 3) };
        assert_eq!((standing(&row).as_str(), sign(&row)), (words, (glyph, role)));
        assert!(rank(&row) < FleetState::Undriven.rank(), "it is listed before what nobody drives");
    }
    // Whoever drives halts for what fails.
    let pulls = Some(FleetPulls { failed: 1, ..FleetPulls::default() });
    let counters = DaemonSetCounters { desired: 3, available: 2, ..DaemonSetCounters::default() };
    let judged = FleetRow { counters, state: FleetState::Rolling, pulls, ..row("edge", "agent", 3) };
    let judged = FleetRow { driven_by: DrivenBy::You, ..judged };
    assert_eq!((sign(&judged).0, standing_role(&judged)), (Glyph::Moving, ThemeRole::Warn));
    let undriven = FleetRow { driven_by: DrivenBy::Controller, ..judged };
    assert_eq!((sign(&undriven).0, standing_role(&undriven)), (Glyph::Failed, ThemeRole::Bad));
    // Six of 20 nodes are down: why the list counts 14.
    let counters = DaemonSetCounters { desired: 14, misscheduled: 6, ..DaemonSetCounters::default() };
    let cut = FleetRow { counters, state: FleetState::Rolling, driven_by: DrivenBy::You, ..row("edge", "agent", 14) };
    assert_eq!(standing(&cut), "running, 6 misscheduled");
}

#[test]
fn what_asks_to_be_looked_at_comes_first_by_every_column() {
    let counted = |name: &str, updated: u32, available: u32, since: Option<i64>, driven_by: DrivenBy| FleetRow {
        counters: DaemonSetCounters { desired: 10, updated, available, ..DaemonSetCounters::default() },
        since: since.map(Timestamp::from_millis),
        driven_by,
        ..row("edge", name, 10)
    };
    let rows = [
        counted("all", 10, 10, None, DrivenBy::Controller),
        counted("half", 5, 10, Some(1), DrivenBy::You),
        counted("none", 0, 7, Some(9), DrivenBy::Nobody),
    ];
    for (by, want) in [
        ("up-to-date", ["none", "half", "all"]),
        ("available", ["none", "all", "half"]),
        ("since", ["none", "half", "all"]),
        ("driver", ["half", "none", "all"]),
        ("name", ["all", "half", "none"]),
    ] {
        let sort = FleetSort::all().find(|sort| sort.name() == by).unwrap();
        let mut shown = vec![0, 1, 2];
        sort_rows(sort, &mut shown, &rows);
        let shown: Vec<&str> = shown.into_iter().map(|at| &*rows[at].name).collect();
        assert_eq!(shown, want, "by {by}");
    }
}

#[test]
fn revisions_beside_those_of_the_change_are_counted() {
    let change = FleetRow { from: Some(revision(11, &[])), to: revision(13, &[]), ..row("edge", "agent", 3) };
    assert_eq!(revisions(&change), "11→13");
    let more = FleetRow { more_revisions: 2, ..change };
    assert_eq!(revisions(&more), "11→13 +2");
    let back = FleetRow { from: Some(more.to.clone()), to: revision(11, &[]), more_revisions: 1, ..more };
    assert_eq!(revisions(&back), "13→11 +1 older");
}

/// The sign of a pause stands for a pause: what stands still because nobody drives has the sign of its page.
#[test]
fn what_nobody_drives_has_another_sign_than_a_pause() {
    let sign_of = |state, template_of_others| {
        sign(&FleetRow { state, template_of_others, driven_by: DrivenBy::Nobody, ..row("edge", "agent", 3) })
    };
    assert_eq!(sign_of(FleetState::Undriven, false), (Glyph::Outdated, ThemeRole::Warn));
    assert_eq!(sign_of(FleetState::Rolling, false), (Glyph::Outdated, ThemeRole::Warn));
    assert_eq!(sign_of(FleetState::Undriven, true), (Glyph::Paused, ThemeRole::Warn));
    assert_eq!(sign_of(FleetState::Paused("by ada".into()), false), (Glyph::Paused, ThemeRole::Warn));
}
