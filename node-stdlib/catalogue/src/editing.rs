//! How an editor takes a parameter's value. All of it follows from the parameter's schema and content.

use crate::content::{Content, Language};
use crate::node_type::{Parameter, Schema};

/// The input by which an editor takes a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Widget {
    /// One line of text.
    Text,
    /// Several lines of text.
    Multiline,
    /// Text in a language.
    Code,
    Number,
    /// On or off.
    Toggle,
    /// One of a few.
    Select,
    /// An expression, or a literal in its place.
    Expression,
    /// A dotted path, or an expression.
    Path,
    /// Any JSON.
    Json,
    /// A list of values, each by the schema of the items.
    List,
    /// Values by names that the user chooses.
    KeyValueList,
    /// Each property by an input of its own.
    Fields,
    /// An address.
    Url,
    /// A cron expression.
    Cron,
    /// A time zone.
    Zone,
    /// A span of time.
    Duration,
    Connection,
    Secret,
    Pattern,
}

impl Widget {
    /// Name in kebab-case.
    pub const fn name(self) -> &'static str {
        match self {
            Widget::Text => "text",
            Widget::Multiline => "multiline",
            Widget::Code => "code",
            Widget::Number => "number",
            Widget::Toggle => "toggle",
            Widget::Select => "select",
            Widget::Expression => "expression",
            Widget::Path => "path",
            Widget::Json => "json",
            Widget::List => "list",
            Widget::KeyValueList => "key-value-list",
            Widget::Fields => "fields",
            Widget::Url => "url",
            Widget::Cron => "cron",
            Widget::Zone => "zone",
            Widget::Duration => "duration",
            Widget::Connection => "connection",
            Widget::Secret => "secret",
            Widget::Pattern => "pattern",
        }
    }
}

/// Which names an expression may use besides those of its node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExpressionScope {
    /// No others.
    Node,
    /// `$item` and `$index`: evaluated for each item.
    Item,
    /// `$a` and `$b`: evaluated for two items.
    Pair,
    /// No others, and evaluated only when the node asks for it.
    Deferred,
}

impl ExpressionScope {
    /// Name in kebab-case.
    pub const fn name(self) -> &'static str {
        match self {
            ExpressionScope::Node => "node",
            ExpressionScope::Item => "item",
            ExpressionScope::Pair => "pair",
            ExpressionScope::Deferred => "deferred",
        }
    }
}

impl Parameter {
    /// The input by which an editor takes it.
    pub fn widget(&self) -> Widget {
        match self.content {
            Content::Plain | Content::Cases => self.schema.widget(),
            Content::Url => Widget::Url,
            Content::Connection(_) => Widget::Connection,
            Content::Pattern => Widget::Pattern,
            Content::Secret => Widget::Secret,
            Content::Cron => Widget::Cron,
            Content::TimeZone { .. } => Widget::Zone,
            Content::Duration(_) => Widget::Duration,
            Content::Expression => Widget::Expression,
            Content::Path => Widget::Path,
            Content::Multiline => Widget::Multiline,
            Content::Source(_) => Widget::Code,
            Content::Json => Widget::Json,
        }
    }

    /// The language of its text.
    pub fn language(&self) -> Option<Language> {
        match (self.content, self.schema) {
            (Content::Source(language), _) => Some(language),
            (_, Schema::Module) => Some(Language::JavaScript),
            _ => None,
        }
    }

    /// Whether its value itself can't be an expression. Fields within say so for themselves.
    pub fn is_written_out(&self) -> bool {
        self.literal || self.content == Content::Cases
    }

    /// Which names its expressions may use; those of an object's fields are told by the fields.
    pub fn scope(&self) -> ExpressionScope {
        self.schema.scope()
    }
}

impl Schema {
    fn widget(&self) -> Widget {
        match self {
            Schema::Any => Widget::Json,
            Schema::String => Widget::Text,
            Schema::Number | Schema::Integer { .. } => Widget::Number,
            Schema::Boolean => Widget::Toggle,
            Schema::Module => Widget::Code,
            Schema::Enum(_) => Widget::Select,
            Schema::Array(_) => Widget::List,
            Schema::Object(_) => Widget::Fields,
            Schema::Map(_) => Widget::KeyValueList,
            Schema::PerItem(_) | Schema::PerPair(_) | Schema::Deferred(_) => Widget::Expression,
            // Numbers of which only some will do.
            Schema::OneOf([Schema::Integer { min, max }, ..]) if min == max => Widget::Select,
            Schema::OneOf(choices) => choices.first().map_or(Widget::Json, Schema::widget),
        }
    }

    fn scope(&self) -> ExpressionScope {
        match self {
            Schema::PerItem(_) => ExpressionScope::Item,
            Schema::PerPair(_) => ExpressionScope::Pair,
            Schema::Deferred(_) => ExpressionScope::Deferred,
            Schema::Array(inner) | Schema::Map(inner) => inner.scope(),
            Schema::OneOf(choices) => choices
                .iter()
                .map(Schema::scope)
                .find(|scope| *scope != ExpressionScope::Node)
                .unwrap_or(ExpressionScope::Node),
            _ => ExpressionScope::Node,
        }
    }
}
