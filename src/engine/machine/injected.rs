//! Nodes that fail of a container that no revision names, so that no other revision helps.

use super::Engine;
use crate::engine::assess::rows::Row;
use crate::engine::model::Str;
use crate::engine::model::cause::Cause;
use crate::engine::model::command::Command;
use crate::engine::rules::injected::injected_container;

impl Engine {
    /// The container that the cause of this node is about, where the template of the pod's revision does not name it.
    pub(crate) fn injected<'a>(&self, row: &'a Row) -> Option<&'a Str> {
        let pod = row.pod.and_then(|pod| self.view.pod(pod))?;
        let revision = self.view.revision(pod.fact.revision.as_ref()?)?;
        injected_container(row.cause.as_ref()?, &revision.template)
    }

    /// What a node failed of, with the container where the template does not name it.
    pub(crate) fn cause_in_words(&self, row: &Row, cause: &Cause) -> String {
        match self.injected(row) {
            Some(container) => format!("{cause} ({container}, not in the template)"),
            None => cause.to_string(),
        }
    }

    /// A warning where a roll back replaces pods though what failed is in no template: the new pods of the earlier revision get it too.
    pub(crate) fn rolls_back_in_vain(&self, command: &Command) -> Option<String> {
        let Command::Undo { .. } = command.inner() else { return None };
        let failed = || self.assessment.rows().filter(|row| row.in_fleet && row.failure);
        let container = failed().find_map(|row| self.injected(row))?;
        let nodes = failed().filter(|row| self.injected(row).is_some()).count();
        let nodes = if nodes == 1 { "1 node".to_owned() } else { format!("{nodes} nodes") };
        Some(format!(
            "What fails on {nodes} is {container}, which is not in the template: something adds it to each pod that is created. Pods \
             of the earlier revision get it too, also in place of pods that serve. Whoever adds it has to correct it first."
        ))
    }
}
