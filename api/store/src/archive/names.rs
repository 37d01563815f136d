//! The ids that an archive's objects get: their own where the workspace's id was free, and otherwise ids that follow from the new
//! workspace's and the former, so that nothing has to be remembered of them. Texts that name patterns and connections
//! by their ids are told what these are now.

use heddle_model::ids::{NotAnId, PatternId, WorkspaceId};
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use uuid::{Builder, Uuid};

/// Bytes of an id as text.
const ID_BYTES: usize = 36;

/// A workspace as the archive's beginning tells of it.
#[derive(Clone, Debug)]
pub struct Archived {
    /// Its id where it was exported.
    pub id: WorkspaceId,
    pub name: String,
    /// When it was made, in milliseconds since 1970.
    pub created_at: i64,
    /// What its operator had set, as JSON.
    pub hosting: Option<String>,
}

/// How ids become others.
#[derive(Clone, Copy, Debug)]
pub struct Names {
    /// The workspace here.
    pub workspace: WorkspaceId,
    /// The workspace there.
    pub former: WorkspaceId,
    /// Whether ids stay as they were.
    pub keeps_ids: bool,
}

impl Names {
    /// The id here of what had this one there.
    pub(super) fn id(&self, former: &str) -> Result<String, NotAnId> {
        // Any kind of id has this form; no other does.
        let parsed: PatternId = former.parse()?;
        if self.keeps_ids {
            return Ok(parsed.to_string());
        }
        if former == self.former.to_string() {
            return Ok(self.workspace.to_string());
        }
        Ok(self.other(former))
    }

    /// An id that nothing has but what this one named there: it keeps the time in it.
    pub(super) fn other(&self, former: &str) -> String {
        let digest = Sha256::new()
            .chain_update("heddle imported id")
            .chain_update(self.workspace.as_u128().to_be_bytes())
            .chain_update(former)
            .finalize();
        let mut bytes = [0; 16];
        for (byte, of_digest) in bytes.iter_mut().zip(digest) {
            *byte = of_digest;
        }
        if let Ok(former) = Uuid::try_parse(former) {
            let time = former.into_bytes().into_iter().take(6);
            bytes
                .iter_mut()
                .zip(time)
                .for_each(|(byte, of_time)| *byte = of_time);
        }
        let id = Builder::from_bytes(bytes).with_version(uuid::Version::SortRand);
        id.with_variant(uuid::Variant::RFC4122).into_uuid().to_string()
    }

    /// A module that is nowhere, for one that is not in the archive.
    pub(super) fn missing_module(&self, hash: &str) -> String {
        let digest = Sha256::new()
            .chain_update("heddle missing module")
            .chain_update(self.workspace.as_u128().to_be_bytes())
            .chain_update(hash);
        hex::encode(digest.finalize())
    }

    /// A text in which ids of these rows are what they are now, wherever they stand in it.
    pub(super) fn rewritten(&self, text: String, known: &BTreeSet<String>) -> String {
        if self.keeps_ids {
            return text;
        }
        let mut bytes = text.into_bytes();
        for (at, now) in self.found(&bytes, known) {
            if let Some(place) = bytes.get_mut(at..at + ID_BYTES) {
                place.copy_from_slice(now.as_bytes());
            }
        }
        // Ids are ASCII, and as long as before.
        String::from_utf8(bytes).unwrap_or_default()
    }

    /// Whether there are such ids in it.
    pub(super) fn is_stale(&self, bytes: &[u8], known: &BTreeSet<String>) -> bool {
        !self.keeps_ids && !self.found(bytes, known).is_empty()
    }

    /// Where ids are that have become ids of these rows, and which.
    fn found(&self, bytes: &[u8], known: &BTreeSet<String>) -> Vec<(usize, String)> {
        let mut found = Vec::new();
        let mut at = 0;
        while let Some(place) = bytes.get(at..at + ID_BYTES) {
            let now = is_id(place)
                .then(|| std::str::from_utf8(place).ok())
                .flatten()
                .map(|former| self.other(former))
                .filter(|now| known.contains(now));
            at += match now {
                Some(now) => {
                    found.push((at, now));
                    ID_BYTES
                }
                None => 1,
            };
        }
        found
    }
}

/// The environment in the scope of values that a pattern's further deployment keeps; `None`: they are of its main one.
pub(super) fn environment_of(scope: &str) -> Option<&str> {
    let (_, environment) = scope.strip_prefix("pattern/")?.split_once('/')?;
    Some(environment)
}

/// Whether this is an id as it is written.
fn is_id(bytes: &[u8]) -> bool {
    const HYPHENS: [usize; 4] = [8, 13, 18, 23];
    bytes.get(8) == Some(&b'-')
        && bytes
            .iter()
            .enumerate()
            .all(|(at, byte)| match HYPHENS.contains(&at) {
                true => *byte == b'-',
                false => byte.is_ascii_digit() || (b'a'..=b'f').contains(byte),
            })
}

#[cfg(test)]
mod tests {
    use super::*;
    use heddle_model::ids::PatternId;

    fn names(keeps_ids: bool) -> Names {
        Names {
            workspace: WorkspaceId::new(),
            former: WorkspaceId::new(),
            keeps_ids,
        }
    }

    #[test]
    fn ids_stay_or_become_others_with_the_same_time() {
        let former = PatternId::new().to_string();
        assert_eq!(names(true).id(&former).unwrap(), former);
        let copied = names(false);
        let now = copied.id(&former).unwrap();
        assert_ne!(now, former);
        assert_eq!(now[..13], former[..13]);
        assert_eq!(copied.id(&former).unwrap(), now);
        assert!(now.parse::<PatternId>().is_ok());
        assert_ne!(names(false).id(&former).unwrap(), now);
        let workspace = copied.former.to_string();
        assert_eq!(copied.id(&workspace).unwrap(), copied.workspace.to_string());
        assert!(copied.id("nothing of the kind").is_err());
    }

    #[test]
    fn texts_name_what_there_is_now() {
        let copied = names(false);
        let (mine, others) = (PatternId::new().to_string(), PatternId::new().to_string());
        let now = copied.id(&mine).unwrap();
        let known = BTreeSet::from([now.clone()]);
        let text = format!(r#"{{"größe":1,"patternId":"{mine}","other":"{others}{mine}"}}"#);
        let expected = format!(r#"{{"größe":1,"patternId":"{now}","other":"{others}{now}"}}"#);
        assert!(copied.is_stale(text.as_bytes(), &known));
        assert!(!copied.is_stale(others.as_bytes(), &known));
        assert_eq!(copied.rewritten(text.clone(), &known), expected);
        assert_eq!(names(true).rewritten(text.clone(), &known), text);
    }
}
