//! The columns of the console's list of nodes, by the names that the key `columns` and `:sort` take.

macro_rules! names {
    ($($(#[$documentation:meta])* $Column:ident = $name:literal,)+) => {
        /// A column of the console's list of nodes.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum NodeColumnName {$(
            $(#[$documentation])*
            $Column,
        )+}

        impl NodeColumnName {
            /// All of them, in their usual order.
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$Column),+];

            /// As it is written in the file.
            pub const fn name(self) -> &'static str {
                match self {$(Self::$Column => $name,)+}
            }
        }
    };
}

// What each is, and what is in it, is declared in `tui/columns/nodes.rs`, where the compiler asks for each of them.
names! {
    /// Which node.
    Name = "name",
    /// How far its update is.
    State = "state",
    /// What is wrong, or what it waits for.
    Why = "why",
    /// Its site.
    Site = "site",
    /// The revision of its pod.
    Revision = "revision",
    /// Where the target's image is.
    Image = "image",
    /// Its pod.
    Pod = "pod",
    /// How often its containers were restarted.
    Restarts = "restarts",
    /// For how long it has been in its state.
    Since = "since",
}

impl std::fmt::Display for NodeColumnName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}
