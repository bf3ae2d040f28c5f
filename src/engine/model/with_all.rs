//! Enums that know all of their variants.

/// Declares an enum with `ALL`, so that no variant is missing there.
macro_rules! with_all {
    ($(#[$meta:meta])* pub enum $name:ident { $($(#[$doc:meta])* $variant:ident,)* }) => {
        $(#[$meta])*
        pub enum $name { $($(#[$doc])* $variant,)* }

        impl $name {
            /// All of them, in the order in which they are shown.
            pub const ALL: [Self; [$(stringify!($variant)),*].len()] = [$(Self::$variant),*];
        }
    };
}

pub(super) use with_all;
