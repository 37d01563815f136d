//! A message whose attachments are stored as files of the run that it starts.

use super::event::{About, about, without_attachments};
use super::parts::{Part, Parts, Refused};
use super::reading::aside;
use crate::files::FileService;
use bytes::Bytes;
use heddle_model::error::ServiceError;
use heddle_model::file::Holder;
use heddle_model::ids::RunId;
use heddle_model::tenant::Tenant;
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

/// The name of an attachment that has none.
const UNNAMED: &str = "attachment";

/// An attachment that is still to be stored.
struct Attached {
    name: String,
    content_type: String,
    content_id: Option<String>,
    content: Bytes,
}

/// Stores the attachments of a message, of which a run is going to be made, and gives the event that refers to them.
pub(super) async fn stored(
    raw: &Bytes,
    files: &FileService,
    (tenant, run): (Tenant, RunId),
) -> Result<Box<RawValue>, ServiceError> {
    let (mut event, attached) = aside(raw, taken_apart).await?;
    let mut attachments = Vec::new();
    for one in attached {
        let about = (one.name.as_str(), one.content_type.as_str());
        let mut writer = files.create(tenant, Some(Holder::Run(run)), about).await?;
        writer.write(one.content).await?;
        let mut value = serde_json::to_value(writer.finish().await?).map_err(ServiceError::internal)?;
        if let Some(members) = value.as_object_mut() {
            members.insert("contentId".to_owned(), one.content_id.into());
        }
        attachments.push(value);
    }
    if let Some(members) = event.as_object_mut() {
        members.insert("attachments".to_owned(), Value::Array(attachments));
    }
    to_raw_value(&event).map_err(ServiceError::internal)
}

fn taken_apart(raw: &[u8]) -> Result<(Value, Vec<Attached>), Refused> {
    let parts = Parts::read(raw)?;
    let event = without_attachments(&parts).ok_or(Refused::NoMessage)?;
    Ok((event, parts.attachments().map(attached).collect()))
}

fn attached(part: &Part<'_>) -> Attached {
    let About {
        filename,
        content_type,
        content_id,
    } = about(part);
    Attached {
        name: filename
            .filter(|name| !name.is_empty())
            .unwrap_or(UNNAMED)
            .to_owned(),
        content_type,
        content_id: content_id.map(str::to_owned),
        content: Bytes::copy_from_slice(part.contents()),
    }
}
