//! The parameter of nodes that work with a connection.

use crate::content::{ConnectionKind, Content};
use crate::node_type::{Parameter, Schema};

/// `connection`, of the nodes that can't do without.
pub(super) const fn connection(kinds: &'static [ConnectionKind]) -> Parameter {
    Parameter::required("connection", Schema::String, "Id or name of the connection.")
        .content(Content::Connection(kinds))
}
