//! The catalogue: every standard node type with its ports, parameters, documentation and examples.
//!
//! One registry for the compiler, `heddle nodes`, the API, editors and the reference pages. What depends on a type reads
//! its fields; what is true of one type only names it by a constant of this crate. Plain constants; nothing here runs in
//! the guest.

mod code;
mod connections;
mod consent;
mod content;
mod data;
mod editing;
mod effect_kind;
mod effects;
mod face;
mod fits;
mod flow;
mod form_fields;
mod formats;
mod icon;
mod node_type;
mod operation;
mod operations;
mod role;
mod service_trigger;
mod text;
mod time_and_crypto;
mod triggers;

pub use code::{FILES_IN_CODE, JAVASCRIPT, VALUES_IN_CODE};
pub use connections::{ConnectionField, ConnectionForm, connection_forms};
pub use consent::{CONSENT_PROVIDERS, ClientAuth, ConsentProvider, Revocation, consent_provider};
pub use content::{ConnectionKind, Content, Language, TimeUnit};
pub use data::TRANSFORM;
pub use editing::{ExpressionScope, Widget};
pub use effect_kind::{EFFECT_KINDS, EffectKind, Reach, reach};
pub use effects::HTTP_REQUEST;
pub use face::{Face, Group};
pub use fits::fields_fit;
pub use flow::{FOR_EACH, IF, NO_OP, THROW, WAIT_FOR_CALLBACK};
pub use icon::Icon;
pub use node_type::{
    Category, Either, Emits, Example, NodeType, Outputs, Parameter, Port, Schema, Sends, ValueType,
};
pub use operation::{Operation, Recorded};
pub use operations::{SERVICES, read_service};
pub use role::{Iteration, Role, Start};
pub use service_trigger::{RecordedStart, ServiceTrigger};

use serde_json::{Map, Value};
use std::sync::LazyLock;

/// All standard node types, by category and then by use.
pub fn node_types() -> &'static [NodeType] {
    static TYPES: LazyLock<Vec<NodeType>> = LazyLock::new(|| {
        let (starts, operations): (Vec<NodeType>, Vec<NodeType>) = operations::types()
            .into_iter()
            .partition(|it| it.trigger.is_some());
        [
            triggers::TYPES,
            starts.as_slice(),
            flow::TYPES,
            data::TYPES,
            text::TYPES,
            time_and_crypto::TYPES,
            code::TYPES,
            effects::TYPES,
            operations.as_slice(),
        ]
        .concat()
    });
    &TYPES
}

/// The type of this name.
pub fn node_type(name: &str) -> Option<&'static NodeType> {
    node_types().iter().find(|node_type| node_type.name == name)
}

/// What starts runs at a node of this type, and the parameters as this way's own type has them; none if it is no trigger.
pub fn started(name: &str, given: &Map<String, Value>) -> Option<(Start, Map<String, Value>)> {
    let it = node_type(name)?;
    let Role::Trigger(start) = it.role else {
        return None;
    };
    let parameters = it.trigger.map(|trigger| trigger.settings(given));
    Some((start, parameters.unwrap_or_else(|| given.clone())))
}
