//! The operator's own defaults: a rollout begins with them, and one that is recorded keeps what it has.

use super::*;
use crate::engine::model::event::Watched;
use crate::engine::model::settings::{Setting, Tuning};

fn tuning(settings: &[(Setting, &str)]) -> Tuning {
    settings.iter().map(|(setting, text)| setting.read(text).unwrap()).fold(Tuning::default(), Tuning::and)
}

fn own() -> Tuning {
    tuning(&[(Setting::MaxUnavailable, "3"), (Setting::Soak, "2m"), (Setting::SiteLabel, "rack")])
}

/// What is in force of the settings that [`own`] names.
fn in_force(console: &mut FakeConsole, fake: &FakeCluster) -> [String; 3] {
    let settings = console.snapshot(fake).settings;
    [Setting::MaxUnavailable, Setting::Soak, Setting::SiteLabel].map(|setting| setting.value(&settings))
}

#[test]
fn a_rollout_begins_with_the_operators_defaults_and_a_flag_goes_before_them() {
    for (command, wanted) in [
        (Command::Adopt, ["3", "2m", "rack"]),
        (Command::Pause { why: None }, ["3", "2m", "rack"]),
        (Command::Adopt.under(tuning(&[(Setting::Soak, "5s")])), ["3", "5s", "rack"]),
    ] {
        let mut fake = FakeCluster::rolling(20, 2);
        fake.defaults = own();
        let mut console = FakeConsole::open(&fake, "ops");
        assert_eq!(console.snapshot(&fake).site_label.key(), "rack", "also before anything is recorded");
        let preview = console.engine.preview(&command, fake.now).unwrap();
        let words = "The rollout begins with these defaults in place of rolldeck's own: max-unavailable=3 site-label=rack soak=2m.";
        assert!(preview.effects.iter().any(|effect| effect == words), "{:?}", preview.effects);
        console.ask(&mut fake, command).unwrap();
        assert_eq!(in_force(&mut console, &fake), wanted.map(str::to_owned));
        // It is in the record, so that everybody has it.
        fake.defaults = Tuning::default();
        assert_eq!(in_force(&mut FakeConsole::open(&fake, "other"), &fake), wanted.map(str::to_owned));
    }
}

#[test]
fn a_rollout_that_is_recorded_keeps_its_own_settings() {
    let mut fake = FakeCluster::rolling(20, 2);
    let mut first = FakeConsole::open(&fake, "first");
    first.set_image(&mut fake, "agent:v2");
    let before = in_force(&mut first, &fake);
    fake.defaults = own();
    let mut second = FakeConsole::open(&fake, "second");
    for command in [Command::Pause { why: None }, Command::Resume, Command::Step(Step::Next)] {
        let preview = second.engine.preview(&command, fake.now).unwrap();
        assert!(!preview.effects.iter().any(|effect| effect.contains("configuration file")), "{:?}", preview.effects);
        second.ask(&mut fake, command).unwrap();
        first.run(&mut fake);
    }
    assert_eq!(in_force(&mut second, &fake), before);
}

/// Who gives a command may not have seen yet that somebody else began a rollout.
#[test]
fn a_rollout_that_began_meanwhile_keeps_its_own_settings_too() {
    let mut fake = FakeCluster::rolling(20, 2);
    let mut first = FakeConsole::open(&fake, "first");
    fake.defaults = own();
    let mut second = FakeConsole::open(&fake, "second");
    second.mute(Watched::Lease);
    first.ask(&mut fake, Command::Adopt).unwrap();
    let before = in_force(&mut first, &fake);
    second.engine.command(Command::Pause { why: None }, fake.now).unwrap();
    second.run_for(&mut fake, 5);
    second.unmute(&fake, Watched::Lease);
    second.run_for(&mut fake, 5);
    assert!(
        matches!(first.snapshot(&fake).phase, Phase::Paused(_))
            || matches!(second.snapshot(&fake).phase, Phase::Paused(_))
    );
    assert_eq!(in_force(&mut second, &fake), before);
}

#[test]
fn a_default_budget_under_which_all_may_be_down_is_confirmed() {
    let mut fake = FakeCluster::rolling(20, 2);
    let mut console = FakeConsole::open(&fake, "ops");
    let plain = console.engine.preview(&Command::Adopt, fake.now).unwrap().danger;
    fake.defaults = tuning(&[(Setting::MaxUnavailable, "100%")]);
    let mut console = FakeConsole::open(&fake, "ops");
    let preview = console.engine.preview(&Command::Adopt, fake.now).unwrap();
    let danger = preview.danger;
    assert!(plain < Danger::Serious && danger >= Danger::Serious, "{plain:?} {danger:?}");
    // Nothing goes beyond a budget that is all nodes.
    assert_eq!(preview.beyond_in_words(), Some("lets every node be down at once"));
}
