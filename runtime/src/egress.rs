//! The guard before every outbound connection.

/// Addresses that effects may reach besides public ones.
#[derive(Clone, Debug, Default)]
pub struct EgressPolicy {
    entries: Vec<String>,
}

impl EgressPolicy {
    /// Reads a list.
    pub fn parse<'a>(entries: impl IntoIterator<Item = &'a str>) -> Result<Self, String> {
        Ok(EgressPolicy {
            entries: entries.into_iter().map(str::to_owned).collect(),
        })
    }
}
