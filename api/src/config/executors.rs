//! Which tenants have executors of their own.

use heddle_model::ids::WorkspaceId;
use heddle_runtime::ExecutorGroup;
use std::collections::BTreeSet;

/// What all groups may have together: each process takes some memory even when it is idle.
const PROCESSES_MAX: usize = 256;

/// Groups such as `<id>,<id>:2;<id>`: ids of workspaces, or of users for what they have outside of workspaces; after a colon
/// the number of processes, 1 if there is none.
pub(super) fn groups(text: &str) -> Result<Vec<ExecutorGroup>, String> {
    let texts = text.split(';').map(str::trim).filter(|text| !text.is_empty());
    let mut seen = BTreeSet::new();
    let groups = texts.map(|text| group(text, &mut seen));
    let groups = groups.collect::<Result<Vec<_>, _>>()?;
    let processes = groups.iter().map(|group| group.processes);
    if processes.fold(0, usize::saturating_add) > PROCESSES_MAX {
        return Err(format!(
            "must not have more than {PROCESSES_MAX} processes in all groups together"
        ));
    }
    Ok(groups)
}

fn group(text: &str, seen: &mut BTreeSet<u128>) -> Result<ExecutorGroup, String> {
    let (tenants, processes) = match text.rsplit_once(':') {
        Some((tenants, processes)) => (tenants, self::processes(processes.trim())?),
        None => (text, 1),
    };
    let tenants = tenants.split(',').map(|id| tenant(id.trim(), seen));
    Ok(ExecutorGroup {
        tenants: tenants.collect::<Result<_, _>>()?,
        processes,
    })
}

fn processes(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(processes @ 1..=PROCESSES_MAX) => Ok(processes),
        _ => Err(format!(
            "has {text:?} as a number of processes, which must be from 1 to {PROCESSES_MAX}"
        )),
    }
}

fn tenant(id: &str, seen: &mut BTreeSet<u128>) -> Result<u128, String> {
    // Ids of users have the same form.
    let parsed = id.parse::<WorkspaceId>();
    let parsed = parsed.map_err(|_| format!("has {id:?}, which is not the id of a workspace or user"))?;
    match seen.insert(parsed.as_u128()) {
        true => Ok(parsed.as_u128()),
        false => Err(format!("has {id} twice; a tenant can be in one group only")),
    }
}
