//! Image.

use crate::face::{Face, Group};
use crate::icon::Icon;
use crate::node_type::{Category, Example, NodeType, Outputs, Parameter, Port, Schema, ValueType};

/// Image.
pub const TYPE: NodeType = NodeType {
    description: "Gives the format and the size of a PNG, JPEG, GIF or WebP. They are read from the file's own header, whatever its name and \
        type say, and nothing is read of the pixels. `orientation`, from 1 to 8, is how a JPEG is to be turned, if its Exif says so: with 5 to 8 \
        it is shown with width and height swapped. Any other file, and one with a damaged header, fails the node with `PARSE`.",
    outputs: Outputs::Fixed(&[Port::new(
        "out",
        ValueType::Object,
        "`{format, type, width, height}`, of a JPEG also `orientation`; `format` is `png`, `jpeg`, `gif` or `webp`, `type` the media type, and the \
         size is in pixels.",
    )]),
    parameters: &[
        Parameter::optional(
            "operation",
            Schema::Enum(&["info"]),
            "`info` reads format and size.",
        )
        .or("\"info\""),
        Parameter::optional("value", Schema::Any, "The picture, a file. Default: the input."),
    ],
    effects: &["file-piece"],
    examples: &[Example {
        title: "The size of a logo",
        parameters: "{}",
        input: r#"{"$file": "…", "name": "logo.gif", "type": "image/gif", "size": 14, "sha256": "…"}"#,
        output: r#"{"out": {"format": "gif", "type": "image/gif", "width": 120, "height": 60}}"#,
    }],
    ..NodeType::plain(
        "Image",
        Category::Effect,
        Face::new(
            "Image",
            Icon::Image,
            Group::Formats,
            &[
                "image",
                "picture",
                "photo",
                "png",
                "jpeg",
                "gif",
                "webp",
                "width",
                "height",
                "size",
                "edit image",
            ],
        ),
    )
};
