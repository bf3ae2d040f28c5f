//! Tells a change of the template that rolldeck made from one that others made, by an annotation that the patch writes.

use super::ownership::FIELD_MANAGER;
use crate::engine::model::change_request::ChangeRequest;
use crate::engine::model::facts::DaemonSetFact;
use crate::engine::model::record::CHANGE;
use crate::engine::model::template::Template;

/// A change that the API server confirmed, and the template that it answered with.
#[derive(Clone, Debug)]
pub(crate) struct WrittenChange {
    pub(crate) request: ChangeRequest,
    pub(crate) template: Template,
}

/// Whether the template in force is the result of a requested change.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum InForce {
    /// The template is the API server's result of the change.
    Ours,
    /// The change was made, and somebody else changed the spec since.
    Overwritten,
    /// Nothing says that the change was made.
    NotMade,
}

/// The value of [`CHANGE`]: the identifier of the change, and the generation that its patch leads to.
///
/// The patch carries the resource version at which it was decided, so it leads to exactly this generation. As long as
/// `metadata.generation` is not greater, nobody has changed the spec since.
pub(crate) fn change_annotation(id: &str, generation: i64) -> String {
    format!("{id}/{generation}")
}

fn parse_annotation(text: &str) -> Option<(&str, i64)> {
    let (id, generation) = text.rsplit_once('/')?;
    Some((id, generation.parse().ok()?))
}

/// Whether the template of `daemonset` is the result of this change, by the annotation.
///
/// If admission turns the patch into the previous spec, the generation does not rise and stays one below the annotation's. Somebody else may then
/// change the spec, which raises the generation to the annotation's. So if the generations are equal, the template is ours unless `managedFields`
/// name another writer.
pub(crate) fn annotated(id: &str, daemonset: &DaemonSetFact) -> InForce {
    let known = daemonset.annotations.get(CHANGE).and_then(|text| parse_annotation(text));
    let Some((_, leads_to)) = known.filter(|(known, _)| *known == id) else { return InForce::NotMade };
    let by_others = daemonset.owners.template.as_ref().is_some_and(|manager| **manager != *FIELD_MANAGER);
    match daemonset.generation {
        generation if generation == leads_to - 1 => InForce::Ours,
        generation if generation == leads_to && !by_others => InForce::Ours,
        _ => InForce::Overwritten,
    }
}
