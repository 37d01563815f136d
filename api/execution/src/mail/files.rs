//! The attachments of a message, stored as files of the run that it starts.

use super::message::Read;
use crate::files::FileService;
use heddle_model::error::ServiceError;
use heddle_model::file::Holder;
use heddle_model::ids::RunId;
use heddle_model::tenant::Tenant;
use serde_json::Value;

/// The name of an attachment that has none.
const UNNAMED: &str = "attachment";

/// Stores the attachments of a message, of which a run is going to be made, and gives what refers to them.
pub(super) async fn stored(
    read: &Read,
    files: &FileService,
    (tenant, run): (Tenant, RunId),
) -> Result<Vec<Value>, ServiceError> {
    let mut stored = Vec::new();
    for (attachment, content) in read.message.attachments.0.iter().zip(&read.contents) {
        let name = attachment.filename.as_deref().filter(|name| !name.is_empty());
        let about = (name.unwrap_or(UNNAMED), attachment.content_type.as_str());
        let mut writer = files.create(tenant, Some(Holder::Run(run)), about).await?;
        writer.write(content.clone()).await?;
        let mut value = serde_json::to_value(writer.finish().await?).map_err(ServiceError::internal)?;
        if let Some(members) = value.as_object_mut() {
            members.insert("contentId".to_owned(), attachment.content_id.clone().into());
        }
        stored.push(value);
    }
    Ok(stored)
}
