//! What the catalogue says of types in its fields: it is consistent, and editors' documentation names all of it.

#![expect(clippy::unwrap_used, reason = "tests")]

use heddle_catalogue::{
    Category, ConnectionKind, Content, EFFECT_KINDS, Emits, ExpressionScope, Icon, Iteration, NodeType,
    Outputs, Parameter, Reach, Role, Schema, Sends, Start, Widget, node_type, node_types, reach,
};
use serde_json::Value;
use std::collections::BTreeSet;

/// All parameters of all types, with fields of structured ones.
fn parameters() -> Vec<(&'static str, &'static Parameter)> {
    let mut found = Vec::new();
    for it in node_types() {
        add(it.name, it.parameters, &mut found);
    }
    found
}

fn add(
    of: &'static str,
    parameters: &'static [Parameter],
    found: &mut Vec<(&'static str, &'static Parameter)>,
) {
    for parameter in parameters {
        found.push((of, parameter));
        within(of, &parameter.schema, found);
    }
}

fn within(of: &'static str, schema: &'static Schema, found: &mut Vec<(&'static str, &'static Parameter)>) {
    match schema {
        Schema::Object(fields) => add(of, fields, found),
        Schema::Array(inner)
        | Schema::Map(inner)
        | Schema::PerItem(inner)
        | Schema::PerPair(inner)
        | Schema::Deferred(inner) => within(of, inner, found),
        Schema::OneOf(choices) => choices.iter().for_each(|choice| within(of, choice, found)),
        _ => {}
    }
}

#[test]
fn each_way_to_start_a_run_has_one_trigger() {
    for start in Start::ALL {
        let triggers: Vec<_> = node_types()
            .iter()
            .filter(|it| it.role == Role::Trigger(*start) && it.trigger.is_none())
            .map(|it| it.name)
            .collect();
        assert_eq!(triggers, [start.type_name()]);
        assert_eq!(Start::of_type(start.type_name()), Some(*start));
    }
    for it in node_types() {
        let starts = matches!(it.role, Role::Trigger(_));
        assert_eq!(starts, it.category == Category::Trigger, "{}", it.name);
        assert_eq!(starts, it.inputs.is_empty(), "{}", it.name);
    }
    assert_eq!(Start::of_type("Merge"), None);
}

#[test]
fn roles_fit_ports_and_parameters() {
    let has_port = |ports: &[heddle_catalogue::Port], name| ports.iter().any(|port| port.name == name);
    for it in node_types() {
        let outputs = match it.outputs {
            Outputs::Fixed(ports) => ports,
            Outputs::SwitchCases => &[],
        };
        let has_body = has_port(it.inputs, "next") && has_port(outputs, "item");
        assert_eq!(has_body, matches!(it.role, Role::Iterate(_)), "{}", it.name);
        let named = match it.role {
            Role::Choose { unless } => unless,
            Role::Merge { mode } => Some(mode),
            Role::Iterate(Iteration::While { at_most }) => Some(at_most),
            _ => None,
        };
        if let Some(parameter) = named {
            assert!(it.parameter(parameter).is_some(), "{}.{parameter}", it.name);
        }
        let by_case = it.outputs == Outputs::SwitchCases;
        assert_eq!(it.cases().is_some(), by_case, "{}", it.name);
        if let Some(either) = it.either {
            for name in [either.usual, either.other] {
                assert!(
                    it.parameter(name).is_some_and(|parameter| !parameter.required),
                    "{}.{name}",
                    it.name
                );
            }
        }
        let has_module = it
            .parameters
            .iter()
            .any(|parameter| parameter.schema == Schema::Module);
        assert!(!has_module || it.needs_engine, "{} has code", it.name);
    }
}

#[test]
fn only_what_divides_sends_several() {
    for it in node_types() {
        let outputs = match it.outputs {
            Outputs::Fixed(ports) => ports.len(),
            Outputs::SwitchCases => usize::MAX,
        };
        if it.sends() != Sends::One {
            assert!(outputs > 1, "{}", it.name);
        }
        if it.sends_several {
            assert_eq!(it.role, Role::Plain, "{}: its role says what it sends", it.name);
        }
    }
    let sends = |name| node_type(name).unwrap().sends();
    assert_eq!(sends("If"), Sends::One);
    assert_eq!(sends("Switch"), Sends::OneUnless("all"));
    assert_eq!(sends("Compare"), Sends::Several);
    assert_eq!(sends("WaitForCallback"), Sends::One);
}

#[test]
fn what_passes_its_input_on_does_so_in_its_examples() {
    let parsed = |text| serde_json::from_str::<Value>(text).unwrap();
    for it in node_types() {
        match it.emits {
            Emits::Own => {}
            Emits::Input => {
                assert_eq!(it.inputs.len(), 1, "{}", it.name);
                for example in it.examples {
                    let (input, output) = (parsed(example.input), parsed(example.output));
                    let mut emitted = output.as_object().unwrap().values();
                    assert!(
                        emitted.all(|value| *value == input),
                        "{}: {}",
                        it.name,
                        example.title
                    );
                }
            }
            Emits::Parameter(name) => assert!(it.parameter(name).unwrap().required, "{}.{name}", it.name),
        }
    }
    for name in ["If", "Switch", "NoOp", "Log", "Wait", "RespondToWebhook"] {
        assert_eq!(node_type(name).unwrap().emits, Emits::Input, "{name}");
    }
    let named = |name: &str| node_type(name).unwrap().emits.name();
    assert_eq!(
        [named("Transform"), named("SetFields"), named("Merge")],
        ["parameter", "own", "own"]
    );
}

#[test]
fn lists_of_items_are_taken_as_a_whole_by_what_works_on_lists() {
    let works_on_lists = |name| node_type(name).unwrap().works_on_lists();
    for name in [
        "OnManual",
        "Filter",
        "Sort",
        "Limit",
        "Unique",
        "Flatten",
        "Aggregate",
        "Join",
        "Compare",
        "Merge",
        "ForEach",
        "Loop",
        "Return",
        "NoOp",
        "Wait",
        "WaitForCallback",
        "JavaScript",
    ] {
        assert!(works_on_lists(name), "{name}");
    }
    for name in [
        "If",
        "Switch",
        "SetFields",
        "Transform",
        "HttpRequest",
        "SqlQuery",
        "Throw",
        "GmailGetMessage",
    ] {
        assert!(!works_on_lists(name), "{name}");
    }
}

#[test]
fn kinds_of_effects_are_known() {
    let known: Vec<_> = EFFECT_KINDS.iter().map(|kind| kind.name).collect();
    assert!(known.is_sorted());
    for kind in node_types().iter().flat_map(|it| it.effects) {
        assert!(known.contains(kind), "{kind} is not in EFFECT_KINDS");
    }
    assert_eq!(reach("something else"), Reach::Outside);
}

fn is_text(schema: &Schema) -> bool {
    match schema {
        Schema::String => true,
        Schema::OneOf(choices) => choices.iter().any(is_text),
        _ => false,
    }
}

fn is_number(schema: &Schema) -> bool {
    matches!(schema, Schema::Number | Schema::Integer { .. })
}

#[test]
fn contents_fit_their_schemas() {
    for (of, parameter) in parameters() {
        let at = format!("{of}.{}", parameter.name);
        let schema = &parameter.schema;
        match parameter.content {
            Content::Plain | Content::Json | Content::Expression => {}
            Content::Cases => assert!(matches!(schema, Schema::Array(_)), "{at}"),
            Content::Path => assert!(is_text(schema) || matches!(schema, Schema::PerItem(_)), "{at}"),
            Content::Duration(_) => assert!(is_number(schema), "{at}"),
            Content::Connection(kinds) => {
                assert!(!kinds.is_empty() && is_text(schema), "{at}");
                rights_are_needed(of, &at);
            }
            Content::Url | Content::Pattern => {
                assert!(is_text(schema), "{at}");
                rights_are_needed(of, &at);
            }
            Content::Cron => assert!(
                is_text(schema) && parameter.literal,
                "{at}: checked before the run"
            ),
            // What takes anything writes it as text.
            Content::Multiline => assert!(is_text(schema) || *schema == Schema::Any, "{at}"),
            Content::Secret | Content::TimeZone { .. } | Content::Source(_) => {
                assert!(is_text(schema), "{at}")
            }
        }
        assert!(
            !parameter.required || !parameter.advanced,
            "{at} is required, so it is shown"
        );
    }
}

/// Rights follow from parameters of the node itself only, not from fields within.
fn rights_are_needed(of: &str, at: &str) {
    let it: &NodeType = node_type(of).unwrap();
    assert!(
        it.parameters.iter().any(|parameter| at.ends_with(parameter.name)),
        "{at} is a field"
    );
    assert!(
        !it.effects.is_empty(),
        "{at}: what does it do there without an effect?"
    );
}

#[test]
fn faces_are_complete_and_words_are_as_people_type_them() {
    let mut titles = BTreeSet::new();
    for it in node_types() {
        let face = it.face;
        assert!(
            !face.title.is_empty() && titles.insert(face.title),
            "{}: {}",
            it.name,
            face.title
        );
        assert!(face.keywords.len() >= 3, "{}: how else is it called?", it.name);
        let mut words = BTreeSet::new();
        for word in face.keywords {
            let is_plain = word.trim() == *word && word.to_lowercase() == *word && !word.is_empty();
            assert!(is_plain && words.insert(word), "{}: `{word}`", it.name);
        }
    }
}

#[test]
fn editors_are_told_what_a_parameter_takes() {
    let told = |of: &str, name: &str| {
        let parameter = node_type(of).unwrap().parameter(name).unwrap();
        (parameter.widget().name(), parameter.scope().name())
    };
    for (of, name, widget, scope) in [
        ("OnSchedule", "cron", "cron", "node"),
        ("OnSchedule", "timezone", "zone", "node"),
        ("If", "condition", "expression", "node"),
        ("Filter", "condition", "expression", "item"),
        ("Unique", "by", "path", "item"),
        ("Sort", "by", "list", "pair"),
        ("Aggregate", "groupBy", "list", "item"),
        ("Loop", "condition", "expression", "deferred"),
        ("HttpRequest", "url", "url", "node"),
        ("HttpRequest", "method", "select", "node"),
        ("HttpRequest", "headers", "key-value-list", "node"),
        ("HttpRequest", "auth", "fields", "node"),
        ("HttpRequest", "body", "json", "node"),
        ("HttpRequest", "followRedirects", "toggle", "node"),
        ("SqlQuery", "connection", "connection", "node"),
        ("SqlQuery", "query", "code", "node"),
        ("Hmac", "secret", "secret", "node"),
        ("CallPattern", "patternId", "pattern", "node"),
        ("Wait", "durationMs", "duration", "node"),
        ("Uuid", "version", "select", "node"),
        ("JavaScript", "code", "code", "node"),
        ("Template", "text", "multiline", "node"),
        ("Limit", "count", "number", "node"),
        ("Throw", "code", "text", "node"),
    ] {
        assert_eq!(told(of, name), (widget, scope), "{of}.{name}");
    }
}

/// The words in backticks of a section of docs/editors.md; of a table those of its first column.
fn documented(heading: &str) -> BTreeSet<String> {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/editors.md");
    let page = std::fs::read_to_string(page).unwrap();
    let (_, rest) = page.split_once(&format!("# {heading}\n")).unwrap();
    let section = rest.split("\n#").next().unwrap();
    let cells = section.lines().map(|line| match line.strip_prefix("| ") {
        Some(row) => row.split('|').next().unwrap(),
        None => line,
    });
    let is_list = |line: &&str| line.starts_with('`');
    cells
        .filter(is_list)
        .flat_map(|line| line.split('`').skip(1).step_by(2))
        .map(str::to_owned)
        .collect()
}

fn names(used: impl IntoIterator<Item = &'static str>) -> BTreeSet<String> {
    used.into_iter().map(str::to_owned).collect()
}

#[test]
fn the_page_for_editors_lists_all_names_in_use_and_no_others() {
    let parameters = parameters();
    let widgets = parameters.iter().map(|(_, it)| it.widget());
    assert_eq!(documented("Widgets"), names(widgets.map(Widget::name)));
    let scopes = parameters.iter().map(|(_, it)| it.scope());
    assert_eq!(documented("Scopes"), names(scopes.map(ExpressionScope::name)));
    let languages = parameters.iter().filter_map(|(_, it)| it.language());
    assert_eq!(documented("Languages"), names(languages.map(|it| it.name())));
    let kinds = parameters.iter().flat_map(|(_, it)| match it.content {
        Content::Connection(kinds) => kinds,
        _ => &[],
    });
    assert_eq!(
        documented("Kinds of connections"),
        names(kinds.map(|kind: &ConnectionKind| kind.name()))
    );
    let roles = node_types().iter().map(|it| it.role.name());
    assert_eq!(documented("Roles"), names(roles));
    let faces = node_types().iter().map(|it| it.face);
    assert_eq!(
        documented("Groups"),
        names(faces.clone().map(|it| it.group.name()))
    );
    assert_eq!(documented("Icons"), names(faces.map(|it| it.icon.name())));
    assert_eq!(documented("Icons"), names(Icon::ALL.iter().map(|it| it.name())));
}

#[test]
fn names_are_in_kebab_case() {
    for heading in [
        "Widgets",
        "Scopes",
        "Languages",
        "Kinds of connections",
        "Roles",
        "Groups",
        "Icons",
    ] {
        for name in documented(heading) {
            let is_kebab = name
                .split('-')
                .all(|word| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_lowercase()));
            assert!(is_kebab, "{heading}: {name}");
        }
    }
}
