//! The fields of forms, which people fill in who have no account: of OnForm, and of the pages that follow.

use crate::node_type::{Parameter, Schema};

const TEXT: Schema = Schema::String;

/// What is written into a field when the page opens.
const DEFAULT: Schema = Schema::OneOf(&[
    Schema::String,
    Schema::Number,
    Schema::Boolean,
    Schema::Array(&Schema::String),
]);

/// One that can be chosen.
const OPTION: Schema = Schema::OneOf(&[
    Schema::String,
    Schema::Object(&[
        Parameter::required("value", TEXT, "What the event has.").literal(),
        Parameter::optional("label", TEXT, "What people read. Default: the value.").literal(),
    ]),
]);

const FIELD: &[Parameter] = &[
    Parameter::required(
        "name",
        TEXT,
        "The value's name in the event's `body`: a letter, then letters, digits and `_`.",
    )
    .literal(),
    Parameter::optional(
        "type",
        Schema::Enum(&[
            "text",
            "textarea",
            "number",
            "email",
            "url",
            "tel",
            "date",
            "time",
            "select",
            "radio",
            "checkboxes",
            "checkbox",
            "file",
            "hidden",
        ]),
        "The kind of field. `select` and `radio` let people choose one of `options`, `checkboxes` several; `checkbox` is yes \
         or no; `hidden` is not shown, and takes its value from the address or the default.",
    )
    .or("\"text\"")
    .literal(),
    Parameter::optional("label", TEXT, "What people read at the field. Default: the name.").literal(),
    Parameter::optional(
        "required",
        Schema::Boolean,
        "Whether it must be filled in; a `checkbox` must be ticked.",
    )
    .or("false")
    .literal(),
    Parameter::optional("help", TEXT, "A sentence below the label.").literal(),
    Parameter::optional("placeholder", TEXT, "What an empty field shows.")
        .advanced()
        .literal(),
    Parameter::optional(
        "default",
        DEFAULT,
        "What the field has when the page opens, unless the address says something else: `?name=value`.",
    )
    .literal(),
    Parameter::optional("options", Schema::Array(&OPTION), "What can be chosen.").literal(),
    Parameter::optional(
        "multiple",
        Schema::Boolean,
        "Whether a `select` or `file` takes several, which the event has as an array.",
    )
    .or("false")
    .literal(),
    Parameter::optional(
        "min",
        Schema::OneOf(&[Schema::Number, Schema::String]),
        "The smallest `number`, the first `date` or `time`, or how many must be chosen at least.",
    )
    .literal(),
    Parameter::optional(
        "max",
        Schema::OneOf(&[Schema::Number, Schema::String]),
        "The largest `number`, the last `date` or `time`, or how many can be chosen at most.",
    )
    .literal(),
    Parameter::optional("integer", Schema::Boolean, "Whether a `number` must be whole.")
        .or("false")
        .literal(),
    Parameter::optional(
        "minLength",
        Schema::Integer {
            min: 1,
            max: 1_000_000,
        },
        "The fewest characters that a text may have.",
    )
    .advanced()
    .literal(),
    Parameter::optional(
        "maxLength",
        Schema::Integer {
            min: 1,
            max: 1_000_000,
        },
        "The most characters that a text may have.",
    )
    .advanced()
    .literal(),
    Parameter::optional(
        "pattern",
        TEXT,
        "A regular expression that all of a text must match, such as `[A-Z]{2}\\d{4}`, in the syntax of Rust's crate `regex`.",
    )
    .advanced()
    .literal(),
    Parameter::optional(
        "patternMessage",
        TEXT,
        "What people read if their text does not match the pattern.",
    )
    .advanced()
    .literal(),
    Parameter::optional(
        "accept",
        Schema::Array(&TEXT),
        "Which files are accepted: extensions such as `.pdf`, and media types such as `image/png` and `image/*`.",
    )
    .literal(),
];

/// All fields of a form.
pub(crate) const FIELDS: Parameter = Parameter::required(
    "fields",
    Schema::Array(&Schema::Object(FIELD)),
    "What people fill in, in this order; at most 100.",
)
.literal();
