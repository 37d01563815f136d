-- Files of tenants; their bytes are outside of the database, see api/files.
create table file_blobs (
    id text primary key,
    -- A workspace, or a user outside of workspaces.
    tenant_id text not null,
    -- `writing`: somebody may be writing its bytes; `live`: they are all there; `dead`: they are to be removed.
    state text not null,
    -- When that was last said: whoever writes says so again and again.
    touched_at bigint not null,
    -- The key of its bytes, encrypted with this data key.
    data_key_id text not null,
    sealed_key blob not null,
    -- Which upload in parts it is for the store, if it is one.
    upload text,
    -- SHA-256 of its bytes in hex, and how many there are; null until it is live.
    sha256 text,
    size bigint
);
create unique index file_blobs_content on file_blobs (tenant_id, sha256) where state = 'live';
create index file_blobs_unfinished on file_blobs (touched_at) where state <> 'live';
create table files (
    id text primary key,
    tenant_id text not null,
    blob_id text not null references file_blobs (id),
    name text not null,
    media_type text not null,
    created_at bigint not null,
    -- Until when it is kept if nothing refers to it.
    kept_until bigint not null
);
create index files_tenant on files (tenant_id, id);
create index files_blob on files (blob_id);
-- What keeps files: `run` (an id), `test` (an id) and `value` (scope and key, on two lines).
create table file_references (
    holder_kind text not null,
    holder_id text not null,
    file_id text not null references files (id) on delete cascade,
    created_at bigint not null,
    primary key (holder_kind, holder_id, file_id)
);
create index file_references_file on file_references (file_id);
