//! What is known of a graph that is being edited: all findings with their places as editors count them, and how each
//! expression is evaluated. Nothing is compiled for it.

use heddle_compiler::diagnostic::Utf16Units;
use heddle_compiler::{Explained, Route, Severity};
use heddle_contract::manifest::{Manifest, Trigger};
use heddle_model::signature::Scheme;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeSet;
use std::ops::Range;
use utoipa::ToSchema;

/// Expressions that are told of one graph.
const EXPRESSIONS_MAX: usize = 5_000;
/// Reasons that are told of one expression.
const REASONS_MAX: usize = 20;
/// Bytes of a path, and of a reason.
const TEXT_BYTES_MAX: usize = 500;

/// What is known of a graph.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Validation {
    /// Errors and warnings in graph order, at most 100 of each.
    pub diagnostics: Vec<Diagnostic>,
    /// How each expression is evaluated, in graph order; those with an error are left out.
    pub expressions: Vec<EvaluatedExpression>,
    /// How many expressions beyond the first 5,000 are left out.
    pub expressions_omitted: usize,
    /// What the pattern could do, if that was asked for and there is no error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(required = false)]
    pub rights: Option<NeededRights>,
}

/// What a pattern could do, in alphabetical order. What is not listed is refused while it runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NeededRights {
    /// Kinds of effects.
    #[schema(example = json!(["http"]))]
    pub effects: Vec<String>,
    /// Names of secrets.
    #[schema(example = json!(["API_TOKEN"]))]
    pub secrets: Vec<String>,
    /// Names of connections; `*` for one that is computed.
    #[schema(example = json!(["orders-db"]))]
    pub connections: Vec<String>,
    /// Hosts that it sends requests to, besides those of connections; `*` for one that is computed.
    #[schema(example = json!(["api.example.com"]))]
    pub hosts: Vec<String>,
    /// Addresses at which the issuers of its senders' tokens publish their keys: who may start runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(example = json!(["https://id.example.com/.well-known/jwks.json"]))]
    pub issuers: Vec<String>,
    /// Patterns that it calls; `*` for one that is computed.
    #[schema(example = json!([]))]
    pub patterns: Vec<String>,
    /// Names of variables that its expressions read, as far as they are written out. They are not a right: all of an
    /// environment's variables can be read.
    #[serde(default)]
    #[schema(example = json!(["API_BASE"]))]
    pub variables: Vec<String>,
    /// Whether it has code for the JavaScript engine.
    pub javascript: bool,
}

impl NeededRights {
    /// What a module could do, with the variables that it names, if it says so.
    pub fn of(manifest: &Manifest) -> NeededRights {
        let rights = manifest.rights.clone();
        NeededRights {
            effects: rights.effects,
            secrets: rights.secrets,
            connections: rights.connections,
            hosts: rights.hosts,
            issuers: issuers(&manifest.triggers),
            patterns: rights.patterns,
            variables: manifest.variables.clone().unwrap_or_default(),
            javascript: rights.javascript,
        }
    }

    /// Each of them as `kind: name`, but for variables, which are not a right.
    pub fn listed(&self) -> Vec<String> {
        let kinds = [
            ("effect", &self.effects),
            ("secret", &self.secrets),
            ("connection", &self.connections),
            ("host", &self.hosts),
            ("issuer", &self.issuers),
            ("pattern", &self.patterns),
        ];
        let names = kinds
            .into_iter()
            .flat_map(|(kind, names)| names.iter().map(move |name| format!("{kind}: {name}")));
        let javascript = self
            .javascript
            .then(|| "code for the JavaScript engine".to_owned());
        names.chain(javascript).collect()
    }

    /// What is not among others, of each kind.
    pub fn without(&self, others: &NeededRights) -> NeededRights {
        let without = |all: &[String], others: &[String]| -> Vec<String> {
            all.iter()
                .filter(|name| !others.contains(name))
                .cloned()
                .collect()
        };
        NeededRights {
            effects: without(&self.effects, &others.effects),
            secrets: without(&self.secrets, &others.secrets),
            connections: without(&self.connections, &others.connections),
            hosts: without(&self.hosts, &others.hosts),
            issuers: without(&self.issuers, &others.issuers),
            patterns: without(&self.patterns, &others.patterns),
            variables: without(&self.variables, &others.variables),
            javascript: self.javascript && !others.javascript,
        }
    }
}

/// Where the keys of senders' tokens come from.
fn issuers(triggers: &[Trigger]) -> Vec<String> {
    let address = |trigger: &Trigger| {
        let scheme = trigger.parameters.get("scheme").and_then(Value::as_str);
        let address = trigger.parameters.get("jwt")?.get("keysUrl")?.as_str()?;
        (scheme == Some(Scheme::Jwt.name())).then(|| address.to_owned())
    };
    let addresses: BTreeSet<String> = triggers.iter().filter_map(address).collect();
    addresses.into_iter().collect()
}

/// Whether a finding prevents compilation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum DiagnosticSeverity {
    /// The graph does not compile.
    Error,
    /// The graph compiles; something in it looks wrong.
    Warning,
}

/// An error or a warning about a graph, with its place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Diagnostic {
    /// Whether it prevents compilation.
    pub severity: DiagnosticSeverity,
    /// Stable name of the rule.
    #[schema(example = "unknown-name")]
    pub code: String,
    /// The definition that it is in; the node and the parameter are then of that definition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "Checkout")]
    pub definition: Option<String>,
    /// The node; null for a graph or definition as a whole.
    #[schema(example = "price")]
    pub node_id: Option<String>,
    /// Path of the parameter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "cases[0].when")]
    pub parameter: Option<String>,
    /// What is wrong.
    #[schema(example = "`$inptu` is not known")]
    pub message: String,
    /// What to do about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "did you mean `$input`?")]
    pub help: Option<String>,
    /// The piece of the parameter's text that is meant, if it is about an expression or code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub span: Option<TextSpan>,
    /// What stands around that piece.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub excerpt: Option<TextExcerpt>,
}

/// A piece of a parameter's text, in UTF-16 code units, as JavaScript counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TextSpan {
    /// Its first unit.
    #[schema(example = 3)]
    pub start: usize,
    /// The unit after its last.
    #[schema(example = 9)]
    pub end: usize,
}

impl From<Range<usize>> for TextSpan {
    fn from(range: Range<usize>) -> Self {
        TextSpan {
            start: range.start,
            end: range.end,
        }
    }
}

/// A parameter's text, or what stands around a piece of a long one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TextExcerpt {
    /// The text.
    #[schema(example = "{{ $inptu.total }}")]
    pub text: String,
    /// UTF-16 code units of the parameter before it.
    pub offset: usize,
}

impl From<heddle_compiler::Diagnostic> for Diagnostic {
    fn from(found: heddle_compiler::Diagnostic) -> Self {
        let (definition, node_id, parameter) = match found.within {
            Some(within) => (Some(within.definition), within.node_id, within.parameter),
            None => (None, found.node_id, found.parameter),
        };
        let (span, excerpt) = match found.excerpt {
            Some(excerpt) => {
                let text = TextExcerpt {
                    text: excerpt.text,
                    offset: excerpt.utf16.offset,
                };
                (Some(excerpt.utf16.span.into()), Some(text))
            }
            None => (None, None),
        };
        Diagnostic {
            severity: match found.severity {
                Severity::Error => DiagnosticSeverity::Error,
                Severity::Warning => DiagnosticSeverity::Warning,
            },
            code: found.code.to_owned(),
            definition,
            node_id,
            parameter,
            message: found.message,
            help: found.help,
            span,
            excerpt,
        }
    }
}

impl Diagnostic {
    /// An error about the graph as a whole.
    pub(crate) fn of_graph(code: &str, message: String) -> Self {
        Diagnostic {
            severity: DiagnosticSeverity::Error,
            code: code.to_owned(),
            definition: None,
            node_id: None,
            parameter: None,
            message,
            help: None,
            span: None,
            excerpt: None,
        }
    }
}

/// What evaluates an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Evaluation {
    /// It is compiled to WebAssembly.
    Compiled,
    /// The JavaScript engine evaluates it.
    Engine,
}

/// An expression of a graph.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct EvaluatedExpression {
    /// The definition that it is in; the node is then one of its inner graph.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "Checkout")]
    pub definition: Option<String>,
    /// The node; null for an output of a definition.
    #[schema(example = "price")]
    pub node_id: Option<String>,
    /// Path of the parameter.
    #[schema(example = "url")]
    pub parameter: String,
    /// The expression in the parameter's text, without braces.
    pub span: TextSpan,
    /// What evaluates it.
    pub evaluation: Evaluation,
    /// Why the engine evaluates it, at most 20; empty if it is compiled.
    pub reasons: Vec<EngineReason>,
}

/// Something in an expression that is not compiled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct EngineReason {
    /// The construct, function or method.
    #[schema(example = "a regular expression")]
    pub what: String,
    /// Where it is in the parameter's text.
    pub span: TextSpan,
}

impl From<Explained> for EvaluatedExpression {
    fn from(explained: Explained) -> Self {
        let mut units = Utf16Units::new(&explained.expression);
        let start = explained.utf16.start;
        let reasons = explained.reasons.into_iter().take(REASONS_MAX).map(|why| {
            let span = units.before(why.span.start)..units.before(why.span.end);
            EngineReason {
                what: cut(why.what),
                span: (start + span.start..start + span.end).into(),
            }
        });
        EvaluatedExpression {
            reasons: reasons.collect(),
            definition: explained.definition.map(cut),
            node_id: explained.node_id.map(cut),
            parameter: cut(explained.parameter),
            span: explained.utf16.into(),
            evaluation: match explained.route {
                Route::Compiled => Evaluation::Compiled,
                Route::Engine => Evaluation::Engine,
            },
        }
    }
}

fn cut(mut text: String) -> String {
    if text.len() > TEXT_BYTES_MAX {
        text.truncate(text.floor_char_boundary(TEXT_BYTES_MAX));
        text.push('…');
        text.shrink_to_fit();
    }
    text
}

impl Validation {
    /// All of it, from the compiler's findings.
    pub(super) fn new(explained: Vec<Explained>, found: Vec<heddle_compiler::Diagnostic>) -> Self {
        let expressions_omitted = explained.len().saturating_sub(EXPRESSIONS_MAX);
        let listed = explained.into_iter().take(EXPRESSIONS_MAX);
        Validation {
            diagnostics: found.into_iter().map(Diagnostic::from).collect(),
            expressions: listed.map(EvaluatedExpression::from).collect(),
            expressions_omitted,
            rights: None,
        }
    }

    /// Nothing, for this one reason.
    pub(super) fn refused(message: String) -> Self {
        Validation {
            diagnostics: vec![Diagnostic::of_graph("too-large", message)],
            ..Validation::default()
        }
    }
}
