//! The macro that makes a configuration type, its defaults and its documentation from one
//! documented list of keys. `cargo xtask gen` writes the documentation.

/// One key of a table, for the documentation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyDoc {
    /// The key.
    pub name: &'static str,
    /// Its doc comment.
    pub doc: String,
    /// Its default as TOML; empty where there is none.
    pub default: String,
}

/// A table's documentation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// What the table is for.
    pub doc: String,
    /// Its keys, in order.
    pub keys: Vec<KeyDoc>,
}

/// Joins the lines of a doc comment.
#[must_use]
pub fn join_doc(lines: &[&str]) -> String {
    lines.iter().map(|l| l.trim()).collect::<Vec<_>>().join("\n")
}

/// A value as it would stand after `key = `; empty for `None`.
#[must_use]
pub fn show_default<T: serde::Serialize>(value: &T) -> String {
    toml::Value::try_from(value).map(|v| v.to_string()).unwrap_or_default()
}

macro_rules! config_table {
    (
        $(#[doc = $table_doc:literal])+
        pub struct $name:ident {
            $( $(#[doc = $doc:literal])+ $key:ident : $ty:ty = $default:expr ),+ $(,)?
        }
    ) => {
        $(#[doc = $table_doc])+
        #[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        #[serde(default, deny_unknown_fields)]
        pub struct $name {
            $( $(#[doc = $doc])+ pub $key: $ty ),+
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $( $key: $default ),+ }
            }
        }

        impl $name {
            /// The documentation of this table and its keys.
            #[must_use]
            pub fn keys() -> $crate::config::Table {
                let default = Self::default();
                $crate::config::Table {
                    doc: $crate::config::table::join_doc(&[$($table_doc),+]),
                    keys: vec![$( $crate::config::KeyDoc {
                        name: stringify!($key),
                        doc: $crate::config::table::join_doc(&[$($doc),+]),
                        default: $crate::config::table::show_default(&default.$key),
                    } ),+],
                }
            }
        }
    };
}

pub(crate) use config_table;
