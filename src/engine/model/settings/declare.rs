//! What the table of settings becomes.

/// Declares from a table of settings:
///
/// - a struct for each group, with the defaults of the table: what is recorded;
/// - `Setting`, which names one of them, and what is known of each;
/// - `Tuning`, a change of some of them.
///
/// The first line of an entry's documentation is the help of its flag. Attributes after it are those of the recorded field.
macro_rules! settings {
    ($(
        $(#[$group_attribute:meta])*
        pub struct $Group:ident in $group:ident {$(
            #[doc = $help:literal]
            $(#[$attribute:meta])*
            $Setting:ident => $field:ident: $Type:ty = $default:expr, $about:expr;
        )+}
    )+) => {
        $(
            $(#[$group_attribute])*
            #[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
            #[serde(rename_all = "camelCase", default)]
            pub struct $Group {$(
                #[doc = $help]
                $(#[$attribute])*
                pub $field: $Type,
            )+}

            impl Default for $Group {
                fn default() -> Self {
                    Self { $($field: $default,)+ }
                }
            }

            impl From<$Group> for Tuning {
                fn from(group: $Group) -> Self {
                    Self { $($field: Some(group.$field),)+ ..Self::default() }
                }
            }
        )+

        /// One setting.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum Setting {$($(
            #[doc = $help]
            $Setting,
        )+)+}

        /// A change of settings: only what is named changes, so that two operators who change different things at once do
        /// not undo each other.
        #[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
        #[serde(rename_all = "camelCase", deny_unknown_fields)]
        pub struct Tuning {$($(
            #[doc = $help]
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub $field: Option<$Type>,
        )+)+}

        impl Setting {
            /// All of them, in the order of the table.
            pub const ALL: &'static [Self] = &[$($(Self::$Setting,)+)+];

            /// What the table says of it.
            pub fn about(self) -> About {
                match self {$($(Self::$Setting => $about,)+)+}
            }

            /// What it is for, in one sentence: the help of its flag.
            pub fn help(self) -> &'static str {
                match self {$($(Self::$Setting => $help.trim_ascii(),)+)+}
            }

            /// What the group that it belongs to is called in [`Settings`].
            fn group(self) -> &'static str {
                match self {$($(Self::$Setting => stringify!($group),)+)+}
            }

            /// How its values are typed and shown.
            pub fn kind(self) -> SettingKind {
                match self {$($(Self::$Setting => SettingKind::of::<$Type>(),)+)+}
            }

            /// Its value, as it would be typed.
            pub fn value(self, settings: &Settings) -> String {
                match self {$($(Self::$Setting => settings.$group.$field.to_string(),)+)+}
            }

            /// What `tuning` sets it to, as it would be typed; `None`: it stays as it is.
            pub fn value_in(self, tuning: &Tuning) -> Option<String> {
                match self {$($(Self::$Setting => tuning.$field.as_ref().map(ToString::to_string),)+)+}
            }

            /// The change that sets it to what is typed.
            ///
            /// # Errors
            /// Says what is wrong with `text`, and how a value is written.
            pub fn read(self, text: &str) -> Result<Tuning, String> {
                let mut tuning = Tuning::default();
                match self {$($(Self::$Setting => tuning.$field = Some(<$Type as SettingValue>::read(text)?),)+)+}
                Ok(tuning)
            }

            fn is_zero_in(self, tuning: &Tuning) -> bool {
                match self {$($(Self::$Setting => tuning.$field.as_ref().is_some_and(SettingValue::is_zero),)+)+}
            }

            /// The field of its group that it is.
            pub(in crate::engine::model) fn field(self) -> &'static str {
                match self {$($(Self::$Setting => stringify!($field),)+)+}
            }
        }

        impl Tuning {
            /// This change, and what `other` names beside it.
            #[must_use]
            pub fn and(self, other: Self) -> Self {
                Self {$($($field: other.$field.or(self.$field),)+)+}
            }

            /// Changes what it names.
            pub(crate) fn apply_to(&self, settings: &mut Settings) {
                $($(if let Some(value) = &self.$field {
                    settings.$group.$field.clone_from(value);
                })+)+
            }
        }
    };
}
