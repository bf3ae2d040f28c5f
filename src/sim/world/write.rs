//! Which part of an object a write is for, in whose name, and whether it is carried out.

/// Whether a write is carried out.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Mode {
    /// It is.
    #[default]
    Commit,
    /// It is checked and answered, but nothing is stored (`dryRun=All`).
    DryRun,
}

/// Which part of an object a write is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    /// The object without its status: labels, annotations, spec.
    Main,
    /// The `status` subresource.
    Status,
    /// The `binding` subresource of a pod: only the node it is bound to is taken over, once.
    Binding,
}

/// How a write is made, and by whom.
#[derive(Clone, Copy, Debug)]
pub struct WriteOptions<'a> {
    /// The field manager: who is named as having written which field.
    pub manager: &'a str,
    /// Whether it is carried out.
    pub mode: Mode,
}

impl<'a> WriteOptions<'a> {
    /// A write by `manager` that is carried out.
    pub const fn named(manager: &'a str) -> Self {
        Self { manager, mode: Mode::Commit }
    }
}
