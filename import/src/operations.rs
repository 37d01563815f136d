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
    ("asana", "task", "create"),
    ("asana", "taskComment", "add"),
    ("baserow", "row", "getAll"),
    ("discord", "message", "send"),
    ("github", "issue", "create"),
    ("github", "file", "create"),
    ("gmail", "message", "send"),
    ("gmail", "draft", "create"),
    ("gmail", "label", "create"),
    ("gmail", "messageLabel", "add"),
    ("gmail", "thread", "getAll"),
    ("googleCalendar", "event", "create"),
    ("googleDocs", "document", "create"),
    ("googleDrive", "file", "upload"),
    ("googleDrive", "folder", "create"),
    ("googleDrive", "fileFolder", "search"),
    ("googleSheets", "sheet", "read"),
    ("googleSheets", "spreadsheet", "create"),
    ("hubspot", "contact", "upsert"),
    ("hubspot", "company", "create"),
    ("hubspot", "deal", "create"),
    ("hubspot", "ticket", "create"),
    ("hunter", "email", "domainSearch"),
    ("jira", "issue", "create"),
    ("jira", "issueComment", "add"),
    ("jira", "issueAttachment", "add"),
    ("mattermost", "message", "post"),
    ("mattermost", "channel", "create"),
    ("microsoftOutlook", "message", "send"),
    ("microsoftOutlook", "event", "create"),
    ("nocoDb", "row", "get"),
    ("notion", "block", "append"),
    ("notion", "databasePage", "create"),
    ("notion", "page", "create"),
    ("notion", "database", "get"),
    ("openWeatherMap", "weather", "currentWeather"),
    ("pipedrive", "deal", "create"),
    ("pipedrive", "lead", "create"),
    ("pipedrive", "note", "create"),
    ("pipedrive", "organization", "create"),
    ("pipedrive", "person", "create"),
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
    ("twitter", "tweet", "create"),
    ("whatsApp", "message", "send"),
    ("whatsApp", "media", "mediaUpload"),
    ("wordpress", "post", "create"),
    ("wordpress", "page", "create"),
    ("youTube", "channel", "getAll"),
    ("youTube", "playlist", "create"),
    ("youTube", "playlistItem", "add"),
    ("youTube", "video", "getAll"),
    ("zendesk", "ticket", "create"),
    ("zendesk", "user", "create"),
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
    googleDocs document update => GoogleDocsAppendText { documentId: "documentURL" }
    googleDocs document create => GoogleDocsCreateDocument { title: "title" }
    googleDrive file upload => GoogleDriveUploadFile { name: "name", folderId: "folderId" }
    googleDrive file download => GoogleDriveDownloadFile { fileId: "fileId" }
    googleDrive file createFromText => GoogleDriveCreateTextFile { name: "name", content: "content", folderId: "folderId" }
    googleDrive file share => GoogleDriveShareFile { fileId: "fileId", role: "permissionsUi.permissionsValues.role", type: "permissionsUi.permissionsValues.type", emailAddress: "permissionsUi.permissionsValues.emailAddress" }
    googleDrive file move => GoogleDriveUpdateFile { fileId: "fileId", addParents: "folderId" }
    googleDrive file update => GoogleDriveUpdateFile { fileId: "fileId", name: "newUpdatedFileName" }
    googleDrive file deleteFile => GoogleDriveUpdateFile { fileId: "fileId" }
    googleDrive folder create => GoogleDriveCreateFolder { name: "name", folderId: "folderId" }
    googleDrive fileFolder search => GoogleDriveSearchFiles (list) {}
    googleSheets sheet read => GoogleSheetsReadRows (list) {}
    googleSheets sheet lookup => GoogleSheetsReadRows (list) {}
    googleSheets sheet append => GoogleSheetsAppendRows {}
    googleSheets sheet update => GoogleSheetsUpdateCells {}
    googleSheets sheet appendOrUpdate => GoogleSheetsUpsertRow {}
    googleSheets sheet upsert => GoogleSheetsUpsertRow {}
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
    airtable base getMany => AirtableListBases (list) {}
    asana task create => AsanaCreateTask { name: "name", workspace: "workspace", projects: "otherProperties.projects", notes: "otherProperties.notes", assignee: "otherProperties.assignee", dueOn: "otherProperties.due_on" }
    asana task update => AsanaUpdateTask { taskId: "id", name: "otherProperties.name", notes: "otherProperties.notes", assignee: "otherProperties.assignee", dueOn: "otherProperties.due_on", completed: "otherProperties.completed" }
    asana task get => AsanaGetTask { taskId: "id" }
    asana task getAll => AsanaListTasks (list) { project: "filters.project", completedSince: "filters.completed_since" }
    asana task delete => AsanaDeleteTask { taskId: "id" }
    asana taskComment add => AsanaCreateComment { taskId: "id", text: "text" }
    baserow row getAll => BaserowListRows (list) { tableId: "tableId", search: "additionalOptions.search" }
    baserow row get => BaserowGetRow { tableId: "tableId", rowId: "rowId" }
    baserow row create => BaserowCreateRow { tableId: "tableId" }
    baserow row update => BaserowUpdateRow { tableId: "tableId", rowId: "rowId" }
    baserow row delete => BaserowDeleteRow { tableId: "tableId", rowId: "rowId" }
    github issue get => GitHubGetIssue { owner: "owner", repository: "repository", number: "issueNumber" }
    github file list => GitHubListFiles (list) { owner: "owner", repository: "repository", path: "filePath" }
    github release getAll => GitHubListReleases (list) { owner: "owner", repository: "repository" }
    gmail message delete => GmailDeleteMessage { messageId: "messageId" }
    gmail messageLabel add => GmailModifyLabels { messageId: "messageId", add: "labelIds" }
    gmail messageLabel remove => GmailModifyLabels { messageId: "messageId", remove: "labelIds" }
    gmail thread getAll => GmailListThreads (list) { search: "filters.q", labelIds: "filters.labelIds" }
    gmail thread get => GmailGetThread { threadId: "threadId" }
    gmail thread addLabels => GmailModifyThreadLabels { threadId: "threadId", add: "labelIds" }
    gmail thread removeLabels => GmailModifyThreadLabels { threadId: "threadId", remove: "labelIds" }
    gmail thread trash => GmailTrashThread { threadId: "threadId" }
    gmail label create => GmailCreateLabel { name: "name", labelListVisibility: "options.labelListVisibility", messageListVisibility: "options.messageListVisibility" }
    gmail label get => GmailGetLabel { labelId: "labelId" }
    gmail label delete => GmailDeleteLabel { labelId: "labelId" }
    googleDrive file copy => GoogleDriveCopyFile { fileId: "fileId", name: "name", folderId: "folderId" }
    googleDrive folder deleteFolder => GoogleDriveUpdateFile { fileId: "folderNoRootId" }
    googleSheets spreadsheet create => GoogleSheetsCreateSpreadsheet { title: "title" }
    googleSheets sheet create => GoogleSheetsAddSheet { spreadsheetId: "documentId", title: "title" }
    googleSheets sheet remove => GoogleSheetsDeleteSheet { spreadsheetId: "documentId" }
    googleSheets sheet delete => GoogleSheetsDeleteRows { spreadsheetId: "documentId", row: "startIndex", count: "numberToDelete" }
    hubspot contact get => HubSpotGetObject { objectId: "contactId" }
    hubspot contact getAll => HubSpotListObjects (list) {}
    hubspot contact search => HubSpotSearchObjects (list) { query: "additionalFields.query" }
    hubspot company create => HubSpotCreateObject {}
    hubspot company get => HubSpotGetObject { objectId: "companyId" }
    hubspot company update => HubSpotUpdateObject { objectId: "companyId" }
    hubspot deal create => HubSpotCreateObject {}
    hubspot deal get => HubSpotGetObject { objectId: "dealId" }
    hubspot deal update => HubSpotUpdateObject { objectId: "dealId" }
    hubspot ticket create => HubSpotCreateObject {}
    hubspot ticket get => HubSpotGetObject { objectId: "ticketId" }
    hubspot ticket update => HubSpotUpdateObject { objectId: "ticketId" }
    hunter email domainSearch => HunterSearchDomain { domain: "domain", limit: "limit" }
    hunter email emailFinder => HunterFindEmail { domain: "domain", firstName: "firstname", lastName: "lastname" }
    hunter email emailVerifier => HunterVerifyEmail { email: "email" }
    jira issue update => JiraUpdateIssue { issueKey: "issueKey" }
    jira issue delete => JiraDeleteIssue { issueKey: "issueKey", deleteSubtasks: "deleteSubtasks" }
    jira issue transitions => JiraListTransitions (list) { issueKey: "issueKey" }
    jira issueAttachment add => JiraAddAttachment { issueKey: "issueKey" }
    jira issueComment getAll => JiraListComments (list) { issueKey: "issueKey" }
    mattermost channel addUser => MattermostAddToChannel { channelId: "channelId", userId: "userId" }
    mattermost channel create => MattermostCreateChannel { teamId: "teamId", name: "channel", displayName: "displayName" }
    mattermost message delete => MattermostDeleteMessage { messageId: "postId" }
    microsoftOutlook message get => OutlookGetMessage { messageId: "messageId" }
    microsoftOutlook message reply => OutlookReplyToMessage { messageId: "messageId", message: "message" }
    microsoftOutlook message delete => OutlookDeleteMessage { messageId: "messageId" }
    microsoftOutlook event create => OutlookCreateEvent { subject: "subject", start: "startDateTime", end: "endDateTime", timeZone: "additionalFields.timeZone", message: "additionalFields.body" }
    microsoftOutlook event delete => OutlookDeleteEvent { eventId: "eventId" }
    nocoDb row getAll => NocoDBListRecords (list) { tableId: "table", where: "options.where", limit: "limit" }
    nocoDb row get => NocoDBGetRecord { tableId: "table", recordId: "id" }
    nocoDb row create => NocoDBCreateRecord { tableId: "table" }
    nocoDb row update => NocoDBUpdateRecord { tableId: "table", recordId: "id" }
    nocoDb row delete => NocoDBDeleteRecord { tableId: "table", recordId: "id" }
    notion database get => NotionGetDatabase { databaseId: "databaseId" }
    notion page archive => NotionUpdatePage { pageId: "pageId" }
    notion page create => NotionCreatePage { parentId: "pageId", title: "title" }
    notion user getAll => NotionListUsers (list) {}
    openWeatherMap weather currentWeather => OpenWeatherMapCurrent { place: "cityName", cityId: "cityId", latitude: "latitude", longitude: "longitude", units: "format", language: "language" }
    pipedrive deal create => PipedriveCreateDeal { title: "title", personId: "person_id", organizationId: "org_id|additionalFields.org_id", value: "additionalFields.value", currency: "additionalFields.currency", stageId: "additionalFields.stage_id" }
    pipedrive lead create => PipedriveCreateLead { title: "title", personId: "person_id", organizationId: "organization_id" }
    pipedrive note create => PipedriveCreateNote { content: "content", personId: "additionalFields.person_id", organizationId: "additionalFields.org_id", dealId: "additionalFields.deal_id", leadId: "additionalFields.lead_id" }
    pipedrive organization create => PipedriveCreateOrganization { name: "name", ownerId: "additionalFields.owner_id" }
    pipedrive organization get => PipedriveGetOrganization { organizationId: "organizationId" }
    pipedrive organization search => PipedriveSearchOrganizations (list) { term: "term", exact: "additionalFields.exactMatch" }
    pipedrive person create => PipedriveCreatePerson { name: "name", emails: "additionalFields.email", phones: "additionalFields.phone", organizationId: "additionalFields.org_id", ownerId: "additionalFields.owner_id" }
    pipedrive person get => PipedriveGetPerson { personId: "personId" }
    pipedrive person getAll => PipedriveListPersons (list) {}
    pipedrive person search => PipedriveSearchPersons (list) { term: "term", exact: "additionalFields.exactMatch" }
    pipedrive person update => PipedriveUpdatePerson { personId: "personId", name: "updateFields.name", emails: "updateFields.email", phones: "updateFields.phone", organizationId: "updateFields.org_id", ownerId: "updateFields.owner_id" }
    slack channel archive => SlackArchiveChannel { channel: "channelId" }
    slack channel invite => SlackInviteToChannel { channel: "channelId" }
    slack channel open => SlackOpenConversation {}
    slack channel replies => SlackListReplies (list) { channel: "channelId", threadTs: "ts" }
    slack reaction get => SlackGetReactions { channel: "channelId", ts: "timestamp" }
    slack user getAll => SlackListUsers (list) {}
    supabase row get => SupabaseGetRows (list) { table: "tableId" }
    todoist task get => TodoistGetTask { taskId: "taskId" }
    todoist task update => TodoistUpdateTask { taskId: "taskId", content: "updateFields.content", description: "updateFields.description", due: "updateFields.dueString", priority: "updateFields.priority", labels: "updateFields.labels" }
    todoist task reopen => TodoistReopenTask { taskId: "taskId" }
    todoist task delete => TodoistDeleteTask { taskId: "taskId" }
    twitter tweet create => XCreatePost { text: "text", replyTo: "additionalFields.inReplyToStatusId" }
    twitter tweet delete => XDeletePost { postId: "tweetDeleteId" }
    twitter tweet search => XSearchPosts (list) { query: "searchText" }
    wordpress post get => WordPressGetPost { postId: "postId" }
    wordpress page create => WordPressCreatePage { title: "title", content: "additionalFields.content", status: "additionalFields.status", slug: "additionalFields.slug" }
    wordpress page update => WordPressUpdatePage { pageId: "pageId", title: "updateFields.title", content: "updateFields.content", status: "updateFields.status", slug: "updateFields.slug" }
    wordpress page getAll => WordPressListPages (list) { search: "options.search", limit: "limit" }
    youTube playlist create => YouTubeCreatePlaylist { title: "title", description: "options.description", privacy: "options.privacyStatus" }
    youTube playlistItem getAll => YouTubeListPlaylistItems (list) { playlistId: "playlistId" }
    youTube playlistItem add => YouTubeAddToPlaylist { playlistId: "playlistId", videoId: "videoId" }
    youTube playlistItem delete => YouTubeRemoveFromPlaylist { itemId: "playlistItemId" }
    youTube video get => YouTubeGetVideo { videoId: "videoId" }
    youTube video getAll => YouTubeSearchVideos (list) { query: "filters.q", channelId: "filters.channelId", publishedAfter: "filters.publishedAfter", order: "options.order" }
    youTube video update => YouTubeUpdateVideo { videoId: "videoId", title: "title", categoryId: "categoryId", description: "updateFields.description" }
    zendesk ticket create => ZendeskCreateTicket { description: "description", subject: "additionalFields.subject", priority: "additionalFields.priority", status: "additionalFields.status", tags: "additionalFields.tags" }
    zendesk ticket update => ZendeskUpdateTicket { ticketId: "id", comment: "updateFields.internalNote|updateFields.publicReply", subject: "updateFields.subject", priority: "updateFields.priority", status: "updateFields.status", tags: "updateFields.tags" }
    zendesk ticket get => ZendeskGetTicket { ticketId: "id" }
    zendesk ticket getAll => ZendeskSearchTickets (list) { query: "options.query", sortBy: "options.sortBy", sortOrder: "options.sortOrder" }
    zendesk ticket delete => ZendeskDeleteTicket { ticketId: "id" }
    zendesk user create => ZendeskCreateUser { name: "name", email: "additionalFields.email", role: "additionalFields.role", phone: "additionalFields.phone", notes: "additionalFields.notes" }
    zendesk user update => ZendeskUpdateUser { userId: "id", name: "updateFields.name", email: "updateFields.email", role: "updateFields.role", phone: "updateFields.phone", notes: "updateFields.notes" }
    zendesk user get => ZendeskGetUser { userId: "id" }
    zendesk user search => ZendeskSearchUsers (list) { query: "filters.query" }
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
