//! Actions that change a rollout: its steps, its limits, its image, its driver, and pre-warming.

use super::super::arguments::{nothing, revisions, step_names};
use super::super::condition::{
    adopted, driving, has_limits, has_other_revision, has_prewarm_to_show, has_work, not_adopted, prewarm_failed,
    prewarm_pauses, prewarming, recorded, selects, stopped,
};
use super::super::entry::{Action, ActionId, ActionScope, Argument, Group, Guard};
use super::{char, look};
use crate::engine::model::event::Right;

/// The actions that change, beginning with the pause.
pub(super) const CHANGES: &[Action] = &[
    Action {
        name: "pause",
        aliases: &["brake"],
        keys: &[char('P'), char('B')],
        label: "pause",
        help: "start no update from now on; where its controller rolls, brake: stop that too; again: another reason",
        argument: Some(Argument { hint: "why", known: nothing }),
        scope: ActionScope::OneDaemonSet,
        footer: Some(0),
        ..change(ActionId::Pause, Guard::Safety)
    },
    Action {
        name: "write",
        aliases: &["arm"],
        keys: &[char('A')],
        label: "arm",
        help: "allow writes for 10 minutes; again: back to read-only",
        scope: ActionScope::Anywhere,
        footer: Some(1),
        ..change(ActionId::Arm, Guard::Read)
    },
    Action {
        name: "step",
        keys: &[char('S')],
        label: "step",
        help: "let more nodes be updated: the next step, a number, a percentage; or back",
        argument: Some(Argument { hint: "next, back, 60 or 50%", known: step_names }),
        footer: Some(3),
        when: recorded,
        ..change(ActionId::Step, Guard::Write(&[Right::UpdateLease, Right::DeletePods]))
    },
    Action {
        name: "partition",
        help: "keep this many pods at the old revision",
        label: "partition",
        argument: Some(Argument { hint: "82 or 30%", known: nothing }),
        when: recorded,
        ..change(ActionId::Partition, Guard::Write(&[Right::UpdateLease, Right::DeletePods]))
    },
    Action {
        name: "canary",
        aliases: &["select"],
        keys: &[char('N')],
        label: "canary",
        help: "restrict the rollout to nodes that match a label selector, or lift that again",
        argument: Some(Argument { hint: "selector", known: nothing }),
        footer: Some(5),
        when: selects,
        ..change(ActionId::Canary, Guard::Write(&[Right::UpdateLease]))
    },
    Action {
        name: "resume",
        aliases: &["continue"],
        keys: &[char('C')],
        label: "resume",
        help: "go on after a pause or a halt; past a halt it says what that accepts",
        footer: Some(2),
        when: stopped,
        ..change(ActionId::Resume, Guard::Write(&[Right::UpdateLease]))
    },
    Action {
        name: "image",
        aliases: &["set-image"],
        keys: &[char('I')],
        label: "image",
        help: "give it a new image; moves no pod by itself",
        argument: Some(Argument { hint: "container=image", known: nothing }),
        footer: Some(6),
        ..change(ActionId::Image, Guard::Write(&[Right::PatchDaemonSet, Right::CreateLease]))
    },
    Action {
        name: "drive",
        keys: &[char('D')],
        label: "drive",
        help: "become the driver, or take over from another console; while you drive: stop driving, armed or not",
        footer: Some(7),
        when: has_work,
        ..change(ActionId::Drive, Guard::Write(&[Right::UpdateLease]))
    },
    Action {
        name: "stop-driving",
        label: "stop driving",
        help: "give the lease back: what is under way goes on, nothing more begins",
        when: driving,
        ..change(ActionId::StopDriving, Guard::Safety)
    },
    Action {
        name: "undo",
        aliases: &["rollback", "roll-back"],
        keys: &[char('U')],
        label: "roll back",
        help: "roll back to an earlier revision, broken nodes first, or begin a rollout to a later one; W in its dialog pre-warms the chosen revision",
        argument: Some(Argument { hint: "revision", known: revisions }),
        footer: Some(4),
        when: has_other_revision,
        ..change(ActionId::Undo, Guard::Write(&[Right::PatchDaemonSet]))
    },
    Action {
        name: "release",
        keys: &[char('R')],
        label: "release",
        help: "hand it back to its controller, with its original update strategy; shows which pods that replaces",
        footer: Some(9),
        when: adopted,
        ..change(ActionId::Release, Guard::Write(&[Right::PatchDaemonSet]))
    },
    Action {
        name: "adopt",
        keys: &[char('O')],
        label: "adopt",
        help: "take over pod replacement from its controller (OnDelete); moves no pod",
        footer: Some(8),
        when: not_adopted,
        ..change(ActionId::Adopt, Guard::Write(&[Right::PatchDaemonSet]))
    },
    Action {
        name: "tune",
        aliases: &["set", "limits", "budget"],
        keys: &[char('L')],
        label: "limits",
        help: "budgets and gates: how many may be down, when it has failed, what strategy drift does",
        argument: Some(Argument { hint: "max-unavailable=5 …", known: nothing }),
        footer: Some(8),
        when: has_limits,
        ..change(ActionId::Tune, Guard::Write(&[Right::UpdateLease]))
    },
    Action {
        name: "prewarm",
        aliases: &["pre-warm"],
        keys: &[char('W')],
        label: "pre-warm",
        help: "bring images onto nodes before their pods are replaced; while that goes on: how far it is",
        argument: Some(Argument { hint: "container=image", known: nothing }),
        footer: Some(10),
        looks: has_prewarm_to_show,
        ..change(ActionId::Prewarm, Guard::Write(&[Right::UpdateLease, Right::CreatePods]))
    },
    Action {
        name: "prewarm-pause",
        aliases: &["prewarm-resume"],
        keys: &[char('p')],
        label: "pause pre-warm",
        help: "make no more pods for pre-warming, what is being pulled goes on; again: go on",
        footer: Some(17),
        when: prewarm_pauses,
        ..on_prewarm(ActionId::PausePrewarm, Guard::Safety)
    },
    Action {
        name: "prewarm-retry",
        keys: &[char('r')],
        label: "retry",
        help: "pre-warm again at once where it failed",
        footer: Some(18),
        when: prewarm_failed,
        ..on_prewarm(ActionId::RetryPrewarm, Guard::Write(&[Right::UpdateLease, Right::CreatePods]))
    },
    Action {
        name: "prewarm-cancel",
        keys: &[char('x')],
        label: "cancel",
        help: "delete the pods that pre-warm; images that were pulled stay for a while",
        footer: Some(19),
        when: prewarming,
        ..on_prewarm(ActionId::CancelPrewarm, Guard::Write(&[Right::UpdateLease, Right::DeletePods]))
    },
    Action {
        name: "readonly",
        label: "read-only",
        help: "no more writes until armed again",
        scope: ActionScope::Anywhere,
        ..change(ActionId::ReadOnly, Guard::Read)
    },
];

const fn change(id: ActionId, guard: Guard) -> Action {
    Action { group: Group::Change, scope: ActionScope::Rollout, guard, ..look(id) }
}

/// The fields that actions of the pre-warm screen have in common.
const fn on_prewarm(id: ActionId, guard: Guard) -> Action {
    Action { scope: ActionScope::Prewarm, ..change(id, guard) }
}
