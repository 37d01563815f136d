//! From the checked graph to the plan, the bodies and the manifest.
//!
//! Expects a graph without errors and finds none itself.

use crate::check::level::{Flow, Kind, Level};
use crate::checked::{Checked, Inside};
use crate::expression::{Element, Expression, Name};
use crate::inline::{Inlined, Part, Placed, inline};
use crate::lowered::{Argument, Body, Code, Lowered, Site, TextPart};
use crate::operation;
use crate::options::{Options, Pin};
use crate::reach::Reach;
use crate::rights::Collector;
use crate::scopes::{DONE_PORT, Scopes, Wire, reach};
use heddle_catalogue::{
    HTTP_REQUEST, Iteration, JAVASCRIPT, NodeType, Operation, Parameter, Role, TRANSFORM, WAIT_FOR_CALLBACK,
};
use heddle_contract::abi::{ABI_VERSION_COMPOSITES, ABI_VERSION_ITEMS, ABI_VERSION_LENIENT, ABI_VERSION_MIN};
use heddle_contract::manifest::{self, Asks, Expressions, Manifest, Settings};
use heddle_contract::plan::{self, NodeKind, OnError, Plan};
use heddle_values::methods::Global;
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, HashSet};
use std::fmt::Write;
use std::sync::Arc;

/// Lowers a checked graph; none if its inlined form has no order (which the checks have excluded).
pub(crate) fn lower(checked: &Checked<'_>, options: &Options) -> Option<Lowered> {
    let inlined = inline(checked, &options.pinned_nodes);
    let bodies: Vec<_> = inlined.nodes.iter().map(Placed::body_ports).collect();
    let reach = reach(&bodies, &inlined.wires).ok()?;
    let scopes = Scopes::new(&bodies, &inlined.blocks(), &inlined.wires, &reach);
    let flow = Flow { reach, scopes };
    let breakpoints = breakpoints(&inlined, options);
    let mut rights = Collector::default();
    let mut lowered = Lowered::default();
    let components = components(&inlined, checked);
    for (index, placed) in inlined.nodes.iter().enumerate() {
        let mut body = body(&inlined, placed, checked, &components);
        if let Some(body) = &mut body {
            let mut own = Collector::default();
            own.add(placed.spot, body);
            if let Some(used) = component_of(placed, &components) {
                own.add_component(&used.entry);
            }
            let effects = own.effects_of(placed.effects_id());
            // Both requests of an operation are one effect of its node.
            if lowered.effects.last() != effects.as_ref() {
                lowered.effects.extend(effects);
            }
            rights.join(own);
        }
        if is_entry(placed)
            && let Some(node_type) = placed.spot.standard()
        {
            add_trigger(&mut rights, &inlined, placed, node_type);
        }
        let node = node(&inlined, index, &flow, options, breakpoints.contains(&index));
        if node.max_attempts > 1 && node.backoff_ms > 0 {
            rights.add_effect("sleep");
        }
        lowered.plan.nodes.push(node);
        lowered.bodies.push(body);
    }
    lowered.plan = Plan {
        trace: options.trace,
        nodes: lowered.plan.nodes,
        edges: inlined.wires.iter().map(edge).collect(),
        scopes: flow.scopes.list.clone(),
        ..Plan::default()
    };
    mark_seen_outside(&mut lowered, &flow.scopes);
    lowered.components = components.values().map(|used| used.bytes.clone()).collect();
    lowered.manifest = Manifest {
        abi_version: abi_version(&lowered.plan, &checked.main.graph.settings),
        nodes: inlined.nodes.iter().map(manifest_node).collect(),
        triggers: triggers(&inlined, &flow.reach),
        functions: Vec::new(),
        components: components.values().map(|used| used.entry.clone()).collect(),
        rights: rights.rights(),
        variables: None,
        settings: checked.main.graph.settings.clone(),
        trace: options.trace,
    };
    Some(lowered)
}

/// The rights of what is done before runs start at a trigger.
fn add_trigger(
    rights: &mut Collector,
    inlined: &Inlined<'_, '_>,
    placed: &Placed<'_, '_>,
    node_type: &NodeType,
) {
    let of_service = node_type.trigger.map(|trigger| trigger.start.type_name());
    match of_service.and_then(heddle_catalogue::node_type) {
        Some(base) => {
            let settings = placed.spot.settings().into_owned().into_iter();
            let constants = settings.map(|(name, value)| (name, Argument::Constant(value)));
            rights.add_trigger(base, &constants.collect::<Vec<_>>());
            if let Some(subscription) = placed.spot.subscription() {
                rights.add_subscription(&subscription);
            }
        }
        None => {
            let instance = &inlined.instances[placed.instance];
            let given = arguments(instance.level, placed.local, &instance.tails);
            rights.add_trigger(node_type, &given);
        }
    }
}

/// Marks the nodes in bodies whose outputs nodes outside of them read.
fn mark_seen_outside(lowered: &mut Lowered, scopes: &Scopes) {
    if scopes.list.len() == 1 {
        return;
    }
    let nodes = &mut lowered.plan.nodes;
    for (reader, body) in lowered.bodies.iter_mut().enumerate() {
        let reader_scope = scopes.of_node[reader];
        let mut mark = |expression: &mut Expression| {
            if let Expression::Name(Name::NodeOutput(node) | Name::NodeItem(node)) = expression {
                let node = *node as usize;
                nodes[node].seen_outside |= !scopes.is_within(reader_scope, scopes.of_node[node]);
            }
        };
        for argument in body.iter_mut().flat_map(Body::arguments_mut) {
            argument.visit_mut(&mut mark);
        }
    }
}

/// The least version of the guest that can run it.
fn abi_version(plan: &Plan, settings: &Settings) -> u32 {
    let has_composites = plan.nodes.iter().any(|node| node.kind == NodeKind::Composite);
    if settings.items {
        ABI_VERSION_ITEMS
    } else if settings.expressions == Expressions::Lenient {
        ABI_VERSION_LENIENT
    } else if has_composites {
        ABI_VERSION_COMPOSITES
    } else {
        ABI_VERSION_MIN
    }
}

/// A component that nodes execute.
struct Used {
    number: usize,
    entry: manifest::Component,
    bytes: Arc<[u8]>,
}

/// The components that nodes execute, by their definitions' numbers.
fn components(inlined: &Inlined<'_, '_>, checked: &Checked<'_>) -> BTreeMap<usize, Used> {
    let executed = inlined.nodes.iter().filter(|placed| placed.part == Part::Whole);
    let mut used = BTreeMap::new();
    for placed in executed {
        if let Kind::Defined(definition, index) = placed.spot.kind
            && let Inside::Component(_, component) = &checked.definitions[index]
        {
            used.entry(index).or_insert_with(|| Used {
                number: 0,
                entry: manifest::Component {
                    node_type: definition.name.clone(),
                    sha256: hex(&Sha256::digest(&component.bytes)),
                    bytes: component.bytes.len(),
                    hosts: component.hosts.clone(),
                },
                bytes: component.bytes.clone(),
            });
        }
    }
    for (number, used) in used.values_mut().enumerate() {
        used.number = number;
    }
    used
}

/// The component that a node executes.
fn component_of<'u>(placed: &Placed<'_, '_>, components: &'u BTreeMap<usize, Used>) -> Option<&'u Used> {
    match (&placed.part, placed.spot.kind) {
        (Part::Whole, Kind::Defined(_, index)) => components.get(&index),
        _ => None,
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string can't fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn edge(wire: &Wire) -> plan::Edge {
    plan::Edge {
        source: wire.source as u32,
        source_port: wire.source_port as u32,
        target: wire.target as u32,
        target_port: wire.target_port as u32,
    }
}

/// Plan indices of the nodes with a breakpoint; that of an inlined composite is at its entry.
fn breakpoints(inlined: &Inlined<'_, '_>, options: &Options) -> HashSet<usize> {
    let wanted: HashSet<&str> = options.breakpoints.iter().map(String::as_str).collect();
    let mut found = HashSet::new();
    for (index, placed) in inlined.nodes.iter().enumerate() {
        if wanted.contains(placed.id.as_str()) {
            found.insert(match placed.part {
                Part::Rim => inlined.instances[placed.instance].heads[placed.local],
                _ => index,
            });
        }
    }
    found
}

fn node(
    inlined: &Inlined<'_, '_>,
    index: usize,
    flow: &Flow,
    options: &Options,
    breakpoint: bool,
) -> plan::Node {
    let placed = &inlined.nodes[index];
    let drawn = placed.spot.node;
    let outputs = placed.outputs();
    let runs = matches!(placed.part, Part::Whole | Part::Block(_) | Part::InnerReturn);
    let on_error = match runs {
        true => drawn.on_error,
        false => OnError::Fail,
    };
    let retry = drawn.retry.as_ref().filter(|_| runs);
    let merge = match placed.spot.role() {
        Role::Merge { mode } if runs => Some(text_or_default(placed, mode)),
        _ => None,
    };
    let first = merge == Some("first");
    plan::Node {
        id: placed.id.clone(),
        kind: kind(placed),
        scope: flow.scopes.of_node[index] as u32,
        function: None,
        inputs: placed.inputs(),
        outputs: outputs.len() as u32,
        error_port: (on_error == OnError::Branch).then(|| outputs.len() as u32 - 1),
        on_error,
        max_attempts: retry.map_or(1, |retry| retry.max_attempts),
        backoff_ms: retry.map_or(0, |retry| retry.backoff_ms as u32),
        backoff_factor_milli: retry.map_or(1_000, |retry| (retry.factor * 1_000.0) as u32),
        timeout_ms: placed.timeout_ms,
        each: placed.spot.each && runs,
        once: drawn.once && runs,
        always: drawn.always && runs,
        items: inlined.instances[placed.instance].level.items,
        concurrency: drawn.concurrency.unwrap_or(1),
        first: first || placed.part == Part::Rim,
        collect: merge.is_some() && !first,
        breakpoint,
        seen_outside: false,
        pin: options
            .pinned_nodes
            .get(&placed.id)
            .map(|value| pin(value, &outputs, placed.spot.is_loop())),
        body: flow.scopes.of_body[index].map(|body| body as u32),
    }
}

fn kind(placed: &Placed<'_, '_>) -> NodeKind {
    match placed.part {
        Part::Block(_) => NodeKind::Composite,
        Part::Whole => match placed.spot.role() {
            Role::Trigger(_) => NodeKind::Trigger,
            Role::Iterate(Iteration::ForEach) => NodeKind::ForEach,
            Role::Iterate(Iteration::While { .. }) => NodeKind::Loop,
            _ => NodeKind::Plain,
        },
        // Without a value of its own, a Return's input simply passes through.
        Part::InnerReturn if placed.spot.node.parameters.contains_key("value") => NodeKind::Plain,
        Part::Rim if placed.outputs().len() > 1 => NodeKind::Plain,
        Part::Given | Part::Find(_) | Part::Request(_) => NodeKind::Plain,
        _ => NodeKind::Pass,
    }
}

/// The text of a parameter, by its default if it names none.
fn text_or_default<'p>(placed: &'p Placed<'_, '_>, name: &str) -> &'p str {
    let given = placed.spot.node.parameters.get(name).and_then(Value::as_str);
    let parameter = || placed.spot.standard()?.parameter(name);
    given.unwrap_or_else(|| parameter().map_or("", |parameter| parameter.default.trim_matches('"')))
}

/// A pin's port and JSON; loops leave by `done` unless the pin says otherwise.
fn pin(value: &Value, outputs: &[String], is_loop: bool) -> (u32, String) {
    let pin = Pin::read(value);
    let named = pin
        .port
        .and_then(Value::as_str)
        .and_then(|port| outputs.iter().position(|name| name == port));
    let port = named.unwrap_or(if is_loop { DONE_PORT } else { 0 });
    (port as u32, pin.value.to_string())
}

fn body(
    inlined: &Inlined<'_, '_>,
    placed: &Placed<'_, '_>,
    checked: &Checked<'_>,
    components: &BTreeMap<usize, Used>,
) -> Option<Body> {
    let instance = &inlined.instances[placed.instance];
    let arguments = || arguments(instance.level, placed.local, &instance.tails);
    match (kind(placed), &placed.part, placed.spot.kind) {
        (NodeKind::Trigger | NodeKind::Pass | NodeKind::Composite, _, _) => None,
        (_, Part::Rim, _) => Some(Body::Outputs(split_outputs(
            &placed.outputs(),
            instance.level.items,
        ))),
        (_, Part::InnerReturn, _) => Some(Body::Standard {
            node_type: TRANSFORM.name,
            needs: Vec::new(),
            parameters: arguments(),
        }),
        (
            _,
            part,
            Kind::Standard(NodeType {
                operation: Some(operation),
                parameters,
                ..
            }),
        ) => Some(operation_body(operation, parameters, part, arguments())),
        (_, _, Kind::Standard(NodeType { name, .. })) => {
            let mut parameters = arguments();
            if instance.level.items && placed.spot.role() == Role::Iterate(Iteration::ForEach) {
                in_batches(&mut parameters);
            }
            Some(Body::Standard {
                node_type: name,
                needs: Vec::new(),
                parameters: with_compiled_only(parameters),
            })
        }
        (_, _, Kind::Defined(_, index)) => match &checked.definitions[index] {
            Inside::Outputs(outputs) => Some(Body::Outputs(outputs.clone())),
            Inside::JavaScript(parameters) => Some(Body::Standard {
                node_type: JAVASCRIPT.name,
                needs: Vec::new(),
                parameters: with_params(with_compiled_only(parameters.clone()), arguments()),
            }),
            Inside::Component(parameters, _) => {
                let number = components.get(&index).map_or(0, |used| used.number);
                let mut parameters = parameters.clone();
                parameters.push(("component".to_owned(), Argument::Constant(number.into())));
                Some(Body::Standard {
                    node_type: "Component",
                    needs: Vec::new(),
                    parameters: with_params(parameters, arguments()),
                })
            }
            _ => None,
        },
        _ => None,
    }
}

/// In a graph of items, what each iteration gets is a list as well: of one item, unless it says of how many.
fn in_batches(parameters: &mut Vec<(String, Argument)>) {
    const BATCH_SIZE: &str = "batchSize";
    let is_given = |(name, value): &(String, Argument)| {
        name == BATCH_SIZE && !matches!(value, Argument::Constant(Value::Null))
    };
    if !parameters.iter().any(is_given) {
        parameters.retain(|(name, _)| name != BATCH_SIZE);
        parameters.push((BATCH_SIZE.to_owned(), Argument::Constant(1.into())));
    }
}

/// What a node of an operation executes, or a part of one that sends two requests.
fn operation_body(
    operation: &Operation,
    known: &'static [Parameter],
    part: &Part,
    given: Vec<(String, Argument)>,
) -> Body {
    let needs = |given: &[(String, Argument)]| operation::needs(operation, known, given);
    let (needs, request, given) = match (part, &operation.find) {
        (Part::Given, _) => {
            return Body::Standard {
                node_type: TRANSFORM.name,
                needs: needs(&given),
                parameters: vec![("value".to_owned(), operation::evaluated(given))],
            };
        }
        (Part::Find(node), Some(find)) => (Vec::new(), find, operation::referred(&given, *node as u32)),
        (Part::Request(node), _) => {
            let mut given = operation::referred(&given, *node as u32);
            given.push(operation::found());
            (Vec::new(), &operation.request, given)
        }
        _ => (needs(&given), &operation.request, given),
    };
    Body::Standard {
        node_type: HTTP_REQUEST.name,
        needs,
        parameters: operation::request(request, known, &given),
    }
}

/// Without code that the engine executes: the text of the module says it all.
fn with_compiled_only(mut parameters: Vec<(String, Argument)>) -> Vec<(String, Argument)> {
    parameters.retain(|(_, argument)| !matches!(argument, Argument::Code(Code { expression: None, .. })));
    parameters
}

/// Adds what the node's parameters give to the code of its definition.
fn with_params(
    mut parameters: Vec<(String, Argument)>,
    params: Vec<(String, Argument)>,
) -> Vec<(String, Argument)> {
    if !params.is_empty() {
        parameters.push(("params".to_owned(), Argument::Object(params)));
    }
    parameters
}

/// A composite with several outputs returns an object of their values: `$input?.name` for each. In a graph of items it is the
/// first of a list: `$input?.[0]?.name`.
fn split_outputs(names: &[String], items: bool) -> Vec<(u32, Argument)> {
    let value = |name: &String| {
        let optional = |value| Box::new(Expression::Optional(Box::new(value)));
        let input = optional(Expression::Name(Name::Input));
        let (object, path) = match items {
            true => {
                let first = Expression::Index(input, Box::new(Expression::Number(0.0)));
                (optional(first), "$input?.[0]")
            }
            false => (input, "$input"),
        };
        Argument::Expression(Site {
            parameter: name.clone(),
            source: format!("{path}?.{name}"),
            utf16: 0..0,
            expression: Expression::Chain(Box::new(Expression::Member(object, name.clone()))),
            reasons: Vec::new(),
        })
    };
    names
        .iter()
        .enumerate()
        .map(|(port, name)| (port as u32, value(name)))
        .collect()
}

/// A node's parameters, with references to plan indices.
fn arguments(level: &Level<'_>, local: usize, tails: &[usize]) -> Vec<(String, Argument)> {
    let mut arguments = level.arguments[local].clone();
    let is_one_of_list = level.items && level.nodes[local].each;
    for (_, argument) in &mut arguments {
        argument.visit_mut(&mut |expression| {
            refer(expression, tails);
            if is_one_of_list {
                mean_list(expression);
            }
        });
    }
    arguments
}

/// Where a node executes for each item, `$input.all()` and its like are about the list that it is of.
fn mean_list(expression: &mut Expression) {
    let Expression::Global(Global::ItemFirst | Global::ItemLast | Global::ItemsAll, arguments) = expression
    else {
        return;
    };
    let Some(Element::Item(given)) = arguments.first_mut() else {
        return;
    };
    let mut value = given;
    while let Expression::Optional(inner) | Expression::Chain(inner) = value {
        value = inner;
    }
    if *value == Expression::Name(Name::Input) {
        *value = Expression::Name(Name::InputList);
    }
}

fn refer(expression: &mut Expression, tails: &[usize]) {
    if let Expression::Name(Name::NodeOutput(node) | Name::NodeItem(node)) = expression {
        *node = tails.get(*node as usize).map_or(*node, |tail| *tail as u32);
    }
}

fn manifest_node(placed: &Placed<'_, '_>) -> manifest::Node {
    manifest::Node {
        id: placed.id.clone(),
        node_type: placed.spot.node.node_type.clone(),
        label: placed.spot.node.label.clone().filter(|_| !placed.is_hidden()),
        outputs: placed.outputs(),
        asks: asks(placed),
    }
}

/// Whom a node asks by a form, if it does.
fn asks(placed: &Placed<'_, '_>) -> Option<Asks> {
    let node = placed.spot.node;
    let waits = placed
        .spot
        .standard()
        .is_some_and(|node_type| node_type.name == WAIT_FOR_CALLBACK.name);
    let form = node.parameters.get("form")?.as_object()?;
    let asks = match form.get("follows") {
        Some(Value::Bool(false)) => Asks::Others,
        _ => Asks::Sender,
    };
    (waits && !node.disabled).then_some(asks)
}

/// Whether runs can start there.
fn is_entry(placed: &Placed<'_, '_>) -> bool {
    placed.instance == 0 && placed.spot.is_trigger() && !placed.spot.node.disabled
}

fn triggers(inlined: &Inlined<'_, '_>, reach: &Reach) -> Vec<manifest::Trigger> {
    let enabled = |placed: &&(usize, &Placed<'_, '_>)| is_entry(placed.1);
    let nodes: Vec<(usize, &Placed<'_, '_>)> = inlined.nodes.iter().enumerate().collect();
    let trigger = |(index, placed): &(usize, &Placed<'_, '_>)| manifest::Trigger {
        index: *index as u32,
        node_id: placed.id.clone(),
        node_type: match placed.spot.standard().and_then(|known| known.trigger) {
            Some(trigger) => trigger.start.type_name().to_owned(),
            None => placed.spot.node.node_type.clone(),
        },
        parameters: placed.spot.settings().into_owned(),
        subscription: placed.spot.subscription().unwrap_or_default(),
        responds: reach.after[*index].ones().any(|after| {
            let spot = inlined.nodes[after].spot;
            matches!(spot.role(), Role::Respond | Role::Stream) && !spot.node.disabled
        }),
        has_steps: reach.after[*index]
            .ones()
            .any(|after| asks(&inlined.nodes[after]) == Some(Asks::Sender)),
    };
    nodes.iter().filter(enabled).map(trigger).collect()
}

impl Argument {
    /// Visits every expression, outer ones first.
    pub(crate) fn visit_mut(&mut self, visit: &mut dyn FnMut(&mut Expression)) {
        match self {
            Argument::Constant(_) => {}
            Argument::Expression(site) => site.expression.visit_mut(visit),
            Argument::Text(parts) => {
                for part in parts {
                    if let TextPart::Expression(site) = part {
                        site.expression.visit_mut(visit);
                    }
                }
            }
            Argument::Object(fields) => fields
                .iter_mut()
                .for_each(|(_, argument)| argument.visit_mut(visit)),
            Argument::Array(items) => items.iter_mut().for_each(|argument| argument.visit_mut(visit)),
            Argument::Function(_, argument) => argument.visit_mut(visit),
            Argument::Code(code) => {
                if let Some(expression) = &mut code.expression {
                    expression.visit_mut(visit);
                }
            }
        }
    }
}
