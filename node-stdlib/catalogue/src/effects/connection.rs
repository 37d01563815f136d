//! The parameter of nodes that work with a connection.

use crate::node_type::{Parameter, Schema};

/// `connection`, of the nodes that can't do without.
pub(super) const CONNECTION: Parameter =
    Parameter::required("connection", Schema::String, "Id or name of the connection.");
