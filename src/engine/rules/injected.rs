//! Containers that are in a pod and not in its template: admission adds them while the pod is created, as meshes and agents of a platform do.
//! They come with every pod that is created from then on, whatever its revision (docs/kubernetes.md, *Why a pod is not healthy*).

use crate::engine::model::Str;
use crate::engine::model::cause::Cause;
use crate::engine::model::template::Template;

/// The container that `cause` is about, where `template`, that of the pod's revision, does not name it. `None` where the cause is about
/// the pod as a whole.
pub(crate) fn injected_container<'a>(cause: &'a Cause, template: &Template) -> Option<&'a Str> {
    let is_named = |name: &Str| template.containers().iter().any(|container| container.name == *name);
    cause.container.as_ref().filter(|name| !is_named(name))
}
