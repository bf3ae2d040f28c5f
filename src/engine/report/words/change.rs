//! The change in words: images as versions, and the numbers of the revisions.

use std::fmt;

use crate::engine::model::image::{hidden_by_versions, version_of};
use crate::engine::report::snapshot::{ImageChange, RevisionView, Snapshot};

/// See [`Snapshot::change`].
#[derive(Clone, Copy, Debug)]
pub struct ChangeWords<'a>(pub(super) &'a Snapshot);

impl fmt::Display for ChangeWords<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(snapshot) = self;
        let changes = &snapshot.image_changes;
        match changes.as_slice() {
            [] if snapshot.has_unknown_change() => f.write_str("?"),
            [] if snapshot.has_change() => f.write_str("template changed, same images"),
            [] => match &snapshot.to {
                Some(revision) => write!(f, "{}", VersionWords(revision)),
                None => f.write_str("?"),
            },
            [change] => write_versions(f, change, self.before()),
            changes => {
                for (nth, change) in changes.iter().enumerate() {
                    if nth > 0 {
                        f.write_str(", ")?;
                    }
                    write!(f, "{}: ", change.container)?;
                    write_versions(f, change, self.before())?;
                }
                Ok(())
            }
        }
    }
}

impl ChangeWords<'_> {
    /// The word for the image of a container that the revision before is not known to have: that revision may not be in the history any more.
    fn before(&self) -> &'static str {
        match &self.0.from {
            Some(from) if from.images.is_empty() => "?",
            _ => "none",
        }
    }
}

fn write_versions(f: &mut fmt::Formatter<'_>, change: &ImageChange, before: &str) -> fmt::Result {
    let (from, to) = (change.from.as_deref(), change.to.as_deref());
    match (from, to) {
        (Some(from), Some(to)) if hidden_by_versions(from, to) => {
            write!(f, "{from} → {to}")
        }
        (from, to) => {
            write!(f, "{} → {}", from.map_or(before, version_of), to.map_or("none", version_of))
        }
    }
}

/// A revision's images as versions: `v1.9.0`, or `agent v2, proxy v1` where there are several.
#[derive(Clone, Copy, Debug)]
pub struct VersionWords<'a>(pub &'a RevisionView);

impl fmt::Display for VersionWords<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.images.as_slice() {
            [] => f.write_str("?"),
            [(_, image)] => f.write_str(version_of(image)),
            images => {
                for (nth, (container, image)) in images.iter().enumerate() {
                    write!(f, "{}{container} {}", if nth > 0 { ", " } else { "" }, version_of(image))?;
                }
                Ok(())
            }
        }
    }
}

/// See [`Snapshot::numbers`].
#[derive(Clone, Copy, Debug)]
pub struct Numbers<'a>(pub(super) &'a Snapshot);

impl fmt::Display for Numbers<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(snapshot) = self;
        let number = |revision: &Option<RevisionView>| match revision {
            Some(revision) => revision.number.map_or_else(|| "?".to_owned(), |number| number.to_string()),
            // The template has just been changed, or nothing is loaded.
            None => "not known yet".to_owned(),
        };
        if snapshot.has_change() {
            write!(f, "rev {} → {}", number(&snapshot.from), number(&snapshot.to))
        } else {
            write!(f, "rev {}", number(&snapshot.to))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_of_registry_is_not_said_as_no_change() {
        struct Say(ImageChange);
        impl fmt::Display for Say {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write_versions(f, &self.0, "none")
            }
        }
        let change = |from: Option<&str>, to: Option<&str>| {
            Say(ImageChange { container: "agent".into(), from: from.map(Into::into), to: to.map(Into::into) })
                .to_string()
        };
        assert_eq!(change(Some("a.example/agent:v1"), Some("a.example/agent:v2")), "v1 → v2");
        assert_eq!(change(Some("a/agent:v1"), Some("b/agent:v1")), "a/agent:v1 → b/agent:v1");
        assert_eq!(change(None, Some("b/agent:v1")), "none → v1");
    }
}
