//! What is known of a setting. All of them are in [`super::table`].

/// One setting.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// Key in the file; `--its-name` as a flag and `HEDDLE_ITS_NAME` in the environment.
    pub name: &'static str,
    /// The default, as text for people.
    pub default: &'static str,
    /// One-line description.
    pub help: &'static str,
    /// Whether its value is masked in output.
    pub is_secret: bool,
    /// Whether it is a list of tables in the file; elsewhere it is JSON.
    pub is_tables: bool,
}

pub(super) const fn setting(name: &'static str, default: &'static str, help: &'static str) -> Setting {
    Setting {
        name,
        default,
        help,
        is_secret: false,
        is_tables: false,
    }
}

/// One whose value nobody is shown.
pub(super) const fn secret(name: &'static str, default: &'static str, help: &'static str) -> Setting {
    Setting {
        is_secret: true,
        ..setting(name, default, help)
    }
}

/// A setting whose value in the file may be a list of tables.
pub(super) const fn tables(setting: Setting) -> Setting {
    Setting {
        is_tables: true,
        ..setting
    }
}
