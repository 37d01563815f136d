//! The table of translations: which node of n8n becomes what.

mod call;
mod chat;
mod code;
mod data;
mod files;
mod flow;
mod forms;
mod http;
mod lists;
mod mailbox;
mod operations;
mod plain;
mod polled;
mod services;
mod statics;
mod subscribing;
mod text;
mod triggers;
mod watching;

use crate::built::Translation;
use crate::kinds::is_trigger;
use crate::scene::Scene;

/// Kinds of nodes are functions of their scene.
type Translate = fn(&Scene<'_>) -> Translation;

/// Kinds of nodes, and their translations.
const TABLE: &[(&str, Translate)] = &[
    ("manualTrigger", triggers::manual),
    ("start", triggers::manual),
    ("webhook", triggers::webhook),
    ("scheduleTrigger", triggers::schedule),
    ("cron", triggers::cron),
    ("interval", triggers::interval),
    ("executeWorkflowTrigger", triggers::call),
    ("errorTrigger", triggers::error),
    ("emailReadImap", mailbox::imap),
    ("chatTrigger", triggers::chat),
    ("manualChatTrigger", triggers::chat),
    ("formTrigger", forms::trigger),
    ("form", forms::page),
    ("telegramTrigger", watching::telegram),
    ("gmailTrigger", polled::gmail),
    ("googleDriveTrigger", polled::google_drive),
    ("googleCalendarTrigger", polled::google_calendar),
    ("trelloTrigger", polled::trello),
    ("typeformTrigger", watching::typeform),
    ("notionTrigger", polled::notion),
    ("githubTrigger", watching::github),
    ("shopifyTrigger", watching::shopify),
    ("googleSheetsTrigger", polled::google_sheets),
    ("airtableTrigger", polled::airtable),
    ("microsoftOutlookTrigger", polled::outlook),
    ("wooCommerceTrigger", watching::woo_commerce),
    ("gitlabTrigger", watching::gitlab),
    ("stripeTrigger", watching::stripe),
    ("linearTrigger", watching::linear),
    ("slackTrigger", watching::slack),
    ("bitbucketTrigger", watching::bitbucket),
    ("jiraTrigger", watching::jira),
    ("calendlyTrigger", watching::calendly),
    ("clickUpTrigger", watching::click_up),
    ("webflowTrigger", watching::webflow),
    ("gumroadTrigger", watching::gumroad),
    ("pipedriveTrigger", watching::pipedrive),
    ("whatsAppTrigger", watching::whats_app),
    ("facebookTrigger", watching::facebook),
    ("jotFormTrigger", watching::jotform),
    ("if", flow::condition),
    ("filter", flow::filter),
    ("switch", flow::switch),
    ("merge", flow::merge),
    ("splitInBatches", flow::batches),
    ("wait", flow::wait),
    ("noOp", flow::nothing),
    ("executionData", flow::execution_data),
    ("stopAndError", flow::stop),
    ("executeWorkflow", call::call),
    ("respondToWebhook", flow::respond),
    ("set", data::set),
    ("renameKeys", data::rename),
    ("dateTime", data::date_time),
    ("crypto", data::crypto),
    ("sort", lists::sort),
    ("limit", lists::limit),
    ("removeDuplicates", lists::unique),
    ("splitOut", lists::split_out),
    ("aggregate", lists::aggregate),
    ("summarize", lists::summarize),
    ("itemLists", lists::item_lists),
    ("compareDatasets", lists::compare),
    ("convertToFile", files::convert),
    ("extractFromFile", files::extract),
    ("spreadsheetFile", files::spreadsheet),
    ("editImage", files::picture),
    ("moveBinaryData", files::moved),
    ("readPDF", files::pages),
    ("code", code::code),
    ("function", code::function),
    ("functionItem", code::function_item),
    ("httpRequest", http::request),
    ("html", text::html),
    ("htmlExtract", text::html_extract),
    ("markdown", text::markdown),
    ("xml", text::xml),
    ("emailSend", services::email),
    ("postgres", services::postgres),
    ("mySql", services::mysql),
    ("graphql", services::graphql),
    ("langchain.openAi", chat::open_ai),
    ("openAi", chat::old_open_ai),
    ("chainLlm", chat::chain),
    ("agent", chat::agent),
];

/// Whether the table has it; that does not mean that all of its operations are translated.
pub(crate) fn is_known(kind: &str) -> bool {
    TABLE.iter().any(|(known, _)| *known == kind)
}

/// What a node becomes.
pub(crate) fn translate(scene: &Scene<'_>) -> Translation {
    let kind = scene.node.kind.as_str();
    let known = TABLE.iter().find(|(known, _)| *known == kind);
    match known {
        Some((_, translate)) => translate(scene),
        None if crate::operations::find(scene.node).is_some() => operations::translate(scene),
        None if is_trigger(kind) => triggers::foreign(scene),
        None => Translation::stub(format!(
            "heddle has no node like n8n's `{}`",
            scene.node.full_type
        )),
    }
}
