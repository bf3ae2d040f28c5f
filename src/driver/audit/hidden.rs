//! Secrets are put wherever an input can carry them; none comes out in the log or in an Event, whatever servers echo.

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::engine::fake_cluster::{FakeCluster, FakeConsole};
use crate::engine::model::command::{Command, Early, Step};
use crate::engine::model::effect::{EffectError, EffectErrorKind};
use crate::engine::model::event::{Event, WatchHealth, Watched};
use crate::engine::model::notice::Notice;
use crate::engine::model::template::Template;

/// One of each kind.
#[derive(Clone, Debug)]
struct Hidden {
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

impl Hidden {
    fn all(&self) -> [&str; 6] {
        [&self.token, &self.env, &self.arg, &self.annotation, &self.note, &self.password]
    }

    /// What a server says, in one of the ways in which servers echo.
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

fn hidden() -> impl Strategy<Value = Hidden> {
    let secret = || "[A-Za-z][A-Za-z0-9]{10,24}[0-9]";
    (secret(), secret(), secret(), secret(), secret(), secret()).prop_map(
        |(token, env, arg, annotation, note, password)| Hidden { token, env, arg, annotation, note, password },
    )
}

/// A DaemonSet that carries all that it can carry.
fn lab(hidden: &Hidden) -> FakeCluster {
    let mut lab = FakeCluster::rolling(6, 2);
    let template = Template::from_json(json!({
        "metadata": {"annotations": {"example.com/key": hidden.annotation}},
        "spec": {"containers": [{
            "name": "agent",
            "image": format!("joe:{}@registry.example/agent:v1", hidden.password),
            "args": ["--verbose", format!("--password={}", hidden.arg)],
            "env": [{"name": "DB", "value": hidden.env}],
        }]},
    }));
    lab.daemonset.annotations = [("example.com/note", hidden.note.as_str())].into_iter().collect();
    lab.set_template(template);
    lab.reconcile();
    lab
}

/// Lets the console act, while the server refuses or loses what `fails` says, in its words.
fn act(console: &mut FakeConsole, lab: &mut FakeCluster, hidden: &Hidden, fails: &mut impl Iterator<Item = usize>) {
    for _ in 0..8 {
        console.hear(lab);
        for (id, effect) in console.engine.decide(lab.now) {
            let kinds = [
                EffectErrorKind::Unknown,
                EffectErrorKind::Invalid,
                EffectErrorKind::Forbidden,
                EffectErrorKind::Conflict,
            ];
            let outcome = match fails.next().unwrap_or(0) {
                0..6 => lab.apply(effect),
                way => Err(EffectError { kind: kinds[way % 4], message: hidden.echoed(way).into() }),
            };
            console.engine.outcome(id, outcome, lab.now);
        }
        lab.reconcile();
        lab.kubelets();
        lab.wait(1);
    }
}

fn commands(hidden: &Hidden) -> Vec<Command> {
    vec![
        Command::Adopt,
        Command::SetImage([("agent".to_owned(), "registry.example/agent:v2".parse().unwrap())].into()),
        Command::Step(Step::Next),
        Command::Pause { why: Some(format!("it says password={} and Bearer {}", hidden.password, hidden.token)) },
        Command::Resume,
        Command::Step(Step::Next),
        Command::Undo { to: None },
        Command::Release(Early::Accept),
        Command::StopDriving,
        Command::GiveUpDriving { why: "nobody took its output".into() },
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_secret_comes_out(hidden in hidden(), fails in prop::collection::vec(0..12_usize, 0..60)) {
        let mut lab = lab(&hidden);
        let mut console = FakeConsole::open(&lab, "joe");
        let mut fails = fails.into_iter();
        let mut told = Vec::new();
        for (nth, command) in commands(&hidden).into_iter().enumerate() {
            // What is refused for a view that is down says what the server said about that.
            let down = WatchHealth::Down { since: lab.now, why: hidden.echoed(nth).into() };
            let health = if nth % 4 == 3 { down } else { WatchHealth::Live };
            console.engine.observe(Event::Watch(Watched::Revisions, health), lab.now);
            let _ = console.engine.command(command, lab.now);
            act(&mut console, &mut lab, &hidden, &mut fails);
            let notices = console.engine.take_notices().into_iter();
            told.extend(notices.filter_map(|notice| match notice {
                Notice::Happened(rollout_event) => Some(*rollout_event),
                Notice::Settled { .. } => None,
            }));
        }
        let token = hidden.token.clone();
        let secrets = Secrets::new(move || vec![token.clone()]);
        let subject = Subject {
            origin: Arc::default(),
            secrets,
            namespace: "edge".into(),
            name: "agent".into(),
            identity: "joe@bastion/1".into(),
        };
        prop_assert!(told.len() > 8);
        for rollout_event in &told {
            let line = String::from_utf8(subject.line(rollout_event)).unwrap();
            let note = subject.note(rollout_event);
            let event = format!("{} {} {}", note.reason, note.says, note.from);
            for secret in hidden.all() {
                prop_assert!(!line.contains(secret), "{secret} in the log: {line}");
                prop_assert!(!event.contains(secret), "{secret} in an Event: {event}");
            }
        }
    }
}
