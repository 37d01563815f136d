//! Parts of an expression that are compiled and handed to the script.

use super::super::lowering::Lowering;
use super::super::syntax::{is_target, range};
use super::super::tree::parsed;
use super::super::{Element, Expression, Name, Problem};
use super::rewriting::{Rewriting, WORK_OF_BYTE};
use heddle_values::methods::{Global, Method};
use heddle_values::{Array, Object, Value, ops};
use oxc_allocator::Allocator;
use oxc_ast::AstKind;
use oxc_ast::ast;
use oxc_semantic::NodeId;
use oxc_span::{GetSpan, Span};
use std::cell::Cell;
use std::ops::Range;

/// Ancestors that are looked at for a part, and how long it may be.
const ANCESTORS_MAX: usize = 64;
const PART_BYTES_MAX: u32 = 4 << 10;

/// A node of the tree and what it is compiled to.
type Part = (NodeId, Expression);

impl Rewriting<'_, '_, '_> {
    /// The value that a name stands for, with the path from it as far as it is data that nobody changes.
    pub(super) fn value_part(&self, node: NodeId, only_name: bool) -> Result<Part, Vec<Problem>> {
        let mut found = None;
        let mut problems = Vec::new();
        for (steps, candidate) in self.path(node).into_iter().enumerate() {
            match self.compiled(candidate) {
                Ok(part) if !is_value(&part, only_name) || !is_repeatable(part.clone(), false) => {}
                Ok(_) if self.is_callee(candidate) && steps > 0 => {}
                Ok(part) => found = Some((candidate, part)),
                // `$nodes`, `$secrets` and `$` are values only with what follows them.
                Err(wrong) if steps < 2 && !wrong.is_empty() => problems = wrong,
                Err(_) => {}
            }
        }
        found.ok_or(problems)
    }

    /// The largest part around a node that is compiled, which then needs nothing that the engine computes.
    pub(super) fn compiled_part(&self, node: NodeId, only_constant: bool) -> Option<Part> {
        let nodes = self.semantic.nodes();
        let ancestors = std::iter::once(node).chain(nodes.ancestor_ids(node));
        let parts = ancestors
            .take(ANCESTORS_MAX)
            .filter(|candidate| is_part(nodes.kind(*candidate)))
            .filter(|candidate| !self.is_callee(*candidate) && !self.is_target(*candidate))
            .filter(|candidate| !self.is_tagged(*candidate))
            .filter_map(|candidate| Some((candidate, self.compiled(candidate).ok()?)));
        let usable = parts.filter(|(_, part)| is_repeatable(part.clone(), only_constant));
        // What makes a value gives the same one wherever it stands and each time, unlike what the engine evaluates.
        let (mut found, mut made) = (None, None);
        for part in usable {
            match makes(&part.1) {
                true => made = Some(part),
                false => found = Some(part),
            }
        }
        found.or(made.filter(|_| !only_constant))
    }

    /// The node and the members and calls that begin with it.
    fn path(&self, node: NodeId) -> Vec<NodeId> {
        let nodes = self.semantic.nodes();
        let mut path = vec![node];
        let mut span = nodes.kind(node).span();
        for (id, kind) in nodes
            .ancestor_ids(node)
            .map(|id| (id, nodes.kind(id)))
            .take(ANCESTORS_MAX)
        {
            let continues = match kind {
                AstKind::ParenthesizedExpression(_) | AstKind::ChainExpression(_) => true,
                AstKind::StaticMemberExpression(member) => member.object.span() == span,
                AstKind::ComputedMemberExpression(member) => member.object.span() == span,
                AstKind::CallExpression(call) => call.callee.span() == span,
                _ => false,
            };
            if !continues {
                break;
            }
            span = kind.span();
            path.push(id);
        }
        path.retain(|id| !self.is_target(*id));
        path
    }

    /// What a node is compiled to by itself; else the problems, in terms of the whole source.
    fn compiled(&self, node: NodeId) -> Result<Expression, Vec<Problem>> {
        let kind = self.semantic.nodes().kind(node);
        let span = kind.span();
        if span.size() > PART_BYTES_MAX || leaves_chain(kind) || self.uses_locals(span) {
            return Err(Vec::new());
        }
        self.work(WORK_OF_BYTE * span.size() as usize + self.elsewhere.len())?;
        let Range { start, end } = range(span);
        let has_name = |place: &Range<usize>| start <= place.start && place.end <= end;
        if self.elsewhere.iter().any(has_name) {
            return Err(Vec::new());
        }
        let text = self.source.get(range(span)).unwrap_or_default();
        let allocator = Allocator::default();
        let tree = parsed(text, &allocator).map_err(|_| Vec::new())?;
        let (expression, reasons, mut problems) = Lowering::whole(&tree, self.names);
        if problems.is_empty() && reasons.is_empty() {
            return Ok(expression);
        }
        for problem in &mut problems {
            problem.span = problem.span.start + start..problem.span.end + start;
        }
        Err(problems)
    }

    /// Whether the place reads a name that the expression declares around it.
    fn uses_locals(&self, place: Span) -> bool {
        let scoping = self.semantic.scoping();
        let looked = Cell::new(0);
        let uses = scoping.symbol_ids().any(|symbol| {
            looked.set(looked.get() + 1);
            let declared = scoping.symbol_span(symbol);
            !place.contains_inclusive(declared)
                && scoping.get_resolved_references(symbol).any(|reference| {
                    looked.set(looked.get() + 1);
                    place.contains_inclusive(self.semantic.reference_span(reference))
                })
        });
        self.work(looked.get()).is_err() || uses
    }

    /// Counts what was or will be done; fails when it is too much.
    fn work(&self, amount: usize) -> Result<(), Vec<Problem>> {
        let left = self.work_left.get().saturating_sub(amount);
        self.work_left.set(left);
        if left == 0 { Err(Vec::new()) } else { Ok(()) }
    }

    /// Whether the node is what a call calls, so that its object is the call's `this`.
    pub(super) fn is_callee(&self, node: NodeId) -> bool {
        let nodes = self.semantic.nodes();
        let mut span = nodes.kind(node).span();
        for id in nodes.ancestor_ids(node) {
            match nodes.kind(id) {
                AstKind::ParenthesizedExpression(inner) => span = inner.span,
                AstKind::CallExpression(call) => return call.callee.span() == span,
                AstKind::NewExpression(new) => return new.callee.span() == span,
                AstKind::TaggedTemplateExpression(tagged) => return tagged.tag.span() == span,
                _ => return false,
            }
        }
        false
    }

    /// Whether the node is the template behind a tag, which gets its pieces and not its text.
    fn is_tagged(&self, node: NodeId) -> bool {
        let nodes = self.semantic.nodes();
        matches!(nodes.kind(node), AstKind::TemplateLiteral(_))
            && matches!(nodes.parent_kind(node), AstKind::TaggedTemplateExpression(_))
    }

    /// Whether the node is not read, but assigned to or deleted.
    fn is_target(&self, node: NodeId) -> bool {
        let nodes = self.semantic.nodes();
        is_target(nodes.kind(node).span(), nodes.parent_kind(node))
    }
}

/// Whether a node may be replaced by its value.
fn is_part(kind: AstKind<'_>) -> bool {
    matches!(
        kind,
        AstKind::IdentifierReference(_)
            | AstKind::ArrayExpression(_)
            | AstKind::ObjectExpression(_)
            | AstKind::TemplateLiteral(_)
            | AstKind::StaticMemberExpression(_)
            | AstKind::ComputedMemberExpression(_)
            | AstKind::CallExpression(_)
            | AstKind::NewExpression(_)
            | AstKind::UnaryExpression(_)
            | AstKind::BinaryExpression(_)
            | AstKind::LogicalExpression(_)
            | AstKind::ConditionalExpression(_)
            | AstKind::ChainExpression(_)
            | AstKind::ParenthesizedExpression(_)
    )
}

/// Whether the node ends the optional chain that it is the beginning of.
fn leaves_chain(kind: AstKind<'_>) -> bool {
    let (mut optional, mut object) = match kind {
        AstKind::StaticMemberExpression(member) => (member.optional, &member.object),
        AstKind::ComputedMemberExpression(member) => (member.optional, &member.object),
        AstKind::CallExpression(call) => (call.optional, &call.callee),
        _ => return false,
    };
    while !optional {
        (optional, object) = match object {
            ast::Expression::StaticMemberExpression(member) => (member.optional, &member.object),
            ast::Expression::ComputedMemberExpression(member) => (member.optional, &member.object),
            ast::Expression::CallExpression(call) => (call.optional, &call.callee),
            _ => return false,
        };
    }
    true
}

/// Whether a part is a name's value, or something in it.
fn is_value(part: &Expression, only_name: bool) -> bool {
    match part {
        Expression::Name(_) => true,
        Expression::Member(object, name) => !only_name && !is_inherited(name) && is_value(object, false),
        Expression::Index(object, key) => {
            !only_name && matches!(**key, Expression::Number(_)) && is_value(object, false)
        }
        Expression::Optional(inner) | Expression::Chain(inner) => is_value(inner, only_name),
        // n8n's ways of naming items.
        Expression::Global(
            Global::ItemFirst | Global::ItemLast | Global::ItemsAll | Global::ItemField,
            arguments,
        ) => matches!(arguments.first(), Some(Element::Item(value)) if is_value(value, false)),
        _ => false,
    }
}

/// Whether a part may make an array, an object or a date, which can be told from another one and be changed.
fn makes(part: &Expression) -> bool {
    match part {
        Expression::Array(_) | Expression::Object(_) => true,
        Expression::Member(inner, _)
        | Expression::Index(inner, _)
        | Expression::Optional(inner)
        | Expression::Chain(inner) => makes(inner),
        Expression::Logical(_, first, second) | Expression::Conditional(_, first, second) => {
            makes(first) || makes(second)
        }
        Expression::Sequence(all) => all.last().is_some_and(makes),
        Expression::Method(call) => match call.method {
            Method::At
            | Method::Concat
            | Method::Find
            | Method::FindLast
            | Method::First
            | Method::Last
            | Method::Pop
            | Method::Shift
            | Method::Slice
            | Method::ValueOf => makes(&call.receiver),
            method => makes_a_value(method),
        },
        Expression::Global(Global::IfEmpty, arguments) => arguments.iter().any(|argument| {
            let (Element::Item(value) | Element::Spread(value)) = argument;
            makes(value)
        }),
        Expression::Global(global, _) => matches!(
            global,
            Global::ArrayFrom
                | Global::ArrayOf
                | Global::Jmespath
                | Global::JSONParse
                | Global::NewDate
                | Global::ObjectAssign
                | Global::ObjectEntries
                | Global::ObjectFromEntries
                | Global::ObjectKeys
                | Global::ObjectValues
                | Global::StructuredClone
        ),
        _ => false,
    }
}

/// Whether a method gives an array, an object or a date of its own.
fn makes_a_value(method: Method) -> bool {
    matches!(
        method,
        Method::Append
            | Method::Chunk
            | Method::Compact
            | Method::Difference
            | Method::Fill
            | Method::Filter
            | Method::Flat
            | Method::FlatMap
            | Method::Intersection
            | Method::KeepFieldsContaining
            | Method::Keys
            | Method::Map
            | Method::Merge
            | Method::ParseJson
            | Method::Pluck
            | Method::Reduce
            | Method::ReduceRight
            | Method::RemoveDuplicates
            | Method::RemoveField
            | Method::RemoveFieldsContaining
            | Method::RenameKeys
            | Method::Reverse
            | Method::SmartJoin
            | Method::Sort
            | Method::Splice
            | Method::Split
            | Method::ToBSON
            | Method::ToJSDate
            | Method::ToObject
            | Method::ToReversed
            | Method::ToSorted
            | Method::ToSpliced
            | Method::Union
            | Method::Unique
            | Method::Values
            | Method::With
    )
}

/// Whether JavaScript finds a property of this name in some value of JSON that has none of its own.
fn is_inherited(name: &str) -> bool {
    [
        Value::Array(Array::default()),
        Value::Object(Object::new()),
        Value::from("x"),
        Value::Number(0.0),
        Value::Bool(true),
    ]
    .iter()
    .any(|value| ops::is_inherited(value, name))
}

/// Whether a part gives the same wherever it is evaluated.
fn is_repeatable(mut part: Expression, only_constant: bool) -> bool {
    let mut repeatable = true;
    part.visit_mut(&mut |inner| {
        if let Expression::Name(name) = inner {
            repeatable &= !only_constant && !matches!(name, Name::Random | Name::Uuid);
        }
    });
    repeatable
}
