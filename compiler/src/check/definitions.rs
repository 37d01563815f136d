//! Checks of definitions: their contents, and how they are used.

use super::level::{Kind, Level, Spot};
use super::parameters::{Parameters, compiled_code};
use super::rules::check_level;
use crate::checked::{Checked, Inside};
use crate::definitions::{Definition, DefinitionKind, Definitions, within};
use crate::diagnostic::{Diagnostic, Severity};
use crate::findings::Findings;
use crate::lowered::Argument;
use crate::options::Options;
use heddle_catalogue::{Role, Schema};
use heddle_contract::plan::OnError;

/// What an operation of two requests has besides its node: what it was given, the requests and the rim.
const OPERATION_PARTS: usize = 4;
/// Composites within each other.
const COMPOSITE_DEPTH_MAX: usize = 32;
/// Unused definitions of which each gets a warning of its own.
const UNUSED_TOLD_MAX: usize = 5;

/// Checks each definition by itself.
pub(super) fn check<'a>(
    definitions: &'a Definitions,
    items: bool,
    options: &Options,
    found: &mut Findings,
) -> Vec<Inside<'a>> {
    let mut insides = Vec::new();
    for definition in definitions.all() {
        let mut inner = found.part();
        let inside = match &definition.kind {
            DefinitionKind::Refused => Inside::Refused,
            DefinitionKind::Expression(_) => Inside::Outputs(outputs(definition, options, &mut inner)),
            DefinitionKind::JavaScript(source) => {
                Inside::JavaScript(module(definition, source, options, &inner))
            }
            DefinitionKind::Component(component) => Inside::Component(ports(definition), component),
            DefinitionKind::Graph(graph) => {
                let level = check_level(graph, definitions, (true, items), options, &mut inner);
                if graph.settings.items && !items {
                    let message =
                        "settings.items of a definition's graph has no effect: the pattern's own counts";
                    inner.push(Diagnostic::warning("option", message));
                }
                returns(definition, &level, &mut inner);
                Inside::Composite(Box::new(level))
            }
        };
        if let DefinitionKind::Graph(graph) = &definition.kind {
            inner.sort(graph.nodes.iter().map(|node| node.id.as_str()));
        }
        found.absorb(inner, |diagnostic| within(&definition.name, diagnostic));
        insides.push(inside);
    }
    insides
}

fn outputs(definition: &Definition, options: &Options, found: &mut Findings) -> Vec<(u32, Argument)> {
    let DefinitionKind::Expression(values) = &definition.kind else {
        return Vec::new();
    };
    let mut parameters = Parameters {
        names: None,
        options,
        found,
    };
    let ports = definition.outputs.iter().enumerate();
    ports
        .filter_map(|(port, output)| {
            let value = values.get(&output.name)?;
            let path = format!("outputValues.{}", output.name);
            Some((port as u32, parameters.argument(&Schema::Any, value, &path, 0)))
        })
        .collect()
}

/// Parameters of the node JavaScript for a definition.
fn module(
    definition: &Definition,
    source: &str,
    options: &Options,
    found: &Findings,
) -> Vec<(String, Argument)> {
    let mut parameters = vec![("code".to_owned(), Argument::Constant(source.into()))];
    parameters.extend(compiled_code(source, options, found));
    parameters.extend(ports(definition));
    parameters
}

/// `ports`, for a definition with several outputs.
fn ports(definition: &Definition) -> Vec<(String, Argument)> {
    if definition.outputs.len() < 2 {
        return Vec::new();
    }
    let names = definition.outputs.iter().map(|port| port.name.as_str());
    let ports = Argument::Constant(names.collect::<Vec<_>>().into());
    vec![("ports".to_owned(), ports)]
}

/// A composite with outputs must return something.
fn returns(definition: &Definition, level: &Level<'_>, found: &mut Findings) {
    let returns = level
        .nodes
        .iter()
        .enumerate()
        .filter(|(_, spot)| spot.role() == Role::Return);
    if returns.clone().next().is_none() && !definition.outputs.is_empty() {
        let message = "its inner graph has outputs but no Return, so nothing leaves it";
        found.push(Diagnostic::error("composite-return", message));
    }
    let Some(flow) = &level.flow else { return };
    for (_, spot) in returns.filter(|(node, _)| flow.scopes.of_node[*node] != 0) {
        let message = "a Return in a composite can't be in a loop's body";
        found.push(
            Diagnostic::error("composite-return", message)
                .at_node(&spot.node.id)
                .with_help("connect it to the loop's port `done`".to_owned()),
        );
    }
}

/// Warns of definitions that no node uses. Many are those of an API of which the pattern calls a part: one warning is enough.
fn warn_of_unused(definitions: &Definitions, used: &[bool], found: &mut Findings) {
    let all = definitions.all().iter().zip(used);
    let unused: Vec<&str> = all
        .filter(|(_, used)| !**used)
        .map(|(definition, _)| definition.name.as_str())
        .collect();
    if let [first, second, rest @ ..] = unused.as_slice()
        && unused.len() > UNUSED_TOLD_MAX
    {
        let message = format!(
            "no node uses {} of the definitions: `{first}`, `{second}` and {} others",
            unused.len(),
            rest.len()
        );
        found.push(Diagnostic::warning("unused-definition", message));
        return;
    }
    for name in unused {
        let message = format!("no node uses the definition `{name}`");
        found.push(Diagnostic::warning("unused-definition", message).at_definition(name, None));
    }
}

/// Checks that definitions are used, do not contain themselves and together are not too large.
pub(super) fn check_use(
    checked: &Checked<'_>,
    definitions: &Definitions,
    options: &Options,
    found: &mut Findings,
) {
    let mut used = vec![false; definitions.all().len()];
    let mut queue = uses(&checked.main);
    while let Some(index) = queue.pop() {
        if !std::mem::replace(&mut used[index], true)
            && let Inside::Composite(level) = &checked.definitions[index]
        {
            queue.extend(uses(level));
        }
    }
    warn_of_unused(definitions, &used, found);
    let mut walk = Walk {
        checked,
        definitions,
        bytes: checked.definitions.iter().map(Inside::bytes).collect(),
        state: vec![State::New; used.len()],
        path: Vec::new(),
        found,
    };
    let size = walk.size(&checked.main);
    if walk.state.iter().any(|state| matches!(state, State::Recursive)) {
        return;
    }
    let limits = options.limits;
    let too_many = |count: usize, max: usize, what: &str| {
        (count > max).then(|| {
            let message =
                format!("the graph has {count} {what}, including those of composites; {max} are allowed");
            Diagnostic::error("too-large", message).with_help("split it into several patterns".to_owned())
        })
    };
    found.extend(too_many(size.nodes, limits.nodes_max, "nodes"));
    found.extend(too_many(size.edges, limits.edges_max, "edges"));
    if size.bytes > limits.inlined_bytes_max {
        let message = format!(
            "the graph has more than {} MiB of parameters and code, counting those of composites each time \
             they are used",
            limits.inlined_bytes_max >> 20
        );
        found.push(
            Diagnostic::error("too-large", message).with_help("split it into several patterns".to_owned()),
        );
    }
    if size.depth > COMPOSITE_DEPTH_MAX {
        let message = format!(
            "composites are nested {} levels deep; {COMPOSITE_DEPTH_MAX} are allowed",
            size.depth
        );
        found.push(Diagnostic::error("too-deep", message));
    }
    check_error_handling(&checked.main, found);
    for (definition, inside) in definitions.all().iter().zip(&checked.definitions) {
        if let Inside::Composite(level) = inside {
            let mut inner = found.part();
            check_error_handling(level, &mut inner);
            found.absorb(inner, |diagnostic| within(&definition.name, diagnostic));
        }
    }
}

/// `continue` needs an output for the error.
fn check_error_handling(level: &Level<'_>, found: &mut Findings) {
    let continues = |spot: &&Spot<'_>| spot.composite().is_some() && spot.node.on_error == OnError::Continue;
    for spot in level.nodes.iter().filter(continues) {
        if composite_outputs(spot.kind) != 1 {
            let message = "onError \"continue\" on a composite needs exactly one output port; use \"branch\"";
            found.push(Diagnostic::error("option", message).at_node(&spot.node.id));
        }
    }
}

fn composite_outputs(kind: Kind<'_>) -> usize {
    match kind {
        Kind::Defined(definition, _) => definition.outputs.len(),
        _ => 0,
    }
}

fn uses(level: &Level<'_>) -> Vec<usize> {
    let used = level.nodes.iter().filter_map(|spot| match spot.kind {
        Kind::Defined(_, index) => Some(index),
        _ => None,
    });
    used.collect()
}

/// Nodes and edges once composites are inlined; sums stop at the largest number.
#[derive(Clone, Copy, Default)]
struct Size {
    nodes: usize,
    edges: usize,
    /// About how long parameters and code are.
    bytes: usize,
    /// Composites within each other.
    depth: usize,
}

#[derive(Clone, Copy)]
enum State {
    New,
    Open,
    Done(Size),
    Recursive,
}

/// Walks through composites within composites, depth first.
struct Walk<'w, 'a> {
    checked: &'w Checked<'a>,
    definitions: &'w Definitions,
    /// For each definition, what all of its nodes have.
    bytes: Vec<usize>,
    state: Vec<State>,
    path: Vec<usize>,
    found: &'w mut Findings,
}

impl Walk<'_, '_> {
    /// What the nodes of a level are given and called, without what is in their composites.
    fn bytes(&self, level: &Level<'_>) -> usize {
        let given = level.arguments.iter().flatten();
        let own = given.map(|(name, value)| name.len() + value.bytes());
        // The manifest has both for each of them.
        let called = level.nodes.iter().map(|spot| {
            let label = spot.node.label.as_ref().map_or(0, String::len);
            label + spot.node.node_type.len()
        });
        let inside = level.nodes.iter().map(|spot| match spot.kind {
            Kind::Defined(_, index) => self.bytes[index],
            _ => 0,
        });
        own.chain(called).chain(inside).fold(0, usize::saturating_add)
    }

    fn size(&mut self, level: &Level<'_>) -> Size {
        let mut size = Size {
            nodes: level.nodes.len(),
            edges: level.wires.len(),
            bytes: self.bytes(level),
            depth: 0,
        };
        let in_parts = level.nodes.iter().filter(|spot| spot.finds_first()).count();
        size.nodes = size.nodes.saturating_add(in_parts * OPERATION_PARTS);
        size.edges = size.edges.saturating_add(in_parts * (OPERATION_PARTS + 1));
        for index in level.nodes.iter().filter_map(|spot| spot.composite()) {
            let inner = self.composite(index);
            size.nodes = size.nodes.saturating_add(inner.nodes);
            size.edges = size.edges.saturating_add(inner.edges);
            size.bytes = size.bytes.saturating_add(inner.bytes);
            size.depth = size.depth.max(inner.depth.saturating_add(1));
        }
        size
    }

    fn composite(&mut self, index: usize) -> Size {
        match self.state[index] {
            State::Done(size) => size,
            State::Recursive => Size::default(),
            State::Open => {
                self.recursive(index);
                Size::default()
            }
            State::New => {
                let checked = self.checked;
                let Inside::Composite(level) = &checked.definitions[index] else {
                    return Size::default();
                };
                self.state[index] = State::Open;
                self.path.push(index);
                let size = stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.size(level));
                self.path.pop();
                if matches!(self.state[index], State::Open) {
                    self.state[index] = State::Done(size);
                }
                size
            }
        }
    }

    fn recursive(&mut self, index: usize) {
        let start = self.path.iter().position(|other| *other == index).unwrap_or(0);
        let names = self.path[start..].iter().chain([&index]);
        let names: Vec<&str> = names
            .map(|index| self.definitions.all()[*index].name.as_str())
            .collect();
        self.found.report(Severity::Error, || {
            let message = format!("composites contain themselves: {}", names.join(" → "));
            let help = "to repeat, put a Loop node inside instead".to_owned();
            Diagnostic::error("recursive-definition", message)
                .at_definition(names[0], None)
                .with_help(help)
        });
        for index in &self.path[start..] {
            self.state[*index] = State::Recursive;
        }
    }
}
