//! A parameter of nodes that read texts in files.

use crate::node_type::{Parameter, Schema};

/// In which encoding a text in a file is read.
pub(super) const FILE_ENCODING: Parameter = Parameter::optional(
    "encoding",
    Schema::String,
    "How the text of a file that is read is encoded, by a label of the Encoding Standard: `utf-8`, `windows-1252`, `iso-8859-15`, \
     `utf-16le`, `shift_jis`, …. `auto` is the `charset` of the file's type, or else UTF-8. A byte order mark at the file's beginning \
     is right, whatever else is said. Bytes that are invalid in that encoding fail the node with `PARSE`.",
)
.advanced()
.or("\"auto\"");
