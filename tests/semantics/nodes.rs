//! What the nodes of the test do with their parameters and input, as the catalogue describes it.

use crate::expression::Stop;
use crate::flat::FlatGraph;
use crate::graph::{Definition, Kind, Merge, Parameter, definition};
use crate::js::{Js, OPEN};
use crate::names::Bindings;
use crate::pairing::{Origins, in_order};
use serde_json::Value;
use std::collections::BTreeMap;

pub enum Outcome {
    /// Values by output port.
    Emit(BTreeMap<usize, Js>),
    /// The same, with where their elements come from.
    EmitFrom(BTreeMap<usize, Js>, Vec<(usize, Origins)>),
    Return(Js),
    /// ForEach: items and how many at a time.
    Iterate(Vec<Js>, usize),
    /// Loop.
    Repeat,
}

/// Why a node failed.
pub struct Failure {
    pub code: String,
    pub message: String,
}

impl Failure {
    pub fn expression() -> Failure {
        Failure {
            code: "EXPRESSION".to_owned(),
            message: OPEN.to_string(),
        }
    }

    fn parameter() -> Failure {
        Failure {
            code: "PARAMETER".to_owned(),
            message: OPEN.to_string(),
        }
    }

    /// As error ports and `$error` show it.
    pub fn value(&self, node: &str) -> Js {
        Js::object([
            ("message", Js::text(&self.message)),
            ("code", Js::text(&self.code)),
            ("nodeId", Js::text(node)),
        ])
    }
}

enum Trouble {
    Failed(Failure),
    Open,
}

impl From<Stop> for Trouble {
    fn from(stop: Stop) -> Trouble {
        match stop {
            Stop::Throws | Stop::Unpaired => Trouble::Failed(Failure::expression()),
            Stop::Open => Trouble::Open,
        }
    }
}

/// Log lines: level and message.
pub type Logs = Vec<(&'static str, String)>;

/// Executes a node once.
pub fn execute(
    kind: &Kind,
    graph: &FlatGraph<'_>,
    names: &Bindings<'_>,
    logs: &mut Logs,
) -> Result<Result<Outcome, Failure>, Stop> {
    match outcome(kind, graph, names, logs) {
        Ok(outcome) => Ok(Ok(outcome)),
        Err(Trouble::Failed(failure)) => Ok(Err(failure)),
        Err(Trouble::Open) => Err(Stop::Open),
    }
}

fn outcome(
    kind: &Kind,
    graph: &FlatGraph<'_>,
    names: &Bindings<'_>,
    logs: &mut Logs,
) -> Result<Outcome, Trouble> {
    let input = names.input.clone();
    // A required parameter that is null is not there.
    if let Kind::Filter {
        condition: Parameter::Json(Value::Null),
        ..
    }
    | Kind::Loop {
        condition: Parameter::Json(Value::Null),
        ..
    } = kind
    {
        return Err(Trouble::Failed(Failure::parameter()));
    }
    Ok(match kind {
        Kind::Trigger(_) | Kind::NoOp => emit(0, input),
        Kind::SetFields { fields, keep_input } => {
            let values: Result<Vec<_>, Stop> = fields
                .iter()
                .map(|(path, value)| Ok((path.as_str(), value.evaluate(names)?)))
                .collect();
            emit(0, set_fields(input, &values?, *keep_input)?)
        }
        Kind::Transform(value) => emit(0, value.evaluate(names)?),
        Kind::If(condition) => {
            let holds = condition.evaluate(names)?.truthy();
            emit(if holds { 0 } else { 1 }, input)
        }
        Kind::SwitchEquals { value, cases, all } => {
            let value = value.evaluate(names)?;
            // Unlike `when`, these are values, all known before the first is compared.
            let mut equals = Vec::new();
            for (_, case) in cases {
                equals.push(case.evaluate(names)?);
            }
            if value.is_open() || equals.iter().any(Js::is_open) {
                return Err(Trouble::Open);
            }
            let cases: Vec<_> = equals
                .into_iter()
                .map(|equals| Ok(equal(&value, &equals)))
                .collect();
            switch(cases, *all, input)?
        }
        Kind::SwitchWhen { cases, all } => {
            let holds = |case: &(String, Parameter)| Ok(case.1.evaluate(names)?.truthy());
            switch(cases.iter().map(holds), *all, input)?
        }
        Kind::Merge(mode) => {
            let origins = merged_from(mode, &input);
            Outcome::EmitFrom(BTreeMap::from([(0, merge(mode, input)?)]), origins)
        }
        Kind::ForEach {
            items,
            concurrency,
            batch_size,
        } => {
            let mut items: Vec<_> = array(items, names)?.into_iter().map(Js::leaving).collect();
            // Where lists of items travel, an iteration gets one too.
            let batch_size = (*batch_size).max(usize::from(graph.items));
            if batch_size > 0 {
                items = items
                    .chunks(batch_size)
                    .map(|slice| Js::Array(slice.to_vec()))
                    .collect();
            }
            Outcome::Iterate(items, *concurrency)
        }
        Kind::Loop { .. } => Outcome::Repeat,
        Kind::Throw { message, code } => {
            let message = message.evaluate(names)?.among_text();
            let code = code.clone().unwrap_or("THROWN".to_owned());
            return Err(Trouble::Failed(Failure { code, message }));
        }
        Kind::Return(None) => Outcome::Return(input),
        Kind::Return(Some(value)) => Outcome::Return(value.evaluate(names)?),
        Kind::Filter { condition, items } => {
            let (mut kept, mut rejected) = (Vec::new(), Vec::new());
            let (mut kept_from, mut rejected_from) = (Vec::new(), Vec::new());
            for (index, item) in array(items, names)?.into_iter().enumerate() {
                let holds = condition.evaluate(&names.for_item(item.clone(), index))?.truthy();
                if holds {
                    kept.push(item);
                    kept_from.push(Some(index));
                } else {
                    rejected.push(item);
                    rejected_from.push(Some(index));
                }
            }
            let origins = [(0, kept_from), (1, rejected_from)];
            let origins = origins.into_iter();
            let origins = origins.filter_map(|(port, from)| Some((port, of_input(from, items, names)?)));
            Outcome::EmitFrom(
                BTreeMap::from([(0, Js::Array(kept)), (1, Js::Array(rejected))]),
                origins.collect(),
            )
        }
        Kind::Log { level, message } => {
            logs.push((level, message.evaluate(names)?.among_text()));
            emit(0, input)
        }
        Kind::Limit { count, offset } => {
            let Js::Number(count) = count.evaluate(names)? else {
                return Err(Trouble::Open);
            };
            if count < 0.0 || count.fract() != 0.0 {
                return Err(Trouble::Open);
            }
            let items = array(&None, names)?.into_iter().enumerate();
            let (from, items): (Vec<_>, Vec<_>) = items
                .skip(*offset)
                .take(count as usize)
                .map(|(index, item)| (Some(index), item))
                .unzip();
            Outcome::EmitFrom(
                BTreeMap::from([(0, Js::Array(items))]),
                vec![(0, Some(vec![from]))],
            )
        }
        Kind::Flatten { depth } => {
            let (mut all, mut from) = (Vec::new(), Vec::new());
            for (index, item) in array(&None, names)?.into_iter().enumerate() {
                all.extend(flattened(vec![item], *depth));
                from.resize(all.len(), Some(index));
            }
            Outcome::EmitFrom(BTreeMap::from([(0, Js::Array(all))]), vec![(0, Some(vec![from]))])
        }
        Kind::Defined(name) => match definition(graph.definitions, name) {
            Definition::Expression(_, outputs) => {
                let values = outputs
                    .iter()
                    .enumerate()
                    .map(|(port, (_, value))| Ok((port, value.evaluate(names)?)));
                Outcome::Emit(values.collect::<Result<_, Stop>>()?)
            }
            Definition::Composite(_) => unreachable!("inlined"),
        },
    })
}

fn emit(port: usize, value: Js) -> Outcome {
    Outcome::Emit(BTreeMap::from([(port, value)]))
}

/// Origins in the input, if the items are the input's own: of an equal list that is written as a parameter, the documents
/// don't say. Without a list as input there is nothing to say: all is of the one item.
fn of_input(from: Vec<Option<usize>>, items: &Option<Parameter>, names: &Bindings<'_>) -> Option<Origins> {
    if !matches!(names.input, Js::Array(_)) {
        return None;
    }
    let given = items.as_ref().and_then(|items| items.evaluate(names).ok());
    Some(match given.filter(|items| !items.is_nullish()) {
        None => Some(vec![from]),
        Some(items) if items == names.input => None,
        Some(_) => Some(vec![Vec::new()]),
    })
}

/// Where the elements of merged lists come from.
fn merged_from(mode: &Merge, input: &Js) -> Vec<(usize, Origins)> {
    let Js::Array(values) = input else {
        unreachable!("a Merge collects")
    };
    let lengths = values.iter().map(|value| match value {
        Js::Array(elements) => elements.len(),
        _ => 1,
    });
    let lengths: Vec<usize> = lengths.collect();
    let origins = match mode {
        Merge::First | Merge::Combine => return Vec::new(),
        Merge::Zip => {
            let shortest = lengths.iter().min().copied().unwrap_or(0);
            Some(lengths.iter().map(|_| in_order(shortest)).collect())
        }
        Merge::Append => {
            let list = |own: usize| {
                let parts = lengths.iter().enumerate();
                let part = |(list, length): (usize, &usize)| match list == own {
                    true => in_order(*length),
                    false => vec![None; *length],
                };
                parts.flat_map(part).collect()
            };
            Some((0..lengths.len()).map(list).collect())
        }
        Merge::Join { .. } => None,
    };
    vec![(0, origins)]
}

/// A parameter `items`, or else the input, which has to be an array.
fn array(items: &Option<Parameter>, names: &Bindings<'_>) -> Result<Vec<Js>, Trouble> {
    let given = items.as_ref().map(|items| items.evaluate(names)).transpose()?;
    match given
        .filter(|items| !items.is_nullish())
        .unwrap_or(names.input.clone())
    {
        Js::Array(items) => Ok(items),
        _ => Err(Trouble::Failed(Failure::parameter())),
    }
}

/// A list is worked on item by item; null counts as an empty object.
fn set_fields(input: Js, fields: &[(&str, Js)], keep_input: bool) -> Result<Js, Trouble> {
    let set = |mut object: Js| {
        fields
            .iter()
            .for_each(|(path, value)| set_path(&mut object, path, value.clone()));
        object
    };
    let kept = |value: Js| match value {
        Js::Object(_) if keep_input => Ok(set(value)),
        Js::Null | Js::Undefined => Ok(set(Js::Object(Vec::new()))),
        _ if !keep_input => Ok(set(Js::Object(Vec::new()))),
        _ => Err(Trouble::Failed(Failure::parameter())),
    };
    match input {
        Js::Array(items) => Ok(Js::Array(items.into_iter().map(kept).collect::<Result<_, _>>()?)),
        input => kept(input),
    }
}

fn set_path(target: &mut Js, path: &str, value: Js) {
    let Some((head, rest)) = path.split_once('.') else {
        return target.set(path, value);
    };
    let mut inner = match target.get(head) {
        Some(inner @ Js::Object(_)) => inner,
        _ => Js::Object(Vec::new()),
    };
    set_path(&mut inner, rest, value);
    target.set(head, inner);
}

/// The first case that holds, or with `all` every one, else `default`. Cases after the first are not looked at.
fn switch(
    cases: impl IntoIterator<Item = Result<bool, Trouble>>,
    all: bool,
    input: Js,
) -> Result<Outcome, Trouble> {
    let mut ports = BTreeMap::new();
    let mut count = 0;
    for holds in cases {
        if holds? {
            ports.insert(count, input.clone());
            if !all {
                break;
            }
        }
        count += 1;
    }
    if ports.is_empty() {
        ports.insert(count, input);
    }
    Ok(Outcome::Emit(ports))
}

/// Same type and content; null and missing are equal.
fn equal(a: &Js, b: &Js) -> bool {
    match (a, b) {
        (Js::Array(a), Js::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b)),
        (Js::Object(fields), Js::Object(others)) => {
            fields.len() == others.len()
                && fields
                    .iter()
                    .all(|(name, value)| others.iter().any(|(n, v)| n == name && equal(value, v)))
        }
        (a, b) => a == b || a.is_nullish() && b.is_nullish(),
    }
}

/// `input` is the array of live values.
fn merge(mode: &Merge, input: Js) -> Result<Js, Trouble> {
    let Js::Array(values) = input else {
        unreachable!("a Merge collects")
    };
    Ok(match mode {
        Merge::First => values.into_iter().next().unwrap_or(Js::Undefined),
        Merge::Append => Js::Array(flattened(values, 1)),
        Merge::Combine => combined(values)?,
        Merge::Zip => Js::Array(zip(values)?),
        Merge::Join { key, right_key } => Js::Array(join(values, key, right_key.as_ref().unwrap_or(key))?),
    })
}

fn combined(objects: Vec<Js>) -> Result<Js, Trouble> {
    let mut out = Js::Object(Vec::new());
    for value in objects {
        let Js::Object(fields) = value else {
            return Err(Trouble::Failed(Failure::parameter()));
        };
        fields.into_iter().for_each(|(name, value)| out.set(&name, value));
    }
    Ok(out)
}

/// Values that have to be lists.
fn lists(values: Vec<Js>) -> Result<Vec<Vec<Js>>, Trouble> {
    let list = |value| match value {
        Js::Array(items) => Ok(items),
        _ => Err(Trouble::Failed(Failure::parameter())),
    };
    values.into_iter().map(list).collect()
}

fn zip(values: Vec<Js>) -> Result<Vec<Js>, Trouble> {
    let lists = lists(values)?;
    let shortest = lists.iter().map(Vec::len).min().unwrap_or(0);
    let row = |index: usize| {
        let row: Vec<Js> = lists.iter().map(|list| list[index].clone()).collect();
        let all_objects = row.iter().all(|value| matches!(value, Js::Object(_)));
        if all_objects {
            combined(row)
        } else {
            Ok(Js::Array(row))
        }
    };
    (0..shortest).map(row).collect()
}

fn join(values: Vec<Js>, key: &str, right_key: &str) -> Result<Vec<Js>, Trouble> {
    let lists = lists(values)?;
    let parameter = || Trouble::Failed(Failure::parameter());
    let [left, right] = &lists[..] else {
        return Err(parameter());
    };
    if !left.iter().chain(right).all(|row| matches!(row, Js::Object(_))) {
        return Err(parameter());
    }
    // A row without a key has no partner.
    let key_of = |row: &Js, key: &str| row.get(key).filter(|key| !key.is_nullish());
    let mut rows = Vec::new();
    for left in left {
        for right in right {
            let keys = (key_of(left, key), key_of(right, right_key));
            if matches!(keys, (Some(a), Some(b)) if equal(&a, &b)) {
                rows.push(combined(vec![left.clone(), right.clone()])?);
            }
        }
    }
    Ok(rows)
}

fn flattened(items: Vec<Js>, depth: usize) -> Vec<Js> {
    let mut out = Vec::new();
    for item in items {
        match item {
            Js::Array(inner) if depth > 0 => out.extend(flattened(inner, depth - 1)),
            other => out.push(other),
        }
    }
    out
}
