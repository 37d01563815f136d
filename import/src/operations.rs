//! Which operation of a service a node of n8n's is, and where its parameters are there.

use crate::workflow::Node;

/// An operation of n8n's that heddle has too.
#[derive(Debug)]
pub(crate) struct Known {
    kind: &'static str,
    resource: &'static str,
    operation: &'static str,
    /// The node type that it becomes.
    pub node_type: &'static str,
    /// Whether it gives a list.
    pub is_list: bool,
    /// Parameters, and the dotted paths at which n8n has them: the first that is there.
    pub fields: &'static [(&'static str, &'static str)],
}

/// Resource and operation of a node that names none: kind, resource, its usual operation. A kind's first resource is its
/// usual one.
const USUAL: &[(&str, &str, &str)] = &[
    ("airtable", "record", "get"),
    ("airtable", "base", "getMany"),
    ("discord", "message", "send"),
    ("github", "issue", "create"),
    ("github", "file", "create"),
    ("gmail", "message", "send"),
    ("gmail", "draft", "create"),
    ("gmail", "label", "create"),
    ("googleCalendar", "event", "create"),
    ("googleDocs", "document", "create"),
    ("googleDrive", "file", "upload"),
    ("googleDrive", "folder", "create"),
    ("googleDrive", "fileFolder", "search"),
    ("googleSheets", "sheet", "read"),
    ("hubspot", "contact", "upsert"),
    ("jira", "issue", "create"),
    ("jira", "issueComment", "add"),
    ("mattermost", "message", "post"),
    ("microsoftOutlook", "message", "send"),
    ("notion", "block", "append"),
    ("notion", "databasePage", "create"),
    ("notion", "page", "create"),
    ("slack", "message", "post"),
    ("slack", "channel", "create"),
    ("slack", "user", "info"),
    ("slack", "reaction", "add"),
    ("supabase", "row", "create"),
    ("telegram", "message", "sendMessage"),
    ("telegram", "callback", "answerQuery"),
    ("telegram", "file", "get"),
    ("todoist", "task", "create"),
    ("twilio", "sms", "send"),
    ("whatsApp", "message", "send"),
    ("whatsApp", "media", "mediaUpload"),
    ("wordpress", "post", "create"),
];

macro_rules! known {
    ($($kind:ident $resource:ident $operation:ident => $node_type:ident $(($list:ident))? { $($ours:ident: $theirs:literal),* $(,)? })*) => {
        const KNOWN: &[Known] = &[$(Known {
            kind: stringify!($kind),
            resource: stringify!($resource),
            operation: stringify!($operation),
            node_type: stringify!($node_type),
            is_list: false $(|| stringify!($list).len() == 4)?,
            fields: &[$((stringify!($ours), $theirs)),*],
        }),*];
    };
}

known! {
    airtable record get => AirtableGetRecord { baseId: "base|application", table: "table", recordId: "id" }
    airtable record read => AirtableGetRecord { baseId: "base|application", table: "table", recordId: "id" }
    airtable record search => AirtableSearchRecords (list) { baseId: "base", table: "table", formula: "filterByFormula", view: "options.view", fields: "options.fields" }
    airtable record list => AirtableSearchRecords (list) { baseId: "application", table: "table", formula: "additionalOptions.filterByFormula", view: "additionalOptions.view", fields: "additionalOptions.fields" }
    airtable record create => AirtableCreateRecord { baseId: "base", table: "table", typecast: "options.typecast" }
    airtable record append => AirtableCreateRecord { baseId: "application", table: "table", typecast: "options.typecast" }
    airtable record update => AirtableUpdateRecord { baseId: "base|application", table: "table", typecast: "options.typecast" }
    airtable record upsert => AirtableUpsertRecord { baseId: "base", table: "table", typecast: "options.typecast" }
    airtable record deleteRecord => AirtableDeleteRecord { baseId: "base", table: "table", recordId: "id" }
    airtable record delete => AirtableDeleteRecord { baseId: "application", table: "table", recordId: "id" }
    airtable base getSchema => AirtableGetSchema (list) { baseId: "base" }
    discord message send => DiscordSendMessage { channelId: "channelId", content: "content", tts: "options.tts", replyTo: "options.message_reference" }
    discord message deleteMessage => DiscordDeleteMessage { channelId: "channelId", messageId: "messageId" }
    discord message getAll => DiscordListMessages (list) { channelId: "channelId", limit: "limit" }
    github issue create => GitHubCreateIssue { owner: "owner", repository: "repository", title: "title", body: "body" }
    github issue createComment => GitHubCreateComment { owner: "owner", repository: "repository", number: "issueNumber", body: "body" }
    github issue edit => GitHubUpdateIssue { owner: "owner", repository: "repository", number: "issueNumber", title: "editFields.title", body: "editFields.body", state: "editFields.state" }
    github file get => GitHubGetFile { owner: "owner", repository: "repository", path: "filePath", ref: "additionalParameters.reference" }
    github file create => GitHubWriteFile { owner: "owner", repository: "repository", path: "filePath", content: "fileContent", message: "commitMessage", branch: "additionalParameters.branch.branch" }
    gmail message send => GmailSendMessage { to: "sendTo", subject: "subject", message: "message", cc: "options.ccList", bcc: "options.bccList", replyTo: "options.replyTo" }
    gmail message getAll => GmailListMessages (list) { search: "filters.q", labelIds: "filters.labelIds" }
    gmail message get => GmailGetMessage { messageId: "messageId" }
    gmail message addLabels => GmailModifyLabels { messageId: "messageId", add: "labelIds" }
    gmail message removeLabels => GmailModifyLabels { messageId: "messageId", remove: "labelIds" }
    gmail message markAsRead => GmailModifyLabels { messageId: "messageId" }
    gmail message markAsUnread => GmailModifyLabels { messageId: "messageId" }
    gmail draft create => GmailCreateDraft { to: "options.sendTo", subject: "subject", message: "message", cc: "options.ccList", bcc: "options.bccList", replyTo: "options.replyTo", threadId: "options.threadId" }
    gmail label getAll => GmailListLabels (list) {}
    googleCalendar event create => GoogleCalendarCreateEvent { calendarId: "calendar", start: "start", end: "end", summary: "additionalFields.summary", description: "additionalFields.description", location: "additionalFields.location" }
    googleCalendar event getAll => GoogleCalendarListEvents (list) { calendarId: "calendar", timeMin: "timeMin|options.timeMin", timeMax: "timeMax|options.timeMax", search: "options.query", singleEvents: "options.singleEvents", orderBy: "options.orderBy" }
    googleCalendar event get => GoogleCalendarGetEvent { calendarId: "calendar", eventId: "eventId" }
    googleCalendar event delete => GoogleCalendarDeleteEvent { calendarId: "calendar", eventId: "eventId" }
    googleCalendar event update => GoogleCalendarUpdateEvent { calendarId: "calendar", eventId: "eventId", start: "updateFields.start", end: "updateFields.end", summary: "updateFields.summary", description: "updateFields.description", location: "updateFields.location" }
    googleDocs document get => GoogleDocsGetText { documentId: "documentURL" }
    googleDocs document create => GoogleDocsCreateDocument { title: "title" }
    googleDrive file upload => GoogleDriveUploadFile { name: "name", folderId: "folderId" }
    googleDrive file download => GoogleDriveDownloadFile { fileId: "fileId" }
    googleDrive file createFromText => GoogleDriveCreateTextFile { name: "name", content: "content", folderId: "folderId" }
    googleDrive file share => GoogleDriveShareFile { fileId: "fileId", role: "permissionsUi.permissionsValues.role", type: "permissionsUi.permissionsValues.type", emailAddress: "permissionsUi.permissionsValues.emailAddress" }
    googleDrive file move => GoogleDriveUpdateFile { fileId: "fileId", addParents: "folderId" }
    googleDrive file update => GoogleDriveUpdateFile { fileId: "fileId", name: "newUpdatedFileName" }
    googleDrive file deleteFile => GoogleDriveDeleteFile { fileId: "fileId" }
    googleDrive folder create => GoogleDriveCreateFolder { name: "name", folderId: "folderId" }
    googleDrive fileFolder search => GoogleDriveSearchFiles (list) {}
    googleSheets sheet read => GoogleSheetsReadRows (list) {}
    googleSheets sheet append => GoogleSheetsAppendRows {}
    googleSheets sheet update => GoogleSheetsUpdateCells {}
    googleSheets sheet clear => GoogleSheetsClearCells {}
    hubspot contact upsert => HubSpotUpsertContact { email: "email" }
    jira issue create => JiraCreateIssue { summary: "summary", description: "additionalFields.description", labels: "additionalFields.labels" }
    jira issue get => JiraGetIssue { issueKey: "issueKey" }
    jira issue getAll => JiraSearchIssues (list) { jql: "options.jql" }
    jira issueComment add => JiraAddComment { issueKey: "issueKey", comment: "comment" }
    mattermost message post => MattermostSendMessage { channelId: "channelId", message: "message", rootId: "otherOptions.root_id" }
    microsoftOutlook message send => OutlookSendMessage { to: "toRecipients", subject: "subject", message: "bodyContent", cc: "additionalFields.ccRecipients", bcc: "additionalFields.bccRecipients" }
    microsoftOutlook message getAll => OutlookListMessages (list) { filter: "filtersUI.values.filters.custom", limit: "limit" }
    microsoftOutlook message update => OutlookUpdateMessage { messageId: "messageId", isRead: "updateFields.isRead", categories: "updateFields.categories" }
    microsoftOutlook message move => OutlookMoveMessage { messageId: "messageId", folderId: "folderId" }
    notion databasePage getAll => NotionQueryDatabase (list) { databaseId: "databaseId" }
    notion databasePage create => NotionCreateDatabasePage { databaseId: "databaseId" }
    notion databasePage update => NotionUpdatePage { pageId: "pageId" }
    notion databasePage get => NotionGetPage { pageId: "pageId" }
    notion block getAll => NotionListBlocks (list) { blockId: "blockId" }
    slack message post => SlackSendMessage { channel: "channelId|channel|user", text: "text", threadTs: "otherOptions.thread_ts.replyValues.thread_ts|otherOptions.thread_ts" }
    slack message update => SlackUpdateMessage { channel: "channelId", ts: "ts", text: "text" }
    slack message delete => SlackDeleteMessage { channel: "channelId", ts: "timestamp|ts" }
    slack channel getAll => SlackListChannels (list) {}
    slack channel history => SlackListMessages (list) { channel: "channelId", oldest: "filters.oldest", latest: "filters.latest" }
    slack channel create => SlackCreateChannel { name: "channelId" }
    slack user info => SlackGetUser { user: "user" }
    slack reaction add => SlackAddReaction { channel: "channelId", ts: "timestamp", name: "name" }
    supabase row create => SupabaseCreateRow { table: "tableId" }
    supabase row getAll => SupabaseGetRows (list) { table: "tableId", limit: "limit" }
    supabase row update => SupabaseUpdateRows (list) { table: "tableId" }
    supabase row delete => SupabaseDeleteRows (list) { table: "tableId" }
    telegram message sendMessage => TelegramSendMessage { chatId: "chatId", text: "text", parseMode: "additionalFields.parse_mode", replyTo: "additionalFields.reply_to_message_id", silent: "additionalFields.disable_notification", noPreview: "additionalFields.disable_web_page_preview" }
    telegram message editMessageText => TelegramEditMessage { chatId: "chatId", messageId: "messageId", text: "text", parseMode: "additionalFields.parse_mode" }
    telegram message deleteMessage => TelegramDeleteMessage { chatId: "chatId", messageId: "messageId" }
    telegram message sendChatAction => TelegramSendChatAction { chatId: "chatId", action: "action" }
    telegram message sendPhoto => TelegramSendPhoto { chatId: "chatId", photo: "file", caption: "additionalFields.caption", parseMode: "additionalFields.parse_mode", replyTo: "additionalFields.reply_to_message_id" }
    telegram message sendDocument => TelegramSendDocument { chatId: "chatId", document: "file", caption: "additionalFields.caption", parseMode: "additionalFields.parse_mode", replyTo: "additionalFields.reply_to_message_id" }
    telegram message sendAudio => TelegramSendAudio { chatId: "chatId", audio: "file", caption: "additionalFields.caption", parseMode: "additionalFields.parse_mode", replyTo: "additionalFields.reply_to_message_id" }
    telegram message sendVideo => TelegramSendVideo { chatId: "chatId", video: "file", caption: "additionalFields.caption", parseMode: "additionalFields.parse_mode", replyTo: "additionalFields.reply_to_message_id" }
    telegram callback answerQuery => TelegramAnswerCallback { queryId: "queryId", text: "additionalFields.text", alert: "additionalFields.show_alert" }
    telegram file get => TelegramGetFile { fileId: "fileId" }
    todoist task create => TodoistCreateTask { content: "content", projectId: "project", description: "options.description", due: "options.dueString", priority: "options.priority", labels: "labels" }
    todoist task getAll => TodoistListTasks (list) { projectId: "filters.projectId", label: "filters.label" }
    todoist task close => TodoistCloseTask { taskId: "taskId" }
    twilio sms send => TwilioSendSms { from: "from", to: "to", body: "message" }
    whatsApp message send => WhatsAppSendMessage { phoneNumberId: "phoneNumberId", to: "recipientPhoneNumber", text: "textBody", previewUrl: "additionalFields.previewUrl" }
    whatsApp media mediaUrlGet => WhatsAppGetMedia { mediaId: "mediaGetId" }
    wordpress post create => WordPressCreatePost { title: "title", content: "additionalFields.content", status: "additionalFields.status", slug: "additionalFields.slug" }
    wordpress post update => WordPressUpdatePost { postId: "postId", title: "updateFields.title", content: "updateFields.content", status: "updateFields.status", slug: "updateFields.slug" }
    wordpress post getAll => WordPressListPosts (list) { search: "options.search", limit: "limit" }
}

/// The operation that a node is, if heddle has it.
pub(crate) fn find(node: &Node) -> Option<&'static Known> {
    let kind = node.kind.as_str();
    let mut usual = USUAL.iter().filter(|(known, ..)| *known == kind);
    let (_, first, _) = usual.clone().next()?;
    let resource = node.choice(&["resource"], first);
    let operation = usual.find(|(_, known, _)| *known == resource);
    let operation = node.choice(
        &["operation"],
        operation.map_or("", |(_, _, operation)| *operation),
    );
    KNOWN
        .iter()
        .find(|known| known.kind == kind && known.resource == resource && known.operation == operation)
}
