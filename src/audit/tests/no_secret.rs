//! Secrets are put wherever an input can carry them; none is in the log or in an Event, whatever servers echo.

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::json;

use super::super::{EntrySubject, Secrets};
use crate::engine::fake_cluster::{FakeCluster, FakeConsole};
use crate::engine::model::command::{Command, Early, PrewarmCommand, Step, Takeover};
use crate::engine::model::config::Role;
use crate::engine::model::effect::{EffectError, EffectErrorKind};
use crate::engine::model::event::{Event, WatchHealth, Watched};
use crate::engine::model::notice::Notice;
use crate::engine::model::prewarm::{PrewarmLimits, PrewarmMethod, PrewarmNodes, PrewarmSource};
use crate::engine::model::quantity::IntOrPercent;
use crate::engine::model::settings::{Limit, Tuning};
use crate::engine::model::template::Template;

/// One of each kind.
#[derive(Clone, Debug)]
struct SecretKinds {
    /// The kubeconfig's token.
    token: String,
    /// A value in the template's environment.
    env: String,
    /// A part of an argument.
    arg: String,
    /// An annotation of the template.
    annotation: String,
    /// An annotation of the DaemonSet.
    note: String,
    /// A password before the host of an image that is there already.
    password: String,
}

impl SecretKinds {
    fn all(&self) -> [&str; 6] {
        [&self.token, &self.env, &self.arg, &self.annotation, &self.note, &self.password]
    }

    /// An error message that echoes secrets, in one of several forms.
    fn echoed(&self, way: usize) -> String {
        let Self { token, env, arg, annotation, note, password } = self;
        let ways = [
            format!("admission webhook \"w\" denied the request: {token} {env} {arg} {annotation} {note}"),
            format!("Authorization: Bearer {token}; env {{\"value\":\"{env}\"}}; --password={arg}"),
            format!("proxy https://joe:{password}@proxy.example/: 502 for {annotation}/{note}"),
            format!("spec.template.spec.containers[0].env[0].value: Invalid value: \"{env}\": no; {token}"),
            format!("image joe:{password}@registry.example/agent:v1: {env}{token}"),
            format!("<html>token={token}&password={password}</html> {note}"),
        ];
        ways[way % ways.len()].clone()
    }
}

fn hidden() -> impl Strategy<Value = SecretKinds> {
    let secret = || "[A-Za-z][A-Za-z0-9]{10,24}[0-9]";
    (secret(), secret(), secret(), secret(), secret(), secret()).prop_map(
        |(token, env, arg, annotation, note, password)| SecretKinds { token, env, arg, annotation, note, password },
    )
}

/// A DaemonSet with a secret in every field that can carry one.
fn fake_cluster(hidden: &SecretKinds) -> FakeCluster {
    let mut fake = FakeCluster::rolling(6, 2);
    let template = Template::from_json(json!({
        "metadata": {"annotations": {"example.com/key": hidden.annotation}},
        "spec": {"containers": [{
            "name": "agent",
            "image": format!("joe:{}@registry.example/agent:v1", hidden.password),
            "args": ["--verbose", format!("--password={}", hidden.arg)],
            "env": [{"name": "DB", "value": hidden.env}],
        }]},
    }));
    fake.daemonset.annotations = [("example.com/note", hidden.note.as_str())].into_iter().collect();
    fake.set_template(template);
    fake.reconcile();
    fake
}

/// Lets the console act. The server refuses or loses writes as `fails` says, with messages that echo secrets.
fn act(
    console: &mut FakeConsole,
    fake: &mut FakeCluster,
    hidden: &SecretKinds,
    fails: &mut impl Iterator<Item = usize>,
) {
    for _ in 0..8 {
        console.hear(fake);
        for (id, effect) in console.engine.decide(fake.now) {
            let kinds = [
                EffectErrorKind::Unknown,
                EffectErrorKind::Invalid,
                EffectErrorKind::Forbidden,
                EffectErrorKind::Conflict,
            ];
            let outcome = match fails.next().unwrap_or(0) {
                0..6 => fake.apply(effect),
                way => Err(EffectError { kind: kinds[way % 4], message: hidden.echoed(way).into(), dry_run: false }),
            };
            console.engine.outcome(id, outcome, fake.now);
        }
        fake.reconcile();
        fake.kubelets();
        fake.wait(1);
    }
}

/// One command of each kind, in an order in which most are accepted.
fn commands(hidden: &SecretKinds) -> impl Iterator<Item = Command> {
    std::iter::successors(Some(Command::Adopt), |command| following(command, hidden))
}

fn following(command: &Command, hidden: &SecretKinds) -> Option<Command> {
    let tuning = || Tuning { max_unavailable: Some(Limit::At(IntOrPercent::Int(3))), ..Tuning::default() };
    Some(match command {
        Command::Adopt => {
            Command::SetImage([("agent".to_owned(), "registry.example/agent:v2".parse().unwrap())].into())
        }
        Command::SetImage(_) => Command::Step(Step::Next),
        Command::Step(Step::Next) => {
            Command::Pause { why: Some(format!("it says password={} and Bearer {}", hidden.password, hidden.token)) }
        }
        Command::Pause { .. } => Command::Resume,
        Command::Resume => Command::Select(None),
        Command::Select(_) => Command::Tune(tuning()),
        Command::Tune(_) => Command::Step(Step::Back).under(tuning()),
        Command::Tuned { .. } => Command::Step(Step::Updated(IntOrPercent::Percent(100))),
        Command::Step(Step::Back | Step::Updated(_) | Step::Partition(_)) => Command::Undo { to: None },
        Command::Undo { .. } => Command::Release(Early::Accept),
        Command::Release(_) => Command::Drive(Takeover::Ask),
        Command::Drive(_) => Command::Prewarm(PrewarmCommand::Start {
            source: PrewarmSource::Template,
            nodes: PrewarmNodes::All,
            limits: PrewarmLimits::default(),
            method: PrewarmMethod::StatefulSet,
        }),
        Command::Prewarm(PrewarmCommand::Start { .. }) => Command::Prewarm(PrewarmCommand::Cancel),
        Command::Prewarm(_) => Command::StopDriving,
        Command::StopDriving => Command::EndDriving { why: "ended by SIGTERM".into() },
        Command::EndDriving { .. } => Command::GiveUpDriving { why: "nobody took its output".into() },
        Command::GiveUpDriving { .. } => return None,
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_secret_is_logged(hidden in hidden(), fails in prop::collection::vec(0..12_usize, 0..60)) {
        let mut fake = fake_cluster(&hidden);
        let mut console = FakeConsole::open(&fake, "joe");
        let mut fails = fails.into_iter();
        let mut published = Vec::new();
        for (nth, command) in commands(&hidden).enumerate() {
            // A refusal because of a watch that is down quotes what the server said about the watch.
            let down = WatchHealth::Down { since: fake.now, why: hidden.echoed(nth).into() };
            let health = if nth % 4 == 3 { down } else { WatchHealth::Live };
            console.engine.observe(Event::Watch(Watched::Revisions, health), fake.now);
            let _ = console.engine.command(command, fake.now);
            act(&mut console, &mut fake, &hidden, &mut fails);
            let notices = console.engine.take_notices().into_iter();
            published.extend(notices.filter_map(|notice| match notice {
                Notice::Happened { event, .. } => Some(*event),
                Notice::Settled { .. } => None,
            }));
        }
        let token = hidden.token.clone();
        let secrets = Secrets::new(move || vec![token.clone()]);
        let subject = EntrySubject {
            origin: Arc::default(),
            secrets,
            namespace: "edge".into(),
            name: "agent".into(),
            identity: "joe@bastion/1".into(),
            role: Role::Driver,
        };
        prop_assert!(published.len() > 8);
        for rollout_event in &published {
            let line = String::from_utf8(subject.line(rollout_event, None)).unwrap();
            let text = subject.event_text(rollout_event);
            let event = format!("{} {} {}", rollout_event.reason(), text.message, text.from);
            for secret in hidden.all() {
                prop_assert!(!line.contains(secret), "{secret} in the log: {line}");
                prop_assert!(!event.contains(secret), "{secret} in an Event: {event}");
            }
        }
    }
}
