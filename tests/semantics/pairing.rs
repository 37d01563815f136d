//! `$("Label").item` by the reference: elements are followed back through all nodes, in the simplest way.

use crate::evaluate::{FrameId, NodeId, Run};
use crate::expression::Stop;
use crate::js::Js;

/// For each live edge into a node, where the elements of an output come from. `None`: it depends on what the documents leave
/// open.
pub type Origins = Option<Vec<Vec<Option<usize>>>>;

/// A live edge, what it brought, and the element that is followed: `None` for the value as a whole.
struct Way {
    source: NodeId,
    source_port: usize,
    value: Js,
    element: Option<usize>,
}

impl Way {
    fn new(live: &Live, element: Option<usize>) -> Way {
        let element = match &live.value {
            Js::Array(elements) if element.is_none() && elements.len() == 1 => Some(0),
            Js::Array(_) => element,
            _ => None,
        };
        Way {
            source: live.source,
            source_port: live.source_port,
            value: live.value.clone(),
            element,
        }
    }
}

/// What a live edge brought.
struct Live {
    source: NodeId,
    source_port: usize,
    target_port: usize,
    value: Js,
}

/// The element of `target`'s output from which an element of a node's input comes.
pub fn element_of(
    run: &Run<'_>,
    frame: FrameId,
    node: NodeId,
    element: Option<usize>,
    target: NodeId,
) -> Result<Option<Js>, Stop> {
    for way in into_node(run, frame, node, element) {
        if let Some(found) = along(run, frame, &way, target)? {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

fn along(run: &Run<'_>, frame: FrameId, way: &Way, target: NodeId) -> Result<Option<Js>, Stop> {
    if way.source == target {
        return Ok(match (&way.value, way.element) {
            (Js::Array(elements), Some(element)) => elements.get(element).cloned(),
            (Js::Array(_), None) => None,
            (single, _) => Some(single.clone()),
        });
    }
    if let Some((around, owner, element)) = run.out_of_batch(frame, way.source, way.element) {
        return element_of(run, around, owner, Some(element), target);
    }
    // What a body gets comes from around it.
    if run.graph.nodes[way.source].scope != run.frames[frame].owner {
        return Ok(None);
    }
    for before in before(run, frame, way)? {
        if let Some(found) = along(run, frame, &before, target)? {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// The live edges by which an element of a node's input came.
fn into_node(run: &Run<'_>, frame: FrameId, node: NodeId, element: Option<usize>) -> Vec<Way> {
    let live = live_edges(run, frame, node);
    let collects = collects(run, node);
    let is_one_port = live.iter().all(|edge| edge.target_port == live[0].target_port);
    match (&live[..], element) {
        ([only], _) if !collects => vec![Way::new(only, element)],
        // The lists of several edges follow each other.
        (several, Some(mut place)) if is_one_port && !collects && run.graph.items => {
            for live in several {
                let count = count(&live.value);
                if place < count {
                    return vec![Way::new(live, Some(place))];
                }
                place -= count;
            }
            Vec::new()
        }
        (several, Some(place)) if is_one_port && !collects => several
            .get(place)
            .map(|live| Way::new(live, None))
            .into_iter()
            .collect(),
        (several, None) => several.iter().map(|live| Way::new(live, None)).collect(),
        _ => Vec::new(),
    }
}

/// The ways into a node by which what left it had come.
fn before(run: &Run<'_>, frame: FrameId, way: &Way) -> Result<Vec<Way>, Stop> {
    let node = way.source;
    let live = live_edges(run, frame, node);
    let Some(origins) = run.frames[frame].origins.get(&(node, way.source_port)) else {
        return Ok(
            match untold(way, &live, run.graph.nodes[node].once, run.graph.items) {
                Some(element) => into_node(run, frame, node, element),
                None => Vec::new(),
            },
        );
    };
    let origins = origins.as_ref().ok_or(Stop::Open)?;
    let Some(element) = way.element else {
        return Ok(Vec::new());
    };
    let origin = |list: &Vec<Option<usize>>| list.get(element).copied().flatten();
    if !collects(run, node) {
        let origin = origins.first().and_then(origin);
        return Ok(origin.map_or(Vec::new(), |at| into_node(run, frame, node, Some(at))));
    }
    // Where lists of items travel, a Merge has got one for each edge, dead or not.
    let is_live = |edge: usize| matches!(run.frames[frame].edges.get(&edge), Some(Some(_)));
    let edges = run.graph.incoming(node).map(|edge| edge.index);
    let lists: Vec<&Vec<Option<usize>>> = match run.graph.items {
        true => edges
            .zip(origins)
            .filter(|(edge, _)| is_live(*edge))
            .map(|(_, list)| list)
            .collect(),
        false => origins.iter().collect(),
    };
    let ways = live.iter().zip(lists);
    Ok(ways
        .filter_map(|(live, list)| Some(Way::new(live, Some(origin(list)?))))
        .collect())
}

/// Of a node that does not say: one item pairs with all that came of it, equal counts pair by place.
#[expect(clippy::option_option, reason = "unknown, the whole, or an element")]
fn untold(way: &Way, live: &[Live], once: bool, items: bool) -> Option<Option<usize>> {
    let count = match live {
        [only] => match &only.value {
            Js::Array(input) => input.len(),
            _ => return Some(None),
        },
        several if items => several.iter().map(|live| count(&live.value)).sum(),
        several if way.element.is_some() => several.len(),
        _ => return Some(None),
    };
    // With `once` there is one item of several.
    if count == 1 || once && count > 1 {
        return Some(Some(0));
    }
    match (&way.value, way.element) {
        (Js::Array(output), Some(element)) if output.len() == count => Some(Some(element)),
        _ => None,
    }
}

/// Which element of a loop's input each item comes from that a frame of its body has brought back. `None`: it depends on what the
/// documents leave open.
pub fn brought_back(run: &Run<'_>, frame: FrameId, owner: NodeId) -> Option<Vec<Option<usize>>> {
    let next_port = run.graph.nodes[owner].next_port();
    let mut origins = Vec::new();
    let edges = run.graph.edges.iter();
    for edge in edges.filter(|edge| edge.target == owner && Some(edge.target_port) == next_port) {
        let Some(Some(value)) = run.frames[frame].edges.get(&edge.index) else {
            continue;
        };
        for element in 0..count(value) {
            let way = Way {
                source: edge.source,
                source_port: edge.source_port,
                value: value.clone(),
                element: Some(element),
            };
            origins.push(match count(&run.frames[frame].item) {
                1 => run.out_of_batch(frame, owner, Some(0)).map(|(_, _, at)| at),
                _ => to_loop(run, frame, &way).ok()?,
            });
        }
    }
    Some(origins)
}

/// The element of the loop's input to which a way back leads.
fn to_loop(run: &Run<'_>, frame: FrameId, way: &Way) -> Result<Option<usize>, Stop> {
    if let Some((_, _, at)) = run.out_of_batch(frame, way.source, way.element) {
        return Ok(Some(at));
    }
    if run.graph.nodes[way.source].scope != run.frames[frame].owner {
        return Ok(None);
    }
    for before in before(run, frame, way)? {
        if let Some(at) = to_loop(run, frame, &before)? {
            return Ok(Some(at));
        }
    }
    Ok(None)
}

/// How many items a value is.
fn count(value: &Js) -> usize {
    match value {
        Js::Array(items) => items.len(),
        _ => 1,
    }
}

fn collects(run: &Run<'_>, node: NodeId) -> bool {
    let node = &run.graph.nodes[node];
    node.collects && !node.first
}

fn live_edges(run: &Run<'_>, frame: FrameId, node: NodeId) -> Vec<Live> {
    let chosen = run.first_values.get(&(frame, node)).map(|(edge, _)| *edge);
    run.graph
        .incoming(node)
        .filter(|edge| chosen.is_none_or(|chosen| chosen == edge.index))
        .filter_map(|edge| {
            Some(Live {
                source: edge.source,
                source_port: edge.source_port,
                target_port: edge.target_port,
                value: run.frames[frame].edges.get(&edge.index).cloned().flatten()?,
            })
        })
        .collect()
}

/// All elements of a list in order, in the form of one list of origins.
pub fn in_order(length: usize) -> Vec<Option<usize>> {
    (0..length).map(Some).collect()
}
