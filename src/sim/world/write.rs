//! The parts of an object that a write may be for, the writer's name, and whether the write is carried out.

/// Whether a write is carried out.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Mode {
    /// The write is carried out.
    #[default]
    Commit,
    /// The write is checked and answered, but nothing is stored (`dryRun=All`).
    DryRun,
}

/// The part of an object that a write is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WrittenPart {
    /// The object without its status: labels, annotations, spec.
    Main,
    /// The `status` subresource.
    Status,
    /// The `binding` subresource of a pod: only the node is taken over, and only once.
    Binding,
}

/// The field manager and the mode of a write.
#[derive(Clone, Copy, Debug)]
pub struct WriteOptions<'a> {
    /// The field manager, which is named for the fields that the write sets.
    pub manager: &'a str,
    /// Whether the write is carried out.
    pub mode: Mode,
}

impl<'a> WriteOptions<'a> {
    /// A write by `manager` that is carried out.
    pub const fn named(manager: &'a str) -> Self {
        Self { manager, mode: Mode::Commit }
    }
}
