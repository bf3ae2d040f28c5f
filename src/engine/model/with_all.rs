//! Enums that know all of their variants.

/// Declares an enum with `ALL`, so that no variant is missing there.
macro_rules! with_all {
    ($(#[$meta:meta])* $vis:vis enum $name:ident { $($(#[$doc:meta])* $variant:ident,)* }) => {
        $(#[$meta])*
        $vis enum $name { $($(#[$doc])* $variant,)* }

        impl $name {
            /// All of them, in the order in which they are shown.
            $vis const ALL: [Self; [$(stringify!($variant)),*].len()] = [$(Self::$variant),*];
        }
    };
}

pub(crate) use with_all;
