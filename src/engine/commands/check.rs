//! Conditions of every command before it is resolved: facts to judge by, and the rights for its writes.

use crate::engine::machine::Engine;
use crate::engine::model::Str;
use crate::engine::model::command::{Command, PrewarmCommand, Refusal};
use crate::engine::model::event::{Permission, Right, WatchHealth, Watched};
use crate::engine::model::presence::Presence;
use crate::engine::model::prewarm::PrewarmMethod;
use crate::engine::model::settings::Tuning;
use crate::engine::model::time::{ShortDuration, Timestamp};
use crate::engine::rules::commands::Writes;

impl Engine {
    pub(super) fn check_loaded(&self, command: &Command, now: Timestamp) -> Result<(), Refusal> {
        match self.view.presence() {
            Presence::Loading => {
                let why = match self.view.health(Watched::DaemonSet) {
                    WatchHealth::Forbidden { why } | WatchHealth::Down { why, .. } => why.clone(),
                    WatchHealth::Loading | WatchHealth::Live | WatchHealth::Lagging { .. } => {
                        "still loading; try again in a moment".into()
                    }
                };
                return Err(Refusal::NotLoaded(why));
            }
            // The Lease may outlive its DaemonSet, as under `--cascade=orphan`: its holder may give it back.
            Presence::Absent if command.stops_driving() => {}
            Presence::Absent => {
                let name = format!("no DaemonSet {}/{}", self.config().namespace, self.config().name);
                return Err(Refusal::NotLoaded(name.into()));
            }
            Presence::Present => {}
        }
        self.check_readable(command, now)?;
        if command.works_blind() {
            return Ok(());
        }
        if self.is_being_deleted() {
            let why =
                "the DaemonSet is being deleted: nothing can be rolled out any more; once it is gone, make a new one";
            return Err(Refusal::NotNow(why.into()));
        }
        match self.too_stale_to_judge(now) {
            Some(why) => Err(Refusal::Stale(why)),
            None => Ok(()),
        }
    }

    /// Why a command cannot be judged: which watch is out of date or missing, since when, and what to try.
    fn too_stale_to_judge(&self, now: Timestamp) -> Option<Str> {
        Watched::NEEDED.into_iter().find_map(|watched| {
            let ago = |since: Timestamp| ShortDuration(now.since(since));
            let words = match self.health(watched) {
                WatchHealth::Live => return None,
                WatchHealth::Loading => format!("{watched} still loading; try again in a moment"),
                WatchHealth::Down { since, why } => format!(
                    "{watched} not seen for {} ({why}); it is tried again by itself: check the way to the API server",
                    ago(since)
                ),
                WatchHealth::Lagging { since, why } => format!(
                    "{watched} as of {} ago ({why}); wait until it has caught up, or check the way to the API server",
                    ago(since)
                ),
                WatchHealth::Forbidden { .. } if !is_needed_to_judge(watched) => return None,
                WatchHealth::Forbidden { why } => format!("{watched} forbidden: {why}; ask for `list` and `watch`"),
            };
            Some(format!("{words}. Pausing works all the same").into())
        })
    }

    pub(super) fn check_rights(&self, command: &Command) -> Result<(), Refusal> {
        let lease = if self.lock.resource_version().is_some() { Right::UpdateLease } else { Right::CreateLease };
        let brakes = matches!(command.inner(), Command::Pause { .. }) && self.pause_brakes();
        let rights: &[Right] = match command.writes() {
            // The brake must work even if the record cannot be written.
            _ if brakes => &[Right::PatchDaemonSet],
            Writes::Nothing => &[],
            Writes::Record => &[lease],
            Writes::Prewarm => match command {
                Command::Prewarm(PrewarmCommand::Start { method: PrewarmMethod::StatefulSet, .. }) => {
                    &[lease, Right::ListStatefulSets, Right::CreateStatefulSets, Right::DeleteStatefulSets]
                }
                _ => &[lease, Right::CreatePods, Right::DeletePods],
            },
            Writes::OnDelete | Writes::Template | Writes::OriginalStrategy => &[lease, Right::PatchDaemonSet],
            Writes::WholeRollout => &[Right::UpdateLease, Right::PatchDaemonSet, Right::DeletePods],
        };
        match rights.iter().find(|right| self.view.permission(**right) == Permission::Denied) {
            Some(right) => Err(Refusal::NotPermitted(*right)),
            None => Ok(()),
        }
    }

    pub(super) fn check_tuning(&self, tuning: &Tuning) -> Result<(), Refusal> {
        let mut after = self.intent();
        after.tune(tuning);
        let min_ready_secs = self.view.daemonset().map_or(0, |daemonset| daemonset.min_ready_secs);
        tuning.check(&after.settings(), min_ready_secs).map_err(Refusal::Invalid)
    }
}

/// Whether commands cannot be judged without permission to watch this. Without permission for nodes nothing is replaced, but a command can be
/// recorded.
fn is_needed_to_judge(watched: Watched) -> bool {
    match watched {
        Watched::DaemonSet | Watched::Revisions | Watched::Pods | Watched::Lease => true,
        Watched::Nodes | Watched::Events | Watched::WarmPods => false,
    }
}
