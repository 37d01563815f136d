//! Which roles a provider's claims about a person give them, by the rules of the settings. Knows nothing of the roles that
//! anybody has.

use heddle_model::access::WorkspaceRole;
use heddle_model::ids::WorkspaceId;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// Where some providers tell that they have left a claim out, since it would be too long (OpenID Connect Core 1.0, section
/// 5.6.2).
const LEFT_OUT: &str = "_claim_names";

/// A rule: whoever has this value in this claim has this role in this workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupRole {
    /// The claim's name, or names with dots between them for one within another.
    pub claim: String,
    /// What the claim is, or has as one of its elements.
    pub value: String,
    pub workspace: WorkspaceId,
    pub role: WorkspaceRole,
}

/// The roles that these claims give, the highest of each workspace. `None` if the provider does not tell: it has left out one
/// of the claims that count.
pub(super) fn roles(
    rules: &[GroupRole],
    claims: &Map<String, Value>,
) -> Option<BTreeMap<WorkspaceId, WorkspaceRole>> {
    let left_out = claims.get(LEFT_OUT).and_then(Value::as_object);
    if let Some(rule) = rules
        .iter()
        .find(|rule| left_out.is_some_and(|left_out| left_out.contains_key(&rule.claim)))
    {
        tracing::warn!(
            claim = rule.claim,
            "The login provider leaves out a claim that group_roles asks for, because it is too long: the roles that groups \
             give stay as they are. Have the provider send fewer groups"
        );
        return None;
    }
    let mut roles = BTreeMap::new();
    for rule in rules {
        if claim(claims, &rule.claim).is_some_and(|claim| has(claim, &rule.value)) {
            let role = roles.entry(rule.workspace).or_insert(rule.role);
            *role = rule.role.max(*role);
        }
    }
    Some(roles)
}

/// A claim by its whole name, which may have dots, or else by the names on the way to it.
fn claim<'a>(claims: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    if let Some(claim) = claims.get(name) {
        return Some(claim);
    }
    let mut names = name.split('.');
    let outermost = claims.get(names.next()?)?;
    names.try_fold(outermost, |within, name| within.as_object()?.get(name))
}

/// Whether a claim is this value, or a list that has it.
fn has(claim: &Value, wanted: &str) -> bool {
    match claim {
        Value::Array(elements) => elements.iter().any(|element| is(element, wanted)),
        claim => is(claim, wanted),
    }
}

fn is(value: &Value, wanted: &str) -> bool {
    match value {
        Value::String(text) => text == wanted,
        Value::Number(number) => number.to_string() == wanted,
        Value::Bool(truth) => truth.to_string() == wanted,
        Value::Null | Value::Array(_) | Value::Object(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn rule(claim: &str, value: &str, workspace: WorkspaceId, role: WorkspaceRole) -> GroupRole {
        GroupRole {
            claim: claim.to_owned(),
            value: value.to_owned(),
            workspace,
            role,
        }
    }

    fn given(rules: &[GroupRole], claims: &Value) -> Option<Vec<(WorkspaceId, WorkspaceRole)>> {
        roles(rules, claims.as_object().unwrap()).map(|roles| roles.into_iter().collect())
    }

    #[test]
    fn the_highest_role_of_all_groups_counts() {
        let one = WorkspaceId::new();
        let rules = [
            rule("groups", "staff", one, WorkspaceRole::Viewer),
            rule("groups", "ops", one, WorkspaceRole::Admin),
            rule("groups", "makers", one, WorkspaceRole::Editor),
        ];
        let claims = json!({"groups": ["makers", "ops", "staff"]});
        assert_eq!(given(&rules, &claims), Some(vec![(one, WorkspaceRole::Admin)]));
        for claims in [
            json!({}),
            json!({"groups": []}),
            json!({"groups": ["Staff", "staff "]}),
            json!({"groups": null}),
        ] {
            assert_eq!(given(&rules, &claims), Some(vec![]), "{claims}");
        }
    }

    #[test]
    fn claims_are_found_by_their_name_or_on_the_way_to_it() {
        let (one, role) = (WorkspaceId::new(), WorkspaceRole::Editor);
        for (claim, claims) in [
            ("department", json!({"department": "7"})),
            ("department", json!({"department": 7})),
            (
                "realm_access.roles",
                json!({"realm_access": {"roles": ["1", "7"]}}),
            ),
            (
                "https://example.com/groups",
                json!({"https://example.com/groups": ["7"]}),
            ),
        ] {
            let rules = [rule(claim, "7", one, role)];
            assert_eq!(given(&rules, &claims), Some(vec![(one, role)]), "{claims}");
        }
        let rules = [rule("a.b", "7", one, role)];
        for claims in [
            json!({"a": "b"}),
            json!({"a": {"b": {"7": true}}}),
            json!({"a": [["7"]]}),
        ] {
            assert_eq!(given(&rules, &claims), Some(vec![]), "{claims}");
        }
    }

    #[test]
    fn a_claim_that_was_left_out_tells_nothing() {
        let rules = [rule("groups", "ops", WorkspaceId::new(), WorkspaceRole::Admin)];
        let claims = json!({"_claim_names": {"groups": "src1"}, "_claim_sources": {"src1": {"endpoint": "https://x"}}});
        assert_eq!(given(&rules, &claims), None);
        let other = json!({"_claim_names": {"photos": "src1"}});
        assert_eq!(given(&rules, &other), Some(vec![]));
    }
}
