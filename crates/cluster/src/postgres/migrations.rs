//! The tables of this program's schema, and their migration from earlier versions: [`MIGRATIONS`],
//! [`prepare`].

use tokio_postgres::Client;
use tokio_postgres::types::Type;

use crate::postgres::error::DatabaseError;

/// The statements that create each version from the previous one; the first starts from an empty schema. The
/// text of a released version never changes. They are run with this
/// program's schema as the only search path.
pub(super) const MIGRATIONS: &[&str] = &[
    // 1: the journal. `owner` is the key of the advisory lock that a process holds while it works on the
    // record, or 0. A process that begins a record or takes it over gives it a new random `claim`. `epoch` is
    // the number of takeovers. `state` is 0 for begun, 1 for prepared, 2 for committed. No two records name
    // the same file. `made_at` and `made_by` are for people.
    "create table records (
        id bigint generated always as identity primary key,
        owner bigint not null,
        claim bigint not null unique,
        epoch integer not null default 0,
        state smallint not null default 0,
        contents text not null,
        made_at timestamptz not null default now(),
        made_by text not null
    );
    create table record_files (
        key bytea primary key,
        path text not null,
        record bigint not null references records on delete cascade
    );
    create index on record_files (record);",
    // 2: the history. `number` is the order of edits. `time` is from the database's clock, in milliseconds
    // since 1970. `bytes` is the approximate size of an edit. `root` is the name of the shared directory that
    // has the file, and `path` the file's path in it; `relative` is the path in the allowed directory. `kind`
    // is 0 for changed, 1 for created, 2 for removed, 3 for displaced. `undo` is as in the embedded history,
    // but it names directories as files are named here. The index of files has only the beginning of a path,
    // since the size of an index entry is limited. The table `roots` and `made_by` are for people.
    "create table edits (
        number bigint generated always as identity primary key,
        id text not null unique,
        time bigint not null default floor(extract(epoch from clock_timestamp()) * 1000),
        tool text not null,
        client text,
        session text,
        undoes text,
        made_by text not null,
        bytes bigint not null
    );
    create index on edits (undoes) where undoes is not null;
    create table edit_files (
        edit bigint not null references edits on delete cascade,
        position bigint not null,
        root text not null,
        path bytea not null,
        relative bytea not null,
        encoding text not null,
        before bytea,
        after bytea,
        kind bigint not null,
        diff bytea not null,
        undo bytea not null,
        primary key (edit, position)
    );
    create index on edit_files (root, substring(path from 1 for 1000));
    create table roots (
        name text primary key,
        made_at timestamptz not null default now(),
        made_by text not null
    );",
    // 3: `root_keys` has 16 bytes for each file of an edit: the identity that the directory `root` had then.
    // `secret` is known only to the servers.
    "alter table edits add column root_keys bytea not null default '';
    alter table mcp_text_editor_schema add column secret uuid not null default gen_random_uuid();",
];

/// The tables after the last migration, in the order in which `doctor` lists them.
pub(super) const TABLES: [&str; 5] = ["records", "record_files", "edits", "edit_files", "roots"];

/// The table that marks a schema as this program's, and has the schema's version.
pub(crate) const MARK: &str = "mcp_text_editor_schema";

/// The key of the advisory lock that a process holds while it creates tables: the letters `mte`, and a
/// number.
const LOCK: i64 = 0x006d_7465_0001;

/// Returns the version of the tables; `None` if the schema does not exist, or has no mark.
async fn version(client: &Client, schema: &str) -> Result<Option<i32>, tokio_postgres::Error> {
    let is_there = client
        .query_typed_one(
            "select exists (select from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
                where n.nspname = $1 and c.relname = $2)",
            &[(&schema, Type::TEXT), (&MARK, Type::TEXT)],
        )
        .await?;
    if !is_there.get::<_, bool>(0) {
        return Ok(None);
    }
    let row = client.query_typed_one(&format!("select version from {MARK}"), &[]).await?;
    Ok(Some(row.get(0)))
}

/// Creates the tables of this version, or migrates those of an earlier version. The search path must already
/// be the schema.
///
/// A schema with tables but no mark belongs to another program, and is refused. A schema of a later version
/// is refused, too.
pub(super) async fn prepare(client: &mut Client, schema: &str) -> Result<(), DatabaseError> {
    let latest = i32::try_from(MIGRATIONS.len()).unwrap_or(i32::MAX);
    let failed = |error: tokio_postgres::Error| match DatabaseError::of_statement(&error) {
        DatabaseError::Refused { message, .. } => {
            DatabaseError::Schema(format!("the schema {schema} of the database cannot be used: {message}"))
        }
        lost => lost,
    };
    if version(client, schema).await.map_err(failed)? == Some(latest) {
        return Ok(());
    }
    let transaction = client.transaction().await.map_err(failed)?;
    let lock = transaction.query_typed("select pg_advisory_xact_lock($1)", &[(&LOCK, Type::INT8)]);
    lock.await.map_err(failed)?;
    // Another process may have created the tables before this one had the lock.
    let from = version(transaction.client(), schema).await.map_err(failed)?;
    let done = match from {
        Some(version) if version > latest => {
            return Err(DatabaseError::Schema(format!(
                "the schema {schema} of the database is of a later version of mcp-text-editor ({version}; this one knows {latest}): use that, or another schema"
            )));
        }
        Some(version) => usize::try_from(version).unwrap_or_default(),
        None => {
            let found = transaction
                .query_typed_one(
                    "select exists (select from pg_catalog.pg_namespace where nspname = $1),
                        exists (select from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
                            where n.nspname = $1)",
                    &[(&schema, Type::TEXT)],
                )
                .await
                .map_err(failed)?;
            if found.get::<_, bool>(1) {
                return Err(DatabaseError::Schema(format!(
                    "the schema {schema} of the database is somebody else's: it has tables that mcp-text-editor did not make; name another one by schema= in the URL"
                )));
            }
            if !found.get::<_, bool>(0) {
                let create = format!("create schema {}", quoted(schema));
                transaction.batch_execute(&create).await.map_err(failed)?;
            }
            let mark = format!(
                "create table {MARK} (version integer not null, one boolean primary key default true check (one));
                insert into {MARK} (version) values (0)"
            );
            transaction.batch_execute(&mark).await.map_err(failed)?;
            0
        }
    };
    for migration in MIGRATIONS.iter().skip(done) {
        transaction.batch_execute(migration).await.map_err(failed)?;
    }
    let update = format!("update {MARK} set version = {latest}");
    transaction.batch_execute(&update).await.map_err(failed)?;
    transaction.commit().await.map_err(failed)
}

/// Returns a name in quotes, for a statement.
pub(super) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
