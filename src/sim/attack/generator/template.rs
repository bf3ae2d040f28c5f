//! Faults of templates: policies that refuse or rewrite them, and revisions that a console does not see.

use std::time::Duration;

use super::Generator;
use crate::engine::model::Str;
use crate::engine::model::command::Command;
use crate::engine::model::event::Watched;
use crate::sim::attack::case::{Act, DAEMON_SET, Trigger};
use crate::sim::world::scenario::ClusterFault;

impl Generator {
    /// Adds policies of the cluster that last for a while; all are gone before the calm.
    pub(super) fn template_policies(&mut self) {
        if self.one_in(10) {
            let at = self.secs(6..self.calm.as_secs());
            let until = (at + self.secs(5..90)).min(self.calm);
            self.refuse_templates(at, until);
        }
        if self.one_in(8) {
            let at = if self.one_in(2) { Duration::ZERO } else { self.secs(0..self.calm.as_secs()) };
            let namespace: Str = DAEMON_SET.0.into();
            let pin = ClusterFault::PinImages { namespace: namespace.clone() };
            self.add_until(at, self.calm, pin, ClusterFault::UnpinImages { namespace });
        }
    }

    fn refuse_templates(&mut self, at: Duration, until: Duration) {
        let namespace: Str = DAEMON_SET.0.into();
        let image = self.pick(&[Some("agent:v1"), Some("agent:v1"), Some("agent:v2"), None]).map(Str::from);
        let why = "ValidatingAdmissionPolicy 'images' with binding 'images' denied request: not this image".into();
        let refuse = ClusterFault::RefuseTemplates { namespace: namespace.clone(), image, why };
        self.add_until(at, until, refuse, ClusterFault::AdmitTemplates { namespace });
    }

    /// Somebody rolls back after some nodes have the new image, while a policy refuses the old template.
    pub(super) fn refused_undo(&mut self) -> Act {
        let at = self.secs(6..10);
        let until = (at + self.secs(30..200)).min(self.calm);
        self.refuse_templates(at, until);
        let undo = Command::Undo { to: None };
        let undo = if self.one_in(2) { Act::OneShot(undo) } else { Act::Ask(self.rng.usize(0..2), undo) };
        Act::Upon { trigger: Trigger::Deletion, after: self.rng.u32(0..4), act: Box::new(undo) }
    }

    /// A console's watch of revisions passes on only bookmarks around the change of the template.
    pub(super) fn unseen_revision(&mut self, start: Duration) -> (Duration, Act) {
        let at = start.saturating_sub(self.secs(0..3)).max(Duration::from_secs(1));
        let lasts = self.secs(5..60);
        (at, Act::BookmarksOnly { who: self.rng.usize(0..2), watched: Watched::Revisions, lasts })
    }
}
