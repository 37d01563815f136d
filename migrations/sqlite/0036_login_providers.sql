-- As whom users sign in at login providers: as one person at each. users.external_subject is the first one, which servers of
-- the version before read and write.
create table login_identities (
    -- Provider and subject there: `<provider>|<subject>`.
    subject text primary key,
    user_id text not null references users (id) on delete cascade,
    -- Its issuer, or its token endpoint if it has none.
    provider text not null,
    unique (user_id, provider)
);
insert into login_identities (subject, user_id, provider)
select external_subject, id, substr(external_subject, 1, instr(external_subject, '|') - 1)
from users where external_subject is not null;
-- What the groups of a login provider have given a member.
create table group_grants (
    user_id text not null references users (id) on delete cascade,
    workspace_id text not null references workspaces (id) on delete cascade,
    -- The provider's id in the settings.
    provider text not null,
    role text not null,
    primary key (user_id, workspace_id, provider)
);
create index group_grants_workspace on group_grants (workspace_id);
-- What a membership was made of when groups last decided on it.
create table group_memberships (
    user_id text not null references users (id) on delete cascade,
    workspace_id text not null references workspaces (id) on delete cascade,
    -- The role that the member has without any group; null: they would be no member.
    own_role text,
    -- The role that they got. If it is another one by now, somebody has changed it since.
    role text not null,
    primary key (user_id, workspace_id)
);
create index group_memberships_workspace on group_memberships (workspace_id);
