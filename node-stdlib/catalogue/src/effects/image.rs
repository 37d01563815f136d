//! Image.

use crate::face::{Face, Group};
use crate::icon::Icon;
use crate::node_type::{Category, Example, NodeType, Outputs, Parameter, Port, Schema, ValueType};

/// A width or height in pixels.
const SIDE: Schema = Schema::Integer { min: 1, max: 16_383 };

/// Image.
pub const TYPE: NodeType = NodeType {
    description: "`info` gives the format and the size of a PNG, JPEG, GIF or WebP. They are read from the file's own header, whatever its \
        name and type say, and nothing is read of the pixels. `orientation`, from 1 to 8, is how a JPEG is to be turned, if its Exif says so: \
        with 5 to 8 it is shown with width and height swapped. `convert` makes a picture of it in another size, another format or both: PNG, \
        JPEG or lossless WebP, turned as it is to be shown, and without what else the file says (Exif, place, colour profile). Of what \
        moves, it takes the first frame. The pixels are in the run's memory, 3 or 4 bytes each, up to 100 million of them. A file \
        that is not a picture, or is damaged, fails the node with `PARSE`, and a picture that is too large with `FILE_LIMIT`.",
    outputs: Outputs::Fixed(&[Port::new(
        "out",
        ValueType::Object,
        "`info`: `{format, type, width, height}`, of a JPEG also `orientation`; `format` is `png`, `jpeg`, `gif` or `webp`, `type` the media \
         type, and the size is in pixels. `convert`: the new picture, a file.",
    )]),
    parameters: &[
        Parameter::optional(
            "operation",
            Schema::Enum(&["info", "convert"]),
            "`info` reads format and size, `convert` makes another picture.",
        )
        .or("\"info\""),
        Parameter::optional("value", Schema::Any, "The picture, a file. Default: the input."),
        Parameter::optional(
            "width",
            SIDE,
            "`convert`: its width in pixels. With width or height alone, the other follows; with neither, the size stays.",
        ),
        Parameter::optional("height", SIDE, "`convert`: its height in pixels."),
        Parameter::optional(
            "fit",
            Schema::Enum(&["inside", "cover", "contain", "fill"]),
            "`convert`: how it gets into width and height. `inside`: as large as it can be within them. `cover`: it fills them, and what is \
             beyond is cut off on both sides. `contain`: as `inside`, with a margin up to their size. `fill`: it is stretched.",
        )
        .or("\"inside\""),
        Parameter::optional(
            "withoutEnlargement",
            Schema::Boolean,
            "`convert`: a picture that is smaller stays as it is.",
        )
        .or("false"),
        Parameter::optional(
            "format",
            Schema::Enum(&["png", "jpeg", "webp"]),
            "`convert`: the new format. Default: its own, and PNG for a GIF.",
        ),
        Parameter::optional(
            "quality",
            Schema::Integer { min: 1, max: 100 },
            "`convert`: of a JPEG. A lower one makes a smaller file.",
        )
        .advanced()
        .or("80"),
        Parameter::optional(
            "background",
            Schema::String,
            "`convert`: what is seen through it and around it: `#rgb`, `#rrggbb`, `#rrggbbaa`, `white`, `black` or `transparent`. Default: \
             nothing, and white for a JPEG.",
        )
        .advanced(),
        Parameter::optional(
            "name",
            Schema::String,
            "`convert`: the new file's name. Default: the file's own, with the ending of the format.",
        )
        .advanced(),
    ],
    effects: &["file", "file-piece"],
    examples: &[
        Example {
            title: "The size of a logo",
            parameters: "{}",
            input: r#"{"$file": "…", "name": "logo.gif", "type": "image/gif", "size": 14, "sha256": "…"}"#,
            output: r#"{"out": {"format": "gif", "type": "image/gif", "width": 120, "height": 60}}"#,
        },
        Example {
            title: "A small square of a photo",
            parameters: r#"{"operation": "convert", "width": 200, "height": 200, "fit": "cover", "format": "jpeg"}"#,
            input: r#"{"$file": "…", "name": "photo.png", "type": "image/png", "size": 48210, "sha256": "…"}"#,
            output: r#"{"out": {"$file": "…", "name": "photo.jpg", "type": "image/jpeg", "size": 2749, "sha256": "…"}}"#,
        },
    ],
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
                "resize",
                "crop",
                "thumbnail",
                "convert",
            ],
        ),
    )
};
