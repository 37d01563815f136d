//! All kinds of effects by their names.

use super::effect::{AnyEffect, Effect};
use std::collections::BTreeMap;
use std::sync::Arc;

/// All kinds of effects. Cheap to clone.
#[derive(Clone, Default)]
pub struct Registry(Arc<BTreeMap<&'static str, Arc<dyn AnyEffect>>>);

impl Registry {
    /// Adds a kind, or replaces the one of the same name.
    pub fn add<E: Effect>(&mut self, effect: E) {
        Arc::make_mut(&mut self.0).insert(E::KIND, Arc::new(effect));
    }

    /// The effect of this kind.
    pub fn get(&self, kind: &str) -> Option<Arc<dyn AnyEffect>> {
        self.0.get(kind).cloned()
    }
}
