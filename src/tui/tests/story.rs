//! A rollout with a past.

use super::fixtures::{DAY, MINUTE, ago, running};
use crate::engine::command::{Command, Early, Step};
use crate::engine::happening::{Happening, ImageChanged, Reach, Tone, Upshot, What};
use crate::engine::snapshot::Snapshot;

/// One thing that happened so many seconds ago.
pub(super) fn happening(secs: u64, by: Option<&str>, what: What, result: Upshot, said: &str) -> Happening {
    Happening {
        at: ago(secs),
        by: by.map(Into::into),
        what,
        result,
        command: None,
        said: (!said.is_empty()).then(|| said.into()),
        reach: Reach::Timeline,
    }
}

/// The same rollout, and how it came to it.
pub(super) fn storied() -> Snapshot {
    let us = Some("ops@bastion-2");
    let images = [("agent".to_owned(), "registry.factory.example/edge/agent:v1.9.0".parse().unwrap())].into();
    let changed = What::TemplateChanged {
        from: Some(14),
        to: Some(15),
        images: vec![ImageChanged {
            container: "agent".into(),
            from: Some("registry.factory.example/edge/agent:v1.8.2".into()),
            to: Some("registry.factory.example/edge/agent:v1.9.0".into()),
        }],
    };
    let paused = What::Reported {
        reason: "RolloutPaused".into(),
        identity: "ada@workstation-17.munich.factory.example/1f00c3a9".into(),
        event: "ipc-agent.17".into(),
        tone: Tone::Normal,
    };
    let halted = What::Halted { number: 1, why: "image not found on 1 node".into(), nodes: vec!["ipc-017".into()] };
    let timeline = [
        happening(2 * DAY, us, What::Released, Upshot::Done, ""),
        happening(9 * MINUTE, us, What::LeaseAcquired, Upshot::Done, ""),
        happening(9 * MINUTE, None, What::Adopted, Upshot::Done, ""),
        happening(9 * MINUTE, None, changed, Upshot::Done, ""),
        happening(
            9 * MINUTE,
            us,
            What::Command(Command::SetImage(images)),
            Upshot::Done,
            "template has agent=registry.factory.example/edge/agent:v1.9.0; no pod is replaced before the first step",
        ),
        happening(
            8 * MINUTE,
            us,
            What::Command(Command::Step(Step::Next)),
            Upshot::Done,
            "38 of 120 nodes may be updated, partition keeps 82",
        ),
        happening(
            5 * MINUTE,
            Some("ada@workstation-17.munich.factory.example"),
            paused,
            Upshot::Done,
            "paused: no update starts: the link to line 4 is down (from 10.1.2.3, as ada)",
        ),
        happening(4 * MINUTE, us, What::Command(Command::Resume), Upshot::Done, "resumed"),
        happening(3 * MINUTE, None, halted, Upshot::Done, ""),
        happening(
            50,
            us,
            What::Command(Command::Release(Early::Refuse)),
            Upshot::Refused,
            "85 pods are not at the current revision; once released its controller replaces them by itself: release early \
             only if that is meant",
        ),
    ];
    Snapshot { timeline: timeline.into(), ..running() }
}
