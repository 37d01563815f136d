//! How a node type is described.

use crate::content::Content;
use crate::face::Face;
use crate::operation::Operation;
use crate::role::Role;
use crate::service_trigger::ServiceTrigger;

/// Where a node type belongs in lists and palettes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Category {
    /// Starts a run.
    Trigger,
    /// Decides where values go.
    Flow,
    /// Shapes data.
    Data,
    /// Text and formats.
    Text,
    /// Time and cryptography.
    TimeAndCrypto,
    /// Code of one's own.
    Code,
    /// The outside world.
    Effect,
}

/// Type of a port or value, as nodeDefinitions name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueType {
    /// Anything.
    Any,
    String,
    Number,
    /// A whole number.
    Integer,
    /// `true` or `false`.
    Boolean,
    Object,
    Array,
}

/// An input or output port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Port {
    /// Name, as in `sourceHandle` and `targetHandle`.
    pub name: &'static str,
    pub value_type: ValueType,
    /// For inputs: an edge must end there.
    pub required: bool,
    /// What comes or goes there.
    pub description: &'static str,
}

/// What a parameter's value must look like. Wherever a value stands that is not [`field@Parameter::literal`], a string
/// `{{ expression }}` may stand instead.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Schema {
    /// Anything.
    Any,
    String,
    Number,
    /// A whole number within bounds.
    Integer {
        /// Smallest.
        min: i64,
        /// Largest.
        max: i64,
    },
    Boolean,
    /// The source of a JavaScript module: taken as it is, braces and all.
    Module,
    /// One of these strings.
    Enum(&'static [&'static str]),
    Array(&'static Schema),
    /// An object with these fields and no others.
    Object(&'static [Parameter]),
    /// An object with any field names.
    Map(&'static Schema),
    /// Evaluated for each item (`$item`, `$index`): a function value reaches the node. A text without `{{ }}` is
    /// passed as it is (a dotted path where the node says so).
    PerItem(&'static Schema),
    /// Evaluated for two items (`$a`, `$b`).
    PerPair(&'static Schema),
    /// Evaluated only when the node asks for it, with the names of its surroundings.
    Deferred(&'static Schema),
    /// One of several shapes.
    OneOf(&'static [Schema]),
}

/// A parameter of a node or a field of a structured parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameter {
    pub name: &'static str,
    /// Shape of the value.
    pub schema: Schema,
    /// Must be present.
    pub required: bool,
    /// May not be an expression: it is needed before the run.
    pub literal: bool,
    /// Value when absent, as JSON; empty when there is none.
    pub default: &'static str,
    /// What it does.
    pub description: &'static str,
    /// What its value stands for.
    pub content: Content,
    /// Whether editors show it only on demand.
    pub advanced: bool,
}

/// A runnable example: the tests execute it, what is random with the seed 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Example {
    /// What it shows.
    pub title: &'static str,
    /// The node's `parameters`, as JSON.
    pub parameters: &'static str,
    /// Value on the input port (an object by port name for nodes with several inputs; for Merge the array of the
    /// values that came; for triggers the event), as JSON.
    pub input: &'static str,
    /// What leaves, as JSON: an object from port name to value, or `{"error": {"error": {code, message}}}` of a failure.
    /// `…` in a text stands for what differs from run to run.
    pub output: &'static str,
}

/// How the output ports of a type are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outputs {
    /// Always these.
    Fixed(&'static [Port]),
    /// Switch: one for each `cases[].name`, then `default`.
    SwitchCases,
}

/// By how many of its outputs a node sends at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sends {
    One,
    /// By one, or by several when this parameter is there and not `false`.
    OneUnless(&'static str),
    /// By all of them.
    Several,
}

/// What a node emits, for whoever follows values through a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Emits {
    /// A value that it makes.
    Own,
    /// What has come, or elements of it, unchanged.
    Input,
    /// The value of this parameter.
    Parameter(&'static str),
}

impl Emits {
    /// Name, for editors.
    pub const fn name(self) -> &'static str {
        match self {
            Emits::Own => "own",
            Emits::Input => "input",
            Emits::Parameter(_) => "parameter",
        }
    }
}

/// Two parameters of which exactly one must be given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Either {
    /// The usual one.
    pub usual: &'static str,
    /// The other; null counts as not given.
    pub other: &'static str,
    /// What to write if neither is there.
    pub help: &'static str,
}

/// A standard node type.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NodeType {
    pub name: &'static str,
    /// How it is shown and found.
    pub face: Face,
    pub category: Category,
    /// One or two sentences.
    pub description: &'static str,
    pub inputs: &'static [Port],
    /// Output ports, without `error`, which every node with `onError: "branch"` has last.
    pub outputs: Outputs,
    /// Whether each of its outputs gets its part, instead of one of them getting all.
    pub sends_several: bool,
    /// Its own value, its input or a parameter's.
    pub emits: Emits,
    /// Whether it executes once for the list that comes where lists of items travel, and not for each of them; what else
    /// says so is in [`NodeType::works_on_lists`].
    pub takes_lists: bool,
    pub parameters: &'static [Parameter],
    /// What it does in the graph besides taking values and giving others.
    pub role: Role,
    /// Two parameters of which exactly one must be given.
    pub either: Option<Either>,
    /// Whether it needs the JavaScript engine, whatever its expressions need.
    pub needs_engine: bool,
    /// Effect kinds that it may start (rights of the manifest).
    pub effects: &'static [&'static str],
    /// The request that it is, if it is one of a service's operations: it executes as HttpRequest.
    pub operation: Option<&'static Operation>,
    /// What it stands for, if it is one of a service's triggers: runs start as at an OnWebhook or OnPoll node.
    pub trigger: Option<&'static ServiceTrigger>,
    pub examples: &'static [Example],
}

/// The one input of most nodes. Not required: a node that nothing leads to is a warning, so that a draft can run.
pub(crate) const IN: Port = Port::new("in", ValueType::Any, "The value to work on.");
/// The one output of most nodes.
pub(crate) const OUT: Port = Port::new("out", ValueType::Any, "The result.");
/// One output, of text.
pub(crate) const TEXT_OUT: Outputs = Outputs::Fixed(&[Port {
    value_type: ValueType::String,
    ..OUT
}]);
/// `items`, of the nodes that work on a list.
pub(crate) const ITEMS: Parameter = Parameter::optional(
    "items",
    Schema::Array(&Schema::Any),
    "The list to work on. Default: the input.",
);

impl Port {
    /// An output, or an input to which no edge needs to lead.
    pub(crate) const fn new(name: &'static str, value_type: ValueType, description: &'static str) -> Self {
        Port {
            name,
            value_type,
            required: false,
            description,
        }
    }

    /// The same, but an edge must end there.
    pub(crate) const fn required(mut self) -> Self {
        self.required = true;
        self
    }
}

impl Parameter {
    /// A parameter that may be left out.
    pub(crate) const fn optional(name: &'static str, schema: Schema, description: &'static str) -> Self {
        Parameter {
            name,
            schema,
            required: false,
            literal: false,
            default: "",
            description,
            content: Content::Plain,
            advanced: false,
        }
    }

    /// A parameter that must be given.
    pub(crate) const fn required(name: &'static str, schema: Schema, description: &'static str) -> Self {
        let mut parameter = Parameter::optional(name, schema, description);
        parameter.required = true;
        parameter
    }

    /// The same, with a default (JSON).
    pub(crate) const fn or(mut self, default: &'static str) -> Self {
        self.default = default;
        self
    }

    /// The same, but never an expression.
    pub(crate) const fn literal(mut self) -> Self {
        self.literal = true;
        self
    }

    /// The same, whose value stands for something.
    pub(crate) const fn content(mut self, content: Content) -> Self {
        self.content = content;
        self
    }

    /// The same, shown on demand only.
    pub(crate) const fn advanced(mut self) -> Self {
        self.advanced = true;
        self
    }
}

impl NodeType {
    /// A type that has no role and no effects, and is not in need of the engine.
    pub(crate) const fn plain(name: &'static str, category: Category, face: Face) -> Self {
        NodeType {
            name,
            face,
            category,
            description: "",
            inputs: &[IN],
            outputs: Outputs::Fixed(&[OUT]),
            sends_several: false,
            emits: Emits::Own,
            takes_lists: false,
            parameters: &[],
            role: Role::Plain,
            either: None,
            needs_engine: false,
            effects: &[],
            operation: None,
            trigger: None,
            examples: &[],
        }
    }

    /// The same, with a role.
    pub(crate) const fn role(mut self, role: Role) -> Self {
        self.role = role;
        self
    }

    /// The same, which emits this.
    pub(crate) const fn emitting(mut self, emits: Emits) -> Self {
        self.emits = emits;
        self
    }

    /// The same, which executes once for a list where lists of items travel.
    pub(crate) const fn taking_lists(mut self) -> Self {
        self.takes_lists = true;
        self
    }

    /// By how many of its outputs it sends at a time.
    pub const fn sends(&self) -> Sends {
        match self.role {
            Role::Choose {
                unless: Some(parameter),
            } => Sends::OneUnless(parameter),
            _ if self.sends_several => Sends::Several,
            _ => Sends::One,
        }
    }

    /// Whether it executes once for the list that comes, and not for each item, where lists of items travel. So do what takes
    /// its list by a parameter, and what takes several inputs.
    pub fn works_on_lists(&self) -> bool {
        let by_role = matches!(
            self.role,
            Role::Trigger(_) | Role::Iterate(_) | Role::Merge { .. } | Role::Return
        );
        let by_shape = self.inputs.len() > 1 || self.parameters.contains(&ITEMS);
        by_role || by_shape || self.takes_lists
    }

    /// The parameter of this name.
    pub fn parameter(&self, name: &str) -> Option<&'static Parameter> {
        self.parameters.iter().find(|parameter| parameter.name == name)
    }

    /// The parameter whose elements name output ports; none unless they are [`Outputs::SwitchCases`].
    pub fn cases(&self) -> Option<&'static Parameter> {
        let mut parameters = self.parameters.iter();
        parameters.find(|parameter| parameter.content == Content::Cases)
    }
}

/// A type of the category [`Category::Text`] with the usual input.
pub(crate) const fn text_type(
    name: &'static str,
    face: Face,
    description: &'static str,
    outputs: Outputs,
    parameters: &'static [Parameter],
    examples: &'static [Example],
) -> NodeType {
    NodeType {
        description,
        outputs,
        parameters,
        examples,
        ..NodeType::plain(name, Category::Text, face)
    }
}
